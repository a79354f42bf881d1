"""From v2.0.1 to v2.9.4 in steps, with every kind in its oldest version: each apply of Flux is taken in the end.

No controller of 2.0 can be built here. Their part is done as kustomize-controller does it: server-side apply of what is in
Git, with its field manager, once for each merge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from bootstrap.cli_runs import Laptop, clone_with
from git_servers import git
from real_flux.conftest import Manifest, Start
from real_flux.control_plane import ControlPlane, Object, documents
from real_flux.fleet import TIMING
from real_flux.matrix import reason
from real_flux.samples import SPECS, sample
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

_MANIFEST = "clusters/staging/flux-system/gotk-components.yaml"
_OBJECTS = "clusters/staging/objects.yaml"
_LISTING = "clusters/staging/flux-system/kustomization.yaml"


def test_each_step_ends_with_everything_applied(start: Start, manifest: Manifest, tmp_path: Path) -> None:
    plane, clone = start(), clone_with(tmp_path / "clone")
    laptop = Laptop(require_shared("conformance", "releases"), timing=TIMING)
    first = manifest("v2.0.1").decode()
    objects = [sample(*each, "oldest") for each in _oldest(list(documents(first)))]
    assert len(objects) == len(SPECS)
    files = {
        _MANIFEST: first,
        _LISTING: "resources:\n- gotk-components.yaml\n",
        _OBJECTS: "---\n".join(yaml.safe_dump(each, sort_keys=False) for each in objects),
        ".github/flux-upgrade.yaml": "policy: minor\nladder: true\n",
    }
    for path, content in files.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(content)
    _merge(clone, "Flux")
    assert not _applied(plane, clone)

    went: list[str] = []
    while (version := _version(clone)) != "v2.9.4":
        assert len(went) < 12, went
        done = laptop.run("upgrade", clone, f"--release-source={laptop.source}", "--migrated").well()
        waits = re.search(r"held: migration-pending: .* that (v\S+) serves", done.out)
        if waits is not None:
            laptop.run("migrate", clone, f"--release-source={laptop.source}", f"--to={waits[1]}").well()
        assert _merge(clone, "Go on"), done.out
        _applied(plane, clone)
        plane.flux("migrate", version="v2.7.5")
        assert not _applied(plane, clone), went
        went.append(f"{version} → {_version(clone)}" if waits is None else f"{version}: moved for {waits[1]}")
    assert went[-1].endswith("v2.9.4")


def _oldest(release: Sequence[Object]) -> Iterator[tuple[str, str, str]]:
    """Group, version and kind: of each kind the version that a release has served for the longest time."""
    for each in release:
        if each["kind"] == "CustomResourceDefinition" and each["spec"]["names"]["kind"] in SPECS:
            served = [version["name"] for version in each["spec"]["versions"] if version["served"]]
            yield (
                each["spec"]["group"],
                min(served, key=lambda name: ("beta" not in name, name)),
                each["spec"]["names"]["kind"],
            )


def _applied(plane: ControlPlane, clone: Path) -> list[str]:
    """What the server refuses of what is in Git."""
    refused = plane.install(documents(clone / _MANIFEST))
    answers = [plane.apply(each) for each in documents(clone / _OBJECTS)]
    return [reason(each) for each in (*refused.values(), *answers) if not each.is_taken]


def _merge(clone: Path, message: str) -> bool:
    """Whether there was anything to merge."""
    git("add", "--all", at=clone)
    if not git("status", "--porcelain", at=clone):
        return False
    git("commit", "--quiet", f"--message={message}", at=clone)
    return True


def _version(clone: Path) -> str:
    found = re.search(r"^# Flux Version: (\S+)", (clone / _MANIFEST).read_text(), re.MULTILINE)
    assert found is not None
    return found[1]
