"""Stored versions that later CRDs drop are found for each pair of real releases, and for real histories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from conformance.real_files import members, rows, tell
from conformance.real_releases import ALL, DEFAULT, IMAGE, Minor, Pair, Real, pairs
from flux_upgrade.impact.impact import Stored
from flux_upgrade.impact.stored_versions.refused import installed_crds, stored
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.versions import Version

pytestmark = pytest.mark.real_part("shared data")

# Each kind: since which minor which versions, the stored one with a star, as each controller's CRDs have them.
TABLE = {
    "GitRepository": "0.8 v1beta1* | 0.28 v1beta1 v1beta2* | 2.0 v1beta1 v1beta2 v1* | 2.7 v1beta2 v1* | 2.8 v1*",
    "OCIRepository": "0.32 v1beta2* | 2.6 v1beta2 v1* | 2.8 v1*",
    "Bucket": "0.8 v1beta1* | 0.28 v1beta1 v1beta2* | 2.4 v1beta1 v1beta2 v1* | 2.7 v1beta2 v1* | 2.8 v1*",
    "HelmRepository": "0.8 v1beta1* | 0.28 v1beta1 v1beta2* | 2.3 v1beta1 v1beta2 v1* | 2.7 v1beta2 v1* | 2.8 v1*",
    "HelmChart": "0.8 v1beta1* | 0.28 v1beta1 v1beta2* | 2.3 v1beta1 v1beta2 v1* | 2.7 v1beta2 v1* | 2.8 v1*",
    "Kustomization": "0.8 v1beta1* | 0.18 v1beta1 v1beta2* | 2.0 v1beta1 v1beta2 v1* | 2.7 v1beta2 v1* | 2.8 v1*",
    "HelmRelease": "0.8 v2beta1* | 2.2 v2beta1 v2beta2* | 2.3 v2beta1 v2beta2 v2* | 2.7 v2beta2 v2* | 2.8 v2*",
    "Receiver": "0.8 v1beta1* | 0.38 v1beta1 v1beta2* | 2.0 v1beta1 v1beta2 v1* | 2.7 v1beta2 v1* | 2.9 v1*",
    "Alert": "0.8 v1beta1* | 0.38 v1beta1 v1beta2* | 2.2 v1beta1 v1beta2 v1beta3* | 2.7 v1beta2 v1beta3* | 2.9 v1beta3*",
    "Provider": "0.8 v1beta1* | 0.38 v1beta1 v1beta2* | 2.2 v1beta1 v1beta2 v1beta3* | 2.7 v1beta2 v1beta3* | 2.9 v1beta3*",
    "ImageRepository": (
        "0.8 v1alpha1* | 0.13 v1alpha1 v1alpha2* | 0.16 v1alpha1 v1alpha2 v1beta1* | 0.37 v1beta1* "
        "| 0.40 v1beta1 v1beta2* | 2.7 v1beta2 v1* | 2.9 v1*"
    ),
    "ImagePolicy": (
        "0.8 v1alpha1* | 0.13 v1alpha1 v1alpha2* | 0.16 v1alpha1 v1alpha2 v1beta1* | 0.37 v1beta1* "
        "| 0.40 v1beta1 v1beta2* | 2.7 v1beta2 v1* | 2.9 v1*"
    ),
    "ImageUpdateAutomation": (
        "0.8 v1alpha1* | 0.13 v1alpha1 v1alpha2* | 0.16 v1alpha1 v1alpha2 v1beta1* | 0.37 v1beta1* "
        "| 2.3 v1beta1 v1beta2* | 2.7 v1beta2 v1* | 2.9 v1*"
    ),
    "ExternalArtifact": "2.7 v1*",
}
OF_IMAGE = {"ImageRepository", "ImagePolicy", "ImageUpdateAutomation"}


def versions_of(kind: str, minor: Minor) -> tuple[frozenset[str], str]:
    """Versions and the stored one, of a kind in a minor, by the table; none before it was there."""
    found: list[str] = []
    for entry in TABLE[kind].split(" | "):
        since, *versions = entry.split()
        first, second = since.split(".")
        if (int(first), int(second)) <= minor:
            found = versions
    storage = "".join(version for version in found if version.endswith("*"))
    return frozenset(version.rstrip("*") for version in found), storage.rstrip("*")


def expected(history: Sequence[Minor], target: Minor, kinds: set[str], *, is_migrated: bool = False) -> set[Pair]:
    """By the table: what was stored by what ran, and is in the present CRD, but not in the target's."""
    found = set()
    for kind in kinds:
        present, after = versions_of(kind, history[-1])[0], versions_of(kind, target)[0]
        ran = {versions_of(kind, minor)[1] for minor in (history[-1:] if is_migrated else history)}
        found |= {(kind, version) for version in ran & present - after if after}
    return found


