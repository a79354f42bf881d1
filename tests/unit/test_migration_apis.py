"""Each use of an API version is migrated to the right one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.migrate.apis import Apis, age
from flux_upgrade.impact.migrate.result import Left, Reason
from flux_upgrade.manifests.crds import ReleaseApis
from written_apis import served

USE = ApiUse("a.yaml", 1, "helm.toolkit.fluxcd.io", "v2beta1", "HelmRelease", "", "", UsePlace.RESOURCE, 0, 7)
NOTIFICATION = "notification.toolkit.fluxcd.io"


def test_versions_follow_one_another() -> None:
    ordered = ["latest", "v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta10", "v1", "v2alpha1", "v2", "v10"]

    assert [min(ordered[at:], key=age) for at in range(len(ordered))] == ordered


@pytest.mark.parametrize(
    ("current", "target", "others", "goal"),
    [
        ("", "v2.9.4", (), "v2"),
        ("", "v2.2.3", (), None),
        ("", "v2.7.0", ("v2.2.3",), "v2beta2"),
        ("v2.1.2", "v2.7.0", (), None),
        ("v2.2.3", "v2.7.0", (), "v2beta2"),
        ("v2.6.4", "v2.7.0", (), "v2"),
        ("v2.6.4", "v2.7.0", ("v2.2.3",), "v2beta2"),
        ("v2.6.4", "v2.8.0", ("v2.2.3",), None),
    ],
)
def test_the_newest_that_all_serve(current: str, target: str, others: tuple[str, ...], goal: str | None) -> None:
    apis = Apis(served(current) if current else None, served(target), tuple(map(served, others)))

    assert apis.is_removed(USE) == (target != "v2.2.3")
    if apis.is_removed(USE):
        found = apis.goal(USE)
        assert (found.reason if isinstance(found, Left) else found) == (goal or Reason.NO_BRIDGE)


@pytest.mark.parametrize(
    ("version", "kind", "place", "removed"),
    [
        ("v2beta2", "HelmRelease", UsePlace.RESOURCE, True),
        ("v2", "HelmRelease", UsePlace.RESOURCE, False),
        ("v2", "HelmReleaseList", UsePlace.RESOURCE, False),
        ("v2", "", UsePlace.TEXT, False),
        ("v2beta1", "", UsePlace.TEXT, True),
        ("v2", "Release", UsePlace.RESOURCE, True),
        ("${V}", "HelmRelease", UsePlace.RESOURCE, True),
        ("${V:=v2}", "HelmRelease", UsePlace.RESOURCE, False),
        ("${V:=v2beta2}", "HelmRelease", UsePlace.RESOURCE, True),
        ("v2.*", "Helm.*", UsePlace.TARGET, False),
        ("v2beta.", "Helm.*", UsePlace.TARGET, True),
        ("v2(", "HelmRelease", UsePlace.TARGET, True),
        ("v2", "Helm(", UsePlace.TARGET, True),
    ],
)
def test_what_is_removed(version: str, kind: str, place: UsePlace, *, removed: bool) -> None:
    use = USE._replace(version=version, kind=kind, place=place)

    assert Apis(None, served("v2.9.4")).is_removed(use) == removed


@pytest.mark.parametrize(("current", "removed"), [("v2.6.4", True), ("v2.9.4", False)])
def test_a_version_by_a_variable_may_be_any_that_is_served_today(current: str, *, removed: bool) -> None:
    use = USE._replace(version="${V}")

    assert Apis(served(current), served("v2.9.4")).is_removed(use) == removed


def test_releases_in_between_are_looked_at_only_where_nothing_bridges() -> None:
    asked = []

    def between() -> Iterator[ReleaseApis]:
        asked.append("v2.8.8")
        yield served("v2.8.8")

    assert Apis(served("v2.6.4"), served("v2.9.4"), (), between=between).goal(USE) == "v2"
    assert not asked


def test_the_bridge_is_the_newest_release_that_is_one() -> None:
    tags = ("v2.9.0", "v2.8.8", "v2.7.5", "v2.3.0")
    found = Apis(served("v2.2.3"), served("v2.9.4"), (), between=lambda: map(served, tags)).goal(USE)

    assert isinstance(found, Left)
    assert found.hint == "Upgrade to v2.7.5 first, which serves v2beta2 and v2."


def test_clusters_that_are_too_far_apart_without_a_current_release() -> None:
    """Each of them serves a version of the target's, and no version is served by both."""
    others = (served("v2.2.3"), served("v2.8.0"))
    found = Apis(None, served("v2.7.5"), others, between=lambda: [served("v2.3.0")]).goal(USE)

    assert isinstance(found, Left)
    assert found.hint == "Upgrade to a release in between first, which serves a version of either."


def test_no_bridge_without_a_release_between() -> None:
    use = USE._replace(group=NOTIFICATION, kind="Alert", version="v1beta1")
    found = Apis(served("v0.41.2"), served("v2.9.4"), (), between=lambda: [served("v2.9.0")]).goal(use)

    assert isinstance(found, Left)
    assert found.hint == "Upgrade to a release in between first, which serves a version of either."


@pytest.mark.parametrize(
    ("target", "version", "goal", "kept_by"),
    [("v2.7.0", "v1beta1", "v1beta2", ("v0.41.2",)), ("v2.9.4", "v1beta2", None, ()), ("v2.9.4", "v1beta1", None, ())],
)
def test_unverified_clusters_hold_back(target: str, version: str, goal: str | None, kept_by: tuple[str, ...]) -> None:
    use = USE._replace(group="source.toolkit.fluxcd.io", kind="GitRepository", version=version)
    apis = Apis(served("v2.6.4"), served(target), unverified=(served("v0.41.2"),))
    found = apis.goal(use)

    if isinstance(found, Left):
        assert (goal, found.reason) == (None, Reason.NO_BRIDGE)
        assert "v0.41.2 serves v1beta1 and v1beta2" in found.detail
        assert found.hint == "Upgrade the clusters at v0.41.2 first."
    else:
        assert (found, apis.kept_by(use, found)) == (goal, kept_by)


def test_an_unverified_cluster_holds_back_without_any_other() -> None:
    apis = Apis(None, served("v2.9.4"), unverified=(served("v0.41.2"),))

    assert isinstance(apis.goal(USE), Left)
    assert apis.not_serving(USE) == ()
    assert apis.not_serving(USE._replace(version="v2beta2")) == ("v0.41.2",)


def test_who_holds_back_is_named_alone() -> None:
    use = USE._replace(group="source.toolkit.fluxcd.io", kind="GitRepository", version="v1beta1")
    both = (served("v0.41.2"), served("v2.2.3"))
    apis = Apis(served("v2.6.4"), served("v2.7.0"), unverified=both)

    assert (apis.goal(use), apis.kept_by(use, "v1beta2")) == ("v1beta2", ("v0.41.2",))
    assert Apis(served("v2.6.4"), served("v2.7.0"), unverified=both[1:]).kept_by(use, "v1") == ()


def test_nothing_is_moved_where_crds_cannot_be_read() -> None:
    apis = Apis(served("v2.6.4"), served("v2.9.4"), unread=("clusters/a.yaml",))
    found = apis.goal(USE)

    assert isinstance(found, Left)
    assert found.reason is Reason.NO_BRIDGE
    assert "clusters/a.yaml" in found.detail
    assert apis.not_serving(USE._replace(version="v2alpha1")) == ()
