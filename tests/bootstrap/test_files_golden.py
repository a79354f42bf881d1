"""The trees that Flux itself writes: each folder of ``files`` is a case.

``gotk-sync.yaml`` and ``kustomization.yaml`` are what Flux's own packages (``pkg/manifestgen``) of that
version print for the options; so is the manifest, of which ``case.toml`` has the sha256.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.bootstrap.files import MANIFEST, plan_files
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.bootstrap.rendered_components import RenderedComponents
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model.errors import UsageError
from memory import MemoryTree, NoFlux, WrittenReleases, regenerator
from real_parts import require_shared

CASES = sorted((Path(__file__).parent / "files").iterdir())
WITH_TREE = [each for each in CASES if (each / "after").is_dir()]
REFUSED = [each for each in CASES if not (each / "after").is_dir()]


def case_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "case.toml").read_text())


def options_of(folder: Path) -> BootstrapOptions:
    given = case_of(folder)["options"]
    install = InstallOptions(given.pop("version"))
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    provider, auth = Provider(given.pop("provider")), Auth(given.pop("auth"))
    return BootstrapOptions(provider=provider, auth=auth, install=install, **{**given, **lists})


def tree_of(folder: Path) -> dict[str, bytes]:
    after = folder / "after"
    return {str(path.relative_to(after)): path.read_bytes() for path in after.rglob("*") if path.is_file()}


def written_by(options: BootstrapOptions, over: Regenerator) -> dict[str, bytes]:
    plan = plan_files(options, MemoryTree({}), RenderedComponents(over))
    assert all(each.before is None for each in plan.changes)
    assert not plan.kept and not plan.shown and not plan.edits and not plan.unlisted
    return {each.path: each.after for each in plan.changes}


@pytest.mark.parametrize("folder", WITH_TREE, ids=lambda folder: folder.name)
def test_the_tree_is_the_one_that_flux_writes(folder: Path) -> None:
    options = options_of(folder)
    over = regenerator(WrittenReleases((options.install.version,)))
    found = written_by(options, over)
    manifest = found.pop(f"{options.folder}/{MANIFEST}")
    assert found == tree_of(folder)
    assert manifest.decode() == over.regenerate(options.install).text


@pytest.mark.parametrize("folder", WITH_TREE, ids=lambda folder: folder.name)
def test_a_second_bootstrap_changes_nothing(folder: Path) -> None:
    options = options_of(folder)
    components = RenderedComponents(regenerator(WrittenReleases((options.install.version,))))
    tree = MemoryTree(
        {each.path: each.after for each in plan_files(options, MemoryTree({}), components).changes}
    )
    again = plan_files(options, tree, components)
    assert again.changes == () and again.shown == ()
    assert sorted(again.kept) == sorted(tree.files)


@pytest.mark.parametrize("folder", REFUSED, ids=lambda folder: folder.name)
def test_what_does_not_go_together_is_refused(folder: Path) -> None:
    options = options_of(folder)
    over = regenerator(WrittenReleases((options.install.version,)))
    with pytest.raises(UsageError) as raised:
        plan_files(options, MemoryTree({}), RenderedComponents(over))
    assert case_of(folder)["error"] in raised.value.message


@pytest.fixture(scope="module")
def real_releases() -> Regenerator:
    folder = require_shared("conformance", "releases")
    return Regenerator(DirectoryReleases(str(folder)), NoFlux())


@pytest.mark.parametrize("folder", WITH_TREE, ids=lambda folder: folder.name)
def test_the_manifest_of_the_real_release_is_the_one_that_flux_writes(
    folder: Path, real_releases: Regenerator
) -> None:
    options = options_of(folder)
    manifest = written_by(options, real_releases)[f"{options.folder}/{MANIFEST}"]
    assert hashlib.sha256(manifest).hexdigest() == case_of(folder)["sha256"]