@pytest.fixture(scope="module")
def real(releases: Path) -> Real:
    return Real(releases)


def test_each_release_has_what_the_table_says(real: Real) -> None:
    for minor, tag in real.last.items():
        found = installed_crds(real.content(tag, ALL))
        assert found is not None
        kinds = {crd.kind: found.crds[crd.name] for crd in real.crds(tag, ALL)}
        for kind in TABLE:
            versions, storage = versions_of(kind, minor)
            published = (kinds[kind].versions, kinds[kind].storage) if kind in kinds else (frozenset(), "")
            assert published == (versions, storage), f"{kind} in {tag}"
        assert kinds.keys() <= TABLE.keys(), tag


def kinds_of(components: tuple[str, ...]) -> set[str]:
    return TABLE.keys() - (set() if set(IMAGE) <= set(components) else OF_IMAGE)


def jumps(minors: Sequence[Minor]) -> Iterator[tuple[Minor, Minor]]:
    yield from ((start, end) for start in minors for end in minors if start < end)


@pytest.mark.parametrize("components", [DEFAULT, ALL])
def test_one_release_ran_and_any_later_one_comes(real: Real, components: tuple[str, ...]) -> None:
    """What it stored itself: `flux migrate` there changes nothing about it."""
    count = refusing = 0
    for start, end in jumps([*real.last]):
        found = real.stored([real.last[start]], real.last[end], components)
        wanted = expected([start], end, kinds_of(components))
        assert pairs(found.refused) == wanted, f"{start} → {end}"
        assert found.after_migrate == found.refused
        count, refusing = count + 1, refusing + bool(wanted)
    tell(
        f"stored: {count} jumps between minors with {len(components)} controllers, {refusing} refused, as the table has it"
    )


@pytest.mark.parametrize("components", [DEFAULT, ALL])
@pytest.mark.parametrize("first", [(0, 8), (0, 17), (0, 31), (0, 38), (0, 41), (2, 0), (2, 2), (2, 3), (2, 5)])
def test_all_releases_ran_from_one_on(real: Real, first: Minor, components: tuple[str, ...]) -> None:
    minors = [minor for minor in real.last if minor >= first]
    for start, end in jumps([minor for minor in minors if minor >= (2, 0)]):
        ran = [minor for minor in minors if minor <= start]
        found = real.stored([real.last[minor] for minor in ran], real.last[end], components)
        kinds = kinds_of(components)
        assert pairs(found.refused) == expected(ran, end, kinds), f"{ran} → {end}"
        assert pairs(found.after_migrate) == expected(ran, end, kinds, is_migrated=True), f"{ran} → {end}"
        for each in found.refused:
            since = next(minor for minor in ran if versions_of(each.kind, minor)[1] == each.version)
            assert each.release.tag == real.last[since]


# -- what users met (users-in-the-wild, no. 6)


def test_the_four_controllers_of_2_5_are_refused_2_8_without_any_user(real: Real) -> None:
    for tag in ("v2.0.1", "v2.3.0", "v2.5.0", "v2.5.1"):
        found = real.stored([tag, "v2.7.5"], "v2.8.8", DEFAULT)
        assert ("OCIRepository", "v1beta2") in pairs(found.refused)
        assert found.after_migrate == ()
        assert found.cli == "2.7"
    assert pairs(real.stored(["v2.5.1"], "v2.8.0", DEFAULT).refused) == {("OCIRepository", "v1beta2")}
    assert real.stored(["v2.6.0", "v2.7.5"], "v2.8.8", DEFAULT).refused == ()


def test_image_controllers_of_2_6_are_refused_2_9(real: Real) -> None:
    kinds = {(kind, "v1beta2") for kind in OF_IMAGE}
    for history in (["v2.6.4", "v2.8.8"], ["v2.6.4"], ["v2.6.0", "v2.7.5"]):
        found = real.stored(history, "v2.9.4", ALL)
        assert pairs(found.refused) == kinds
        assert bool(found.after_migrate) == (history[-1] == "v2.6.4")
        assert found.refused[0].release.tag == history[0]
        assert found.refused[0].release.since == "2000-01-01T00:00:00Z"
    assert real.stored(["v2.6.4", "v2.8.8"], "v2.9.4", DEFAULT).refused == ()
    assert real.stored(["v2.7.0", "v2.8.8"], "v2.9.4", ALL).refused == ()


