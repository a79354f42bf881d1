"""A bootstrap writes the very files that ``flux bootstrap`` of the same version writes, or refuses the options.

A case of ``files`` is a ``NAME.txtar``. ``gotk-sync.yaml`` and ``kustomization.yaml`` in ``after/`` are what
Flux's own packages (``pkg/manifestgen``) of that version print for the ``options``; so is the manifest, of
which ``settings.toml`` has the ``sha256``. Where the options are refused it has the ``error`` instead.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import txtar
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.bootstrap.components import RenderedComponents
from flux_upgrade.bootstrap.files import FilesPlan, plan_files
from flux_upgrade.bootstrap.options import COMPONENTS_FILE, Auth, BootstrapOptions, Provider
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import UsageError
from flux_upgrade.pins.regenerate import Regenerator
from memory import MemoryTree, NoFlux, WrittenReleases, regenerator
from real_parts import require_shared

FILES = Path(__file__).parent / "files"
CASES = sorted(FILES.glob("*.txtar"))


def options_of(settings: Mapping[str, Any]) -> BootstrapOptions:
    given = dict(settings["options"])
    install = InstallOptions(given.pop("version"))
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    provider, auth = Provider(given.pop("provider")), Auth(given.pop("auth"))
    return BootstrapOptions(provider=provider, auth=auth, install=install, **{**given, **lists})


def planned(options: BootstrapOptions, over: Regenerator, tree: Mapping[str, bytes]) -> FilesPlan:
    return plan_files(options, MemoryTree(tree), RenderedComponents(over))


def written(plan: FilesPlan) -> dict[str, bytes]:
    """The files of a plan for an empty repository."""
    assert all(each.before is None for each in plan.changes)
    assert not plan.kept and not plan.shown and not plan.edits and not plan.unlisted
    return {each.path: each.after for each in plan.changes}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_gives_the_files_that_flux_writes(path: Path) -> None:
    archive = txtar.read(path)
    assert txtar.render(archive) == path.read_text()
    settings = tomllib.loads(archive.text("settings.toml"))
    options = options_of(settings)
    over = regenerator(WrittenReleases((options.install.version,)))
    if "error" in settings:
        with pytest.raises(UsageError) as raised:
            planned(options, over, {})
        assert settings["error"] in raised.value.message
        return

    files = written(planned(options, over, {}))
    manifest = f"{options.folder}/{COMPONENTS_FILE}"
    regenerated = over.regenerate(options.install).text.encode()
    assert files == {**archive.under("after"), manifest: regenerated}

    again = planned(options, over, files)
    assert again.changes == () and again.shown == (), "a second bootstrap changes something"
    assert sorted(again.kept) == sorted(files)


def test_the_manifest_of_a_real_release_is_the_one_that_flux_writes() -> None:
    over = Regenerator(DirectoryReleases(str(require_shared("conformance", "releases"))), NoFlux())
    for path in CASES:
        settings = tomllib.loads(txtar.read(path).text("settings.toml"))
        if "error" not in settings:
            options = options_of(settings)
            manifest = written(planned(options, over, {}))[f"{options.folder}/{COMPONENTS_FILE}"]
            assert hashlib.sha256(manifest).hexdigest() == settings["sha256"], path.stem
