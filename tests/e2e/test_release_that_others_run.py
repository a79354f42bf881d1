"""A file that several clusters read suits the releases that they run, and not only those in their files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cases_on_disk import run_in
from e2e.test_steps_in_a_checkout import Clone, manifest
from flux_upgrade.model.errors import ApiRemoved

SHARED, OWN = "apps/base/source.yaml", "apps/production/source.yaml"
FIRST = "Upgrade the clusters at v2.5.1 first."
NONE = "GitRepository is served everywhere: v2.6.4 serves v1beta2 and v1, v2.5.1 serves v1beta2, v2.8.8 serves v1"


def kustomization(name: str, path: str) -> bytes:
    """Write a Kustomization of Flux, which reads a directory of this repository."""
    reference = "sourceRef: {kind: GitRepository, name: flux-system}"
    metadata = f"metadata: {{name: {name}, namespace: flux-system}}"
    kind = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization"
    return f"{kind}\n{metadata}\nspec: {{path: ./{path}, prune: true, {reference}}}\n".encode()


def source(version: str) -> bytes:
    metadata = "metadata: {name: shop, namespace: apps}"
    return f"apiVersion: source.toolkit.fluxcd.io/{version}\nkind: GitRepository\n{metadata}\n".encode()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """Take staging from v2.5.1 to v2.6.4 in a file that is not committed; production is at v2.6.4."""
    clone = Clone(tmp_path, "v2.5.1")
    follows = (clone.root / "clusters/staging/flux-system/gotk-sync.yaml").read_bytes()
    for name in ("staging", "production"):
        system = f"clusters/{name}/flux-system"
        clone.write(f"{system}/kustomization.yaml", b"resources: [gotk-components.yaml, gotk-sync.yaml]\n")
        root = kustomization("flux-system", f"clusters/{name}")
        clone.write(f"{system}/gotk-sync.yaml", b"%b---\n%b" % (follows, root))
        clone.write(f"clusters/{name}/apps.yaml", kustomization("apps", f"apps/{name}"))
    clone.write("clusters/production/flux-system/gotk-components.yaml", manifest("v2.6.4"))
    clone.write("apps/staging/kustomization.yaml", b"resources: [../base]\n")
    clone.write("apps/production/kustomization.yaml", b"resources: [../base, source.yaml]\n")
    clone.write("apps/base/kustomization.yaml", b"resources: [source.yaml]\n")
    clone.write(SHARED, source("v1beta2"))
    clone.write(OWN, source("v1beta2"))
    merge(clone)
    clone.write("clusters/staging/flux-system/gotk-components.yaml", manifest("v2.6.4"))
    return clone


def merge(clone: Clone) -> None:
    clone.commit()
    clone.push()


def migrated(clone: Clone) -> list[str]:
    return [path for path in (SHARED, OWN) if (clone.root / path).read_bytes() == source("v1")]


@pytest.mark.parametrize("place", [".", "clusters/production"])
def test_an_upgrade_migrates_no_file_that_another_cluster_does_not_serve_yet(clone: Clone, place: str) -> None:
    report = clone.run("upgrade", place, "--approve=clusters/production=2.8")
    assert migrated(clone) == [OWN]
    assert f"{NONE}. {FIRST}" in report
    merge(clone)
    assert FIRST not in clone.run("upgrade", place, "--approve=clusters/production=2.8")
    assert migrated(clone) == [SHARED, OWN]


@pytest.mark.parametrize("place", [".", "clusters/production"])
def test_migrate_leaves_a_file_that_a_cluster_does_not_serve_yet(clone: Clone, place: str) -> None:
    report = clone.run("migrate", place, "--to=v2.8.8")
    assert migrated(clone) == [OWN]
    assert FIRST in report
    assert "the clusters at v2.5.1 come first" in report
    assert "clusters run v2.5.1, v2.6.4 (found in this repository)" in report
    merge(clone)
    assert FIRST not in clone.run("migrate", place, "--to=v2.8.8")
    assert migrated(clone) == [SHARED, OWN]


def test_migrate_leaves_a_file_that_the_only_cluster_does_not_serve_yet(tmp_path: Path) -> None:
    clone = Clone(tmp_path, "v2.5.1")
    clone.write(OWN, source("v1beta2"))
    merge(clone)
    clone.write("clusters/staging/flux-system/gotk-components.yaml", manifest("v2.6.4"))
    assert FIRST in clone.run("migrate", "--to=v2.8.8", code=ApiRemoved.exit_code)
    assert (clone.root / OWN).read_bytes() == source("v1beta2")


def test_releases_that_you_name_are_the_only_ones(clone: Clone) -> None:
    clone.run("migrate", "--to=v2.8.8", "--from=v2.6.4")
    assert migrated(clone) == [SHARED, OWN]


@pytest.mark.parametrize("command", [["migrate", "--to=v2.8.8"], ["upgrade", "--approve=clusters/production=2.8"]])
def test_without_git_the_release_in_the_file_counts(clone: Clone, command: list[str]) -> None:
    shutil.rmtree(clone.root / ".git")
    assert FIRST not in clone.run(*command)
    assert migrated(clone) == [SHARED, OWN]


@pytest.mark.parametrize(
    ("command", "version", "listings"),
    [
        ("check --to=v2.8.8", "v1", 0),
        ("check --to=v2.8.8", "v1beta2", 1),
        ("plan clusters/production --policy=minor", "v1", 1),
        ("plan clusters/production --policy=minor", "v1beta2", 2),
    ],
)
def test_the_commit_is_looked_at_only_for_files_to_migrate(
    clone: Clone, command: str, version: str, listings: int
) -> None:
    # An upgrade looks for the installation of its cluster in any case.
    for path in (SHARED, OWN):
        clone.write(path, source(version))
    calls, program = clone.path / "calls", clone.path / "git"
    git = program.resolve()
    program.unlink()
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {git} "$@"\n')
    program.chmod(0o755)
    calls.touch()
    run_in(clone.root, clone.releases, command.split(), path=str(clone.path))
    assert calls.read_text().count("ls-tree") == listings
