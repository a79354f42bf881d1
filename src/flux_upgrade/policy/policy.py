"""The semver policy: which releases may be proposed for an installation, by themselves or once approved.

For each kind of bump, an approval decides first. Without one it is the highest
step (a patch; a minor, by its newest patch) that the range allows, that was not
rejected and that has cooled; steps above it are held, each with its reason. Whether
the step waits for approval is up to ``Policy.bump``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.feedback import Feedback, Rejection
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.semver_range import Constraint
from flux_upgrade.policy.timeline import StableRelease, end_of, first_of_line, rfc3339, stable, why


class MaxBump(StrEnum):
    """The largest bump that needs no approval."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"


class Pending(StrEnum):
    """Where a bump that waits for approval is shown."""

    DRAFT = "draft"
    SUMMARY = "summary"


class Policy(NamedTuple):
    """What the user allows."""

    bump: MaxBump = MaxBump.PATCH
    range: Constraint | None = None
    pending: Pending = Pending.DRAFT
    patch_cool_down: timedelta = timedelta(0)
    minor_cool_down: timedelta = timedelta(days=7)
    """By the age of the minor's ``.0``; majors too."""


_VersionedRejections = tuple[tuple[Version, Rejection], ...]
"""Each with the version that it is about."""


def decide(
    current: Version, releases: Sequence[Release], policy: Policy, feedback: Feedback, now: datetime
) -> tuple[Bump | Hold, ...]:
    """At most one Bump of each kind, and a Hold for each higher release that is held back.

    ``current``: that of the body. ``releases``: in any order; only stable ones are
    proposed. ``now``: with a time zone.

    - A Bump that the policy covers makes the smaller bumps obsolete, but for those
      that a person approved.
    - An approval is the last word: it beats policy, range, cool-down and earlier
      rejections, and no other bump of its kind is proposed until it is merged. It never
      leads to a downgrade or to a prerelease. One that fits no newer release changes nothing.
    - A rejected patch does not make an older one be proposed. After a rejected minor,
      other minors are proposed: each is an upgrade of its own.
    """
    case = _Case(current, stable(releases), policy, feedback, now)
    if not case.newer:
        is_newest = any(each.version == current for each in case.listed)
        detail = "is the newest stable release" if is_newest else "is newer than any stable release listed"
        return (Hold(HoldReason.UP_TO_DATE, f"{current} {detail}"),)
    decided: list[Bump | Hold] = []
    is_covered = False
    for bump_kind in reversed(BumpKind):
        found = case.decide(bump_kind)
        if is_covered:
            found = [each for each in found if isinstance(each, Bump) and each.approval]
        is_covered |= case.covers(bump_kind) and any(isinstance(each, Bump) for each in found)
        decided = found + decided
    return (*decided, *case.beyond_the_range(decided))


