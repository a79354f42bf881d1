"""Which files are one cluster's alone, and which releases shared ones have to suit."""

from __future__ import annotations

from flows import World, fleet
from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.impact.running import other_clusters


def clusters(*folders: str, version: str = "v2.8.8") -> dict[str, Cluster]:
    files = fleet(dict.fromkeys(folders, version) | {folders[-1]: "v2.9.4"})
    return {each.name: each for team in World(files).gathered().update_groups for each in team.clusters}


def test_beside_each_other() -> None:
    found = clusters("clusters/a", "clusters/b")
    elsewhere = clusters("archive/c", "archive/d", version="v2.6.4")["archive/c"].members
    around = other_clusters(found["clusters/a"], found.values(), elsewhere)
    assert around.releases == ("v2.6.4", "v2.9.4")
    assert around.is_theirs("archive/c/x.yaml")
    assert around.is_own("clusters/a/apps/x.yaml")
    assert around.is_theirs("clusters/b/x.yaml")
    assert not around.is_theirs("clusters/base/x.yaml")
    assert not around.is_own("apps/x.yaml")


def test_one_in_the_other() -> None:
    found = clusters("fleet", "fleet/edge")
    outer = other_clusters(found["fleet"], found.values())
    inner = other_clusters(found["fleet/edge"], found.values())
    assert outer.is_theirs("fleet/edge/x.yaml")
    assert inner.is_own("fleet/edge/x.yaml")
    assert not inner.is_theirs("fleet/x.yaml")


def test_what_is_below_an_inner_cluster_is_no_longer_the_outer_ones() -> None:
    found = clusters("fleet", "fleet/edge")
    outer = other_clusters(found["fleet"], found.values())
    assert outer.is_own("fleet/x.yaml")
    assert not outer.is_own("fleet/edge/x.yaml")
