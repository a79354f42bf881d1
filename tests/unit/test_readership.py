"""Which files concern which cluster: what it reads itself, and what others read as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from api_use_runs import cluster, plant, resource, run
from flows import World, fleet, manifest, path_in
from flux_upgrade.assessment.readers import Installations, OtherClusters
from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.model.unknown import Unknown
from written_unverified import unverified

SYNC = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  path: ./{path}
  sourceRef:
    kind: GitRepository
    name: flux-system
"""
A, B, C = "clusters/a", "clusters/b", "clusters/c"
READS = {A: frozenset({"apps/a.yaml", "apps/both.yaml"}), B: frozenset({"apps/b.yaml", "apps/both.yaml"})}


def clusters(versions: dict[str, str]) -> dict[str, Cluster]:
    found = World(fleet(versions)).gathered().update_groups
    return {each.name: each for group in found for each in group.clusters}


def besides(name: str, versions: dict[str, str]) -> OtherClusters:
    found = clusters(versions)
    return Installations([*found.values()], reads=READS).besides(found[name])


def test_a_cluster_is_concerned_by_what_it_reads() -> None:
    of_a = besides(A, {A: "v2.8.8", B: "v2.9.4"})
    assert not of_a.is_theirs("apps/a.yaml")
    assert not of_a.is_theirs("apps/both.yaml")
    assert of_a.is_theirs("apps/b.yaml")
    assert of_a.is_theirs("clusters/a/not-listed.yaml"), "what nobody reads is nobody's"


def test_a_file_has_to_suit_those_who_read_it_and_nobody_else() -> None:
    of_a = besides(A, {A: "v2.8.8", B: "v2.9.4"})
    assert of_a.releases_reading("apps/a.yaml") == ()
    assert of_a.releases_reading("apps/both.yaml") == ("v2.9.4",)


def test_a_cluster_of_which_nothing_is_known_may_read_what_is_outside_of_others() -> None:
    of_a = besides(A, {A: "v2.8.8", B: "v2.9.4", C: "v2.6.4"})
    assert of_a.releases_reading("apps/a.yaml") == ("v2.6.4",)
    assert of_a.releases_reading("clusters/a/x.yaml") == ()
    of_c = besides(C, {A: "v2.8.8", B: "v2.9.4", C: "v2.6.4"})
    assert not of_c.is_theirs("apps/a.yaml")
    assert of_c.is_theirs("clusters/a/x.yaml")


def test_an_unverified_cluster_speaks_for_what_it_reads() -> None:
    files = {path_in(A): manifest("v2.8.8"), path_in(B): unverified()}
    found = {each.name: each for group in World(files).gathered().update_groups for each in group.clusters}
    of_a = Installations([*found.values()], reads=READS).besides(found[A])
    assert [each.path for each in of_a.unverified_reading("apps/both.yaml")] == [path_in(B)]
    assert not of_a.unverified_reading("apps/a.yaml")
    unknown = Installations([*found.values()], reads={A: READS[A]}).besides(found[A])
    assert unknown.unverified_reading("apps/a.yaml")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Production and staging read their own directory of ``apps``, and a base in common."""
    files = {".git/HEAD": "ref: refs/heads/main\n", "archive/old.yaml": resource(name="old")}
    for name in ("production", "staging"):
        folder = f"clusters/{name}"
        files[f"{folder}/flux-system/gotk-components.yaml"] = cluster("v2.8.8")
        files[f"{folder}/flux-system/gotk-sync.yaml"] = SYNC.format(name="flux-system", path=folder)
        files[f"{folder}/apps.yaml"] = SYNC.format(name="apps", path=f"apps/{name}")
        files[f"apps/{name}/kustomization.yaml"] = "resources:\n- ../base\n- own.yaml\n"
        files[f"apps/{name}/own.yaml"] = resource(name=name)
    files["apps/base/kustomization.yaml"] = "resources:\n- shared.yaml\n"
    files["apps/base/shared.yaml"] = resource(name="shared")
    return plant(tmp_path, files)


def test_with_a_directory_all_is_checked_that_its_clusters_read(repository: Path, written_source: Path) -> None:
    ran = run(repository, written_source, "check", "clusters/staging")
    assert ran.code == 7
    places = [line.partition(": ")[0] for line in ran.out.split("\n\n")[0].splitlines()]
    assert places == ["apps/base/shared.yaml:1", "apps/staging/own.yaml:1"]


def test_with_a_directory_all_is_migrated_that_its_clusters_read(repository: Path, written_source: Path) -> None:
    def old() -> list[str]:
        return sorted(
            str(path.relative_to(repository))
            for path in repository.rglob("*.yaml")
            if resource().split("\n")[0] in path.read_text()
        )

    before = old()
    ran = run(repository, written_source, "migrate", "clusters/staging", "--dry-run")
    assert (ran.code, old()) == (0, before)
    assert "apps/base/shared.yaml" in ran.out
    assert run(repository, written_source, "migrate", "clusters/staging").code == 0
    assert sorted({*before} - {*old()}) == ["apps/base/shared.yaml", "apps/staging/own.yaml"]
    assert run(repository, written_source, "check", "clusters/staging").code == 0
    assert run(repository, written_source, "check").code == 7


def test_for_a_cluster_of_which_the_sync_alone_is_here_nothing_is_moved() -> None:
    found = clusters({A: "v2.8.8"})
    sync = "clusters/b/flux-system/gotk-sync.yaml"
    of_a = Installations([*found.values()], reads=READS, unknown=[(READS[B], sync)]).besides(found[A])
    assert [(each.path, each.content) for each in of_a.unverified_reading("apps/both.yaml")] == [(sync, None)]
    assert not of_a.unverified_reading("apps/a.yaml")


def test_what_a_cluster_reads_of_which_the_sync_alone_is_here_is_read() -> None:
    found = clusters({A: "v2.8.8"})
    unread = Installations([*found.values()], reads={A: READS[A]}).besides(found[A])
    assert unread.every.read == READS[A]
    sync = "clusters/b/flux-system/gotk-sync.yaml"
    read = Installations([*found.values()], reads={A: READS[A]}, unknown=[(READS[B], sync)]).besides(found[A])
    assert read.every.read == READS[A] | READS[B]


def test_a_step_that_may_lead_anywhere_counts_as_reading_all_but_the_own_folders_of_others() -> None:
    known = clusters({A: "v2.8.8", B: "v2.9.4"})
    every = Installations([*known.values()], reads=READS, beyond={B: Unknown("a step was not followed")})
    of_a, of_b = (every.besides(known[name]) for name in (A, B))
    assert of_a.releases_reading("apps/a.yaml") == ("v2.9.4",)
    assert of_a.releases_reading("clusters/a/x.yaml") == ()
    assert not of_b.is_theirs("apps/a.yaml")
    assert of_b.is_theirs("clusters/a/x.yaml")
    assert of_a.is_theirs("apps/b.yaml"), "all steps of this cluster were followed"
    assert isinstance(every.read, Unknown)


def test_a_sync_that_may_lead_anywhere_leaves_nothing_unread() -> None:
    known, sync = clusters({A: "v2.8.8"}), "clusters/b/flux-system/gotk-sync.yaml"
    unknown, beyond = [(READS[B], sync)], {sync: Unknown("a step was not followed")}
    of_a = Installations([*known.values()], reads={A: READS[A]}, unknown=unknown, beyond=beyond).besides(known[A])
    assert isinstance(of_a.every.read, Unknown)
    assert [each.path for each in of_a.unverified_reading("apps/a.yaml")] == [sync]