@dataclass(frozen=True)
class _Case:
    current: Version
    listed: tuple[StableRelease, ...]
    policy: Policy
    feedback: Feedback
    now: datetime

    @cached_property
    def newer(self) -> tuple[StableRelease, ...]:
        return tuple(each for each in self.listed if each.version > self.current)

    @cached_property
    def approved(self) -> frozenset[str]:
        bare = (text.removeprefix("v") for text in self.feedback.approved)
        return frozenset(f"v{each}" if each.count(".") > 1 else each for each in bare)

    @cached_property
    def rejections(self) -> _VersionedRejections:
        return _with_versions(self.feedback)

    def bump_kind_of(self, version: Version) -> BumpKind:
        if version.numbers[0] != self.current.numbers[0]:
            return BumpKind.MAJOR
        return BumpKind.PATCH if version.minor == self.current.minor else BumpKind.MINOR

    def covers(self, bump_kind: BumpKind) -> bool:
        """Whether a bump of this size needs nobody's approval."""
        return list(MaxBump).index(self.policy.bump) > list(BumpKind).index(bump_kind)

    def allows(self, release: StableRelease) -> bool:
        return self.policy.range is None or self.policy.range.allows(release.version)

    def decide(self, bump_kind: BumpKind) -> list[Bump | Hold]:
        """What is decided about one kind of bump: the Bump first, then holds from high to low."""
        releases = [each for each in self.newer if self.bump_kind_of(each.version) is bump_kind]
        for release in reversed(releases):
            for approval in (release.version.minor, release.version):
                if approval in self.approved:
                    later = [each for each in releases if each.version > release.version]
                    return [
                        self._bump(bump_kind, release, approval),
                        *self._after(bump_kind, later, approval),
                    ]
        return self._unapproved(bump_kind, [each for each in releases if self.allows(each)])

    def _unapproved(self, bump_kind: BumpKind, releases: Sequence[StableRelease]) -> list[Bump | Hold]:
        steps = releases
        if bump_kind is not BumpKind.PATCH:
            steps = list({each.version.minor: each for each in releases}.values())
        holds: list[Bump | Hold] = []
        for step in reversed(steps):
            hold = self._refused(bump_kind, step) or self._cooling(bump_kind, step)
            if hold is None:
                return [*self._proposed(bump_kind, step), *holds]
            if hold not in holds:
                holds.append(hold)
        return holds

    def _proposed(self, bump_kind: BumpKind, step: StableRelease) -> Iterator[Bump | Hold]:
        if self.covers(bump_kind) or self.policy.pending is Pending.DRAFT:
            yield self._bump(bump_kind, step, "")
        else:
            detail = f"a {bump_kind} bump needs approval under policy {self.policy.bump}"
            yield self._needs_approval(bump_kind, step, detail)

    def _bump(self, bump_kind: BumpKind, release: StableRelease, approval: str) -> Bump:
        return Bump(
            bump_kind,
            release.version,
            approved=bool(approval) or self.covers(bump_kind),
            approval=approval,
            why=why(self.listed, self.current, release),
        )

    def _after(self, bump_kind: BumpKind, later: Sequence[StableRelease], approval: str) -> Iterator[Hold]:
        """What waits until that which a person approved has been merged."""
        allowed = [each for each in later if self.allows(each) and not self._refused(bump_kind, each)]
        newest = {each.version.minor: each for each in allowed}
        for each in reversed(newest.values()):
            yield self._needs_approval(bump_kind, each, f"{approval} was approved, and is merged first")

    def _needs_approval(self, bump_kind: BumpKind, release: StableRelease, detail: str) -> Hold:
        start, wait = self._clock(bump_kind, release)
        since = "" if start is None else rfc3339(end_of(start, wait))
        hint = _approve(bump_kind, release.version)
        return Hold(HoldReason.NEEDS_APPROVAL, detail, hint, None, bump_kind, release.version, since)

    def _cooling(self, bump_kind: BumpKind, release: StableRelease) -> Hold | None:
        start, wait = self._clock(bump_kind, release)
        if start is None or not wait or end_of(start, wait) <= self.now:
            return None
        what = release.version if bump_kind is BumpKind.PATCH else release.version.minor
        return Hold(
            HoldReason.COOLING_DOWN,
            f"{what} was released on {start.date()} and cools down until {end_of(start, wait).date()}",
            _approve(bump_kind, release.version),
            None,
            bump_kind,
            release.version,
            since=rfc3339(start),
            until=rfc3339(end_of(start, wait)),
        )

    def _clock(self, bump_kind: BumpKind, release: StableRelease) -> tuple[datetime | None, timedelta]:
        """When the cool-down began, and how long it takes."""
        if bump_kind is BumpKind.PATCH:
            return release.published, self.policy.patch_cool_down
        return first_of_line(self.listed, release.version).published, self.policy.minor_cool_down

    def _refused(self, bump_kind: BumpKind, release: StableRelease) -> Hold | None:
        return _refusal(self.rejections, bump_kind, release.version)

    def beyond_the_range(self, decided: Sequence[Bump | Hold]) -> Iterator[Hold]:
        """The newest release, should the range exclude it and nobody have approved it."""
        newest = self.newer[-1]
        if self.allows(newest) or any(each.target == newest.version for each in decided):
            return
        bump_kind = self.bump_kind_of(newest.version)
        yield Hold(
            HoldReason.OUT_OF_RANGE,
            f"{newest.version} is not in the range {self.policy.range}",
            f"widen the range, or {_approve(bump_kind, newest.version)}",
            None,
            bump_kind,
            newest.version,
        )


def refused(feedback: Feedback, bump_kind: BumpKind, target: Version) -> Hold | None:
    """The hold of a release that is a step to another and was rejected; None: it was not."""
    return _refusal(_with_versions(feedback), bump_kind, target)


def _with_versions(feedback: Feedback) -> _VersionedRejections:
    return tuple(
        (version, each)
        for each in feedback.rejections
        # A rejected migration of manifests does not reject the release.
        if (version := Version.parse(each.target)) and each.bump_kind is not BumpKind.MIGRATION
    )


def _refusal(rejections: _VersionedRejections, bump_kind: BumpKind, asked: Version) -> Hold | None:
    """The rejection of this release, of a newer patch of the same minor, or of the minor."""
    found = [
        (version, rejection)
        for version, rejection in rejections
        if version.minor == asked.minor
        and (rejection.bump_kind is BumpKind.PATCH) is (bump_kind is BumpKind.PATCH)
        # A rejected patch, or what was rolled back, lets newer ones through; a rejected minor does not.
        and (
            asked <= version
            or (rejection.bump_kind is not BumpKind.PATCH and rejection.reason is not HoldReason.ROLLED_BACK)
        )
    ]
    if not found:
        return None
    version, last = max(found, key=lambda each: (each[0], each[1].since, each[1].where))
    detail = f"{last.target} was {last.reason.effect.verb} by a person: {last.where}"
    return Hold(last.reason, detail, _approve(bump_kind, version), None, bump_kind, version, last.since)


def _approve(bump_kind: BumpKind, version: Version) -> str:
    name = version if bump_kind is BumpKind.PATCH else version.minor
    return f"approve {name} to have it now"
