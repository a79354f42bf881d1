"""Flux's stable releases in their order, and what their dates tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.policy.decision import BumpKind


class StableRelease(NamedTuple):
    """A stable release."""

    version: Version
    published: datetime | None
    """None where the source does not tell."""


def stable(releases: Iterable[Release]) -> tuple[StableRelease, ...]:
    """The stable ones, lowest first, whatever their order; tags that Flux would not give are left out."""
    found = {}
    for release in sorted(releases):
        # A tag with build metadata has the precedence of the one without.
        if not release.prerelease and release.tag == plain(release.tag):
            found[release.tag] = StableRelease(release.tag, _moment(release.published_at))
    return tuple(sorted(found.values(), key=lambda each: each.version))


def plain(version: Version) -> Version:
    """``v2.9.4``: without prerelease and build metadata."""
    return Version(f"v{version.minor}.{version.numbers[2]}")


def size(current: str, target: str) -> BumpKind:
    """How large a step from one tag to another is; what is no version counts as the largest."""
    before, after = Version.parse(current), Version.parse(target)
    if before is None or after is None or before.numbers[0] != after.numbers[0]:
        return BumpKind.MAJOR
    return BumpKind.PATCH if before.minor == after.minor else BumpKind.MINOR


def first_of_line(listed: Sequence[StableRelease], version: Version) -> StableRelease:
    """The ``.0`` of the minor that a listed version is of, or the first patch that is (still) listed."""
    return next(each for each in listed if each.version.minor == version.minor)


def why(listed: Sequence[StableRelease], current: Version, target: StableRelease) -> str:
    """One sentence on why to go to ``target`` now: dates and versions, so that it stays true for days."""
    own = [each for each in listed if each.version.minor == current.minor]
    first = first_of_line(listed, target.version)
    if own and target.version.numbers[0] == current.numbers[0] and target.version.minor != current.minor:
        successor = next(each for each in listed if each.version > own[-1].version)
        out = successor.published
        if out is not None and all(each.published is not None and each.published < out for each in own):
            since = f"{successor.version} ({_day(out)})"
            return f"{current.minor} has had no patch since {since}"
    if target.published is None:
        return f"{target.version} is newer than {current}"
    if first.published is None or target.version.minor == current.minor or first == target:
        return f"{target.version} was released on {_day(target.published)}"
    return (
        f"{first.version} was released on {_day(first.published)},"
        f" and {target.version} on {_day(target.published)}"
    )


def end_of(start: datetime, wait: timedelta) -> datetime:
    """``start + wait``, and the last day that there is where that is too far."""
    try:
        return start + wait
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def rfc3339(moment: datetime) -> str:
    """A moment in UTC, to the second."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _moment(text: str) -> datetime | None:
    """A date of the list, in UTC; None where it is none."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