def test_a_stop_at_2_7_5_with_flux_migrate_clears_2_5_to_2_9(real: Real) -> None:
    before = real.stored(["v2.5.1", "v2.7.5"], "v2.9.4", ALL)
    assert {kind for kind, _ in pairs(before.refused)} == OF_IMAGE | {"OCIRepository"}
    after = real.stored(["v2.5.1", "v2.7.5"], "v2.9.4", ALL, ["v2.7.5"])
    assert (after.refused, after.resolved) == ((), before.refused)
    assert real.upgrade_path("v2.5.1", "v2.9.4", ALL) == ("v2.7.5", "v2.9.4")
    assert real.upgrade_path("v2.7.5", "v2.9.4", ALL) == ()


# -- the ladder


@pytest.mark.parametrize("components", [DEFAULT, ALL])
def test_each_way_is_the_shortest(real: Real, components: tuple[str, ...]) -> None:
    """Against all ways there are, by the table."""
    kinds = kinds_of(components)
    minors = [minor for minor in real.last if minor >= (0, 38)]

    @cache
    def length(start: Minor, end: Minor) -> int:
        def leads(one: Minor, other: Minor) -> bool:
            return not expected([one], other, kinds)

        if leads(start, end):
            return 1
        return 1 + min((length(stop, end) for stop in minors if start < stop < end and leads(start, stop)), default=99)

    counted: dict[int, int] = defaultdict(int)
    for start, end in jumps(minors):
        found = real.upgrade_path(real.last[start], real.last[end], components)
        assert found is not None
        assert (len(found) or 1) == length(start, end), f"{start} → {end}: {found}"
        way = [real.last[start], *(found or [real.last[end]])]
        for one, other in pairwise(way):
            assert not real.stored([one], other, components).after_migrate
        counted[len(way) - 1] += 1
    tell(f"multi-step: {len(components)} controllers, from 0.38 on: {dict(sorted(counted.items()))} (steps: jumps)")


def test_ways_to_v2_9_4(real: Real) -> None:
    for components in (DEFAULT, ALL):
        for minor in [minor for minor in real.last if (0, 31) <= minor < (2, 9)]:
            found = real.upgrade_path(real.last[minor], "v2.9.4", components)
            tell(f"multi-step: {real.last[minor]} with {len(components)} controllers → {found or 'one step'}")
    assert real.upgrade_path("v2.5.1", "v2.9.4", DEFAULT) == ("v2.7.5", "v2.9.4")
    assert real.upgrade_path("v2.0.1", "v2.9.4", DEFAULT) == ("v2.6.4", "v2.9.4")
    assert real.upgrade_path("v2.0.1", "v2.9.4", ALL) == ("v2.6.4", "v2.8.8", "v2.9.4")
    assert real.upgrade_path("v2.6.4", "v2.9.4", DEFAULT) == ()


# -- histories that people have


def test_real_histories_to_v2_9_4(conformance: Path, real: Real) -> None:
    """The contents of each repository that we know, in their order; its last one → v2.9.4."""
    index = {row["file"]: row for row in rows(conformance / "wild.jsonl")}
    contents: dict[tuple[str, str], list[FileRevision]] = defaultdict(list)
    for name, content in members(conformance / "wild.tar.xz"):
        row = index[name]
        contents[row["repo"], row["path"]].append(FileRevision(row["commit"], row["date"], content))
    target = real.crds("v2.9.4", ALL)
    for (repository, path), found in sorted(contents.items()):
        found.sort(key=lambda past: past.date)
        present = found[-1].content
        now = installed_crds(present)
        predicted = stored(FileRevisions(tuple(found)), present, target)
        assert {(each.kind, each.version) for each in predicted.after_migrate} <= pairs(predicted.refused)
        if now is None:
            assert predicted == Stored()
            continue
        ran = defaultdict(list)
        for each in predicted.refused:
            assert each.version in now.crds[each.crd].versions
            ran[f"{each.release.tag} {each.release.since} {each.version}"].append(each.kind)
        stop = " and a stop" if predicted.after_migrate else ""
        if ran and Version(now.tag or "v0.0.0") >= Version("v2.0.0"):
            listed = "; ".join(f"{key}: {', '.join(sorted(kinds))}" for key, kinds in ran.items())
            tell(
                f"stored: {repository} {path} at {now.tag}, {len(found)} contents, CLI {predicted.cli}{stop}: {listed}"
            )
