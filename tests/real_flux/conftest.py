"""Real control planes: each a server of its own, which takes two seconds to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from cluster import api_servers
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.regenerate import Regenerator
from memory import NoFlux
from real_flux.control_plane import ControlPlane, Object, documents
from real_flux.fleet import Fleet, running
from real_parts import require_shared

EXTRA = ("image-reflector-controller", "image-automation-controller")
Start = Callable[[], ControlPlane]
Manifest = Callable[[str], bytes]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Each call starts another one."""
    with ExitStack() as stack:
        folders = iter(tmp_path / f"control-plane-{number}" for number in range(99))

        def started() -> ControlPlane:
            folder = next(folders)
            folder.mkdir()
            plane = ControlPlane(stack.enter_context(api_servers.real(folder)))
            stack.callback(plane.close)
            return plane

        yield started


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    """A release → what `flux install --export` prints, with the image controllers."""
    source = DirectoryReleases(str(require_shared("conformance", "releases")))
    using = Regenerator(source, NoFlux())

    @cache
    def rendered(tag: str) -> bytes:
        options = InstallOptions(Version(tag))
        return using.regenerate(options._replace(components=(*options.components, *EXTRA))).text.encode()

    return rendered


@pytest.fixture
def fleet(start: Start, tmp_path: Path) -> Iterator[Fleet]:
    """A cluster that follows a repository, without Flux yet."""
    with running(start(), tmp_path / "fleet", require_shared("conformance", "releases")) as found:
        yield found


def objects(manifest: Manifest, tag: str) -> list[Object]:
    return list(documents(manifest(tag).decode()))
