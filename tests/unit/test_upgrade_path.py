"""The upgrade path has the fewest steps."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.served_apis import upgrade_path
from flux_upgrade.manifests.crds import ReleaseApis, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.versions import Version
from written_crds import manifest

OCI = "ocirepositories.source.toolkit.fluxcd.io"
IMAGE = "imagerepositories.image.toolkit.fluxcd.io"
BUCKET = "buckets.source.toolkit.fluxcd.io"

# Of each release what it has of some CRDs, as it really was; the stored version has a star.
RELEASES = {
    "v2.0.1": {BUCKET: "v1beta1 v1beta2*", OCI: "v1beta2*", IMAGE: "v1beta1 v1beta2*"},
    "v2.5.1": {BUCKET: "v1beta1 v1beta2 v1*", OCI: "v1beta2*", IMAGE: "v1beta1 v1beta2*"},
    "v2.6.0": {BUCKET: "v1beta1 v1beta2 v1*", OCI: "v1beta2 v1*", IMAGE: "v1beta1 v1beta2*"},
    "v2.6.4": {BUCKET: "v1beta1 v1beta2 v1*", OCI: "v1beta2 v1*", IMAGE: "v1beta1 v1beta2*"},
    "v2.7.5": {BUCKET: "v1beta2 v1*", OCI: "v1beta2 v1*", IMAGE: "v1beta2 v1*"},
    "v2.8.0": {BUCKET: "v1*", OCI: "v1*", IMAGE: "v1beta2 v1*"},
    "v2.8.8": {BUCKET: "v1*", OCI: "v1*", IMAGE: "v1beta2 v1*"},
    "v2.9.0-rc.1": {BUCKET: "v1*", OCI: "v1*", IMAGE: "v1*"},
    "v2.9.4": {BUCKET: "v1*", OCI: "v1*", IMAGE: "v1*"},
}
DEFAULT = (BUCKET, OCI)
ALL = (BUCKET, OCI, IMAGE)


class Source:
    """What releases serve, and which were asked about."""

    def __init__(self, releases: dict[str, dict[str, str]]) -> None:
        self.releases = releases
        self.asked: set[str] = set()

    def served(self, tag: str) -> ReleaseApis:
        self.asked.add(tag)
        return ReleaseApis(tag, crds_of(parse(manifest(tag, self.releases[tag])).documents))

    def upgrade_path(
        self, current: str, target: str, crds: tuple[str, ...], uses: tuple[ApiUse, ...] = ()
    ) -> tuple[str, ...] | None:
        return upgrade_path(Version(current), Version(target), [*map(Version, self.releases)], self.served, crds, uses)


@pytest.fixture
def source() -> Source:
    return Source(RELEASES)


def use(name: str, version: str) -> ApiUse:
    group = name.partition(".")[2]
    kind = {BUCKET: "Bucket", OCI: "OCIRepository", IMAGE: "ImageRepository"}[name]
    return ApiUse("a.yaml", 1, group, version, kind, "x", "y", UsePlace.RESOURCE, 0, 0)


@pytest.mark.parametrize(
    ("current", "target", "crds", "way"),
    [
        ("v2.5.1", "v2.9.4", ALL, ("v2.7.5", "v2.9.4")),
        ("v2.5.1", "v2.9.4", DEFAULT, ("v2.7.5", "v2.9.4")),
        ("v2.5.1", "v2.9.4", (BUCKET,), ()),
        ("v2.6.4", "v2.9.4", ALL, ("v2.8.8", "v2.9.4")),
        ("v2.6.0", "v2.9.4", ALL, ("v2.8.8", "v2.9.4")),
        ("v2.6.4", "v2.9.4", DEFAULT, ()),
        ("v2.6.4", "v2.8.8", ALL, ()),
        ("v2.7.5", "v2.9.4", ALL, ()),
        ("v2.0.1", "v2.7.5", ALL, ()),
        ("v2.8.8", "v2.9.4", ALL, ()),
        ("v2.9.4", "v2.9.4", ALL, ()),
    ],
)
def test_what_is_stored(source: Source, current: str, target: str, crds: tuple[str, ...], way: tuple[str, ...]) -> None:
    assert source.upgrade_path(current, target, crds) == way


def test_what_is_used_needs_a_release_that_serves_both() -> None:
    """Nothing is stored in the way, but no version of the manifests is served before and after."""
    kinds = {"v2.1.0": "v1beta1*", "v2.2.0": "v1beta1 v1beta2*", "v2.3.0": "v1beta2 v1*", "v2.4.0": "v1*"}
    source = Source({tag: {BUCKET: versions} for tag, versions in kinds.items()})
    assert source.upgrade_path("v2.1.0", "v2.4.0", (), (use(BUCKET, "v1beta1"),)) == ("v2.2.0", "v2.3.0", "v2.4.0")
    assert source.upgrade_path("v2.1.0", "v2.4.0", ()) == ()
    assert source.upgrade_path("v2.2.0", "v2.4.0", (), (use(BUCKET, "v1beta1"),)) == ("v2.3.0", "v2.4.0")


def test_what_is_used_and_unknown_is_in_nobodys_way(source: Source) -> None:
    other = use(BUCKET, "v1")._replace(kind="Widget")
    unsaid = use(BUCKET, "v1beta2")._replace(kind="")
    assert source.upgrade_path("v2.8.8", "v2.9.4", ALL, (other, unsaid)) == ()
    newer = {"v2.1.0": {BUCKET: "v1*"}, "v2.2.0": {BUCKET: "v1*", OCI: "v1*"}}
    assert Source(newer).upgrade_path("v2.1.0", "v2.2.0", (OCI,), (use(OCI, "v1"),)) == ()


def test_there_may_be_no_way() -> None:
    source = Source({"v2.1.0": {BUCKET: "v1beta1*"}, "v2.2.0": {BUCKET: "v1beta1*"}, "v2.3.0": {BUCKET: "v1*"}})
    assert source.upgrade_path("v2.1.0", "v2.3.0", (BUCKET,)) is None


def test_of_equally_short_ways_the_one_that_goes_farthest_first() -> None:
    both = {BUCKET: "v1beta2 v1*"}
    source = Source({"v2.1.0": {BUCKET: "v1beta2*"}, "v2.2.0": both, "v2.3.0": both, "v2.4.0": {BUCKET: "v1*"}})
    assert source.upgrade_path("v2.1.0", "v2.4.0", (BUCKET,)) == ("v2.3.0", "v2.4.0")


def test_over_a_major_version() -> None:
    kinds = {"v0.41.2": "v1beta1*", "v2.0.1": "v1beta1 v1*", "v2.6.4": "v1beta1 v1*", "v3.0.0": "v1*"}
    source = Source({tag: {BUCKET: versions} for tag, versions in kinds.items()})
    assert source.upgrade_path("v0.41.2", "v3.0.0", (BUCKET,)) == ("v2.6.4", "v3.0.0")


def test_only_the_releases_that_matter_are_asked_about(source: Source) -> None:
    source.upgrade_path("v2.7.5", "v2.9.4", ALL)
    assert source.asked == {"v2.7.5", "v2.9.4"}
    source.upgrade_path("v2.5.1", "v2.9.4", ALL)
    assert source.asked == {"v2.5.1", "v2.7.5", "v2.8.8", "v2.9.4"}, "no older patch, no older minor, no candidate"


VERSIONS = ("v1alpha1", "v1beta1", "v1beta2", "v1")


@st.composite
def timelines(draw: st.DrawFn) -> dict[str, dict[str, str]]:
    """Versions come and go in order; the newest, or the one before it, is stored."""
    found: dict[str, dict[str, str]] = {}
    for name in (BUCKET, OCI):
        first = last = 0
        for minor in range(1, 7):
            last = min(last + draw(st.integers(0, 1)), len(VERSIONS) - 1)
            first = min(first + draw(st.integers(0, 1)), last)
            names = [*VERSIONS[first : last + 1]]
            names[draw(st.integers(max(len(names) - 2, 0), len(names) - 1))] += "*"
            found.setdefault(f"v2.{minor}.0", {})[name] = " ".join(names)
    return found


@given(timelines(), st.sets(st.sampled_from([BUCKET, OCI])), st.sets(st.sampled_from([BUCKET, OCI])))
def test_no_way_is_shorter(releases: dict[str, dict[str, str]], crds: set[str], used: set[str]) -> None:
    """Against every way there is."""
    source = Source(releases)
    current, *between, target = releases

    def leads(start: str, end: str) -> bool:
        def names(tag: str, crd: str) -> set[str]:
            return {each.rstrip("*") for each in releases[tag][crd].split()}

        stored = {crd: next(each[:-1] for each in releases[start][crd].split() if "*" in each) for crd in crds}
        return all(stored[crd] in names(end, crd) for crd in crds) and all(
            names(start, crd) & names(end, crd) for crd in used
        )

    ways = [
        [*stops, target]
        for count in range(len(between) + 1)
        for stops in permutations(between, count)
        if list(stops) == sorted(stops)
        and all(leads(one, other) for one, other in zip([current, *stops], [*stops, target], strict=True))
    ]
    shortest = [way for way in ways if len(way) == min(map(len, ways))]
    wanted = max(shortest, default=None)
    found = source.upgrade_path(current, target, tuple(crds), tuple(use(each, "v1") for each in used))
    assert (found if found != () else (target,)) == (tuple(wanted) if wanted else None)
