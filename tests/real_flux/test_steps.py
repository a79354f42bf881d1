"""From v2.0.1 to v2.9.4 in steps, with every kind in its oldest version, as pull requests say: all of it is applied.

No controller of 2.0 can be built here. Their part is done as kustomize-controller does it: server-side apply of what is in
Git, with its field manager, once for each merge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from bootstrap.cli_runs import clone_with
from git_servers import Bare, git
from real_flux.conftest import Manifest, Start
from real_flux.control_plane import ControlPlane, Object, documents
from real_flux.followed import following
from real_flux.matrix import reason
from real_flux.samples import SPECS, sample
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

_MANIFEST = "clusters/staging/flux-system/gotk-components.yaml"
_OBJECTS = "clusters/staging/objects.yaml"
_LISTING = "clusters/staging/flux-system/kustomization.yaml"


@dataclass
class Applied:
    """A cluster that follows a repository, and Helm, which writes the objects again after each merge."""

    plane: ControlPlane
    bare: Path

    def reconcile(self) -> str:
        refused = self.plane.install(documents(self._read(_MANIFEST)))
        objects = documents(self._read(_OBJECTS))
        answers = [*refused.values(), *map(self.plane.apply, objects)]
        said = [reason(each) for each in answers if not each.is_taken]
        if not said:
            for each in objects:
                assert self.plane.update(each, "helm").is_taken, each
        return ", ".join(said)

    @property
    def version(self) -> str:
        found = re.search(r"^# Flux Version: (\S+)", self._read(_MANIFEST), re.MULTILINE)
        assert found is not None
        return found[1]

    def _read(self, path: str) -> str:
        return git("show", f"main:{path}", at=self.bare)


def test_each_step_ends_with_everything_applied(start: Start, manifest: Manifest, tmp_path: Path) -> None:
    first = manifest("v2.0.1").decode()
    objects = [sample(*each, "oldest") for each in _oldest(list(documents(first)))]
    assert len(objects) == len(SPECS)
    files = {
        _MANIFEST: first,
        _LISTING: "resources:\n- gotk-components.yaml\n",
        _OBJECTS: "---\n".join(yaml.safe_dump(each, sort_keys=False) for each in objects),
        ".github/flux-upgrade.yaml": "policy: minor\nmulti-step: true\n",
    }
    clone, bare = clone_with(tmp_path / "ann"), Bare.make(tmp_path / "served" / "octo" / "fleet.git")
    for path, content in files.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(content)
    git("add", "--all", at=clone)
    git("commit", "--quiet", "--message=Flux", at=clone)
    git("push", "--quiet", bare.folder, "main", at=clone)
    cluster = Applied(start(), bare.folder)
    assert not cluster.reconcile()

    went: list[str] = []
    source = require_shared("conformance", "releases")
    with following(cluster, bare.folder, source, tmp_path / "followed") as person:
        while cluster.version != "v2.9.4":
            assert len(went) < 12, went
            pulls = person.propose()
            assert pulls, person.done[-1]
            person.follow(pulls[0])
            went.append(pulls[0].title)
    assert [each for each in went if each.startswith("Upgrade")][-1].startswith("Upgrade Flux to v2.9.4"), went
    assert any(each.startswith("Migrate") for each in went), went


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
