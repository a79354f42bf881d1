"""The semver policy: which releases may be proposed for an installation, by themselves or once approved.

For each kind of bump, an approval decides first. Without one it is the highest
step (a patch; a minor, by its newest patch) that the range allows, that was not
rejected and that has cooled; steps above it are held, each with its reason. Whether
the step waits for approval is up to ``Policy.bump``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Release, Version, is_tag
from flux_upgrade.policy.decision import Bump, BumpKind, Feedback, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.semver_range import Constraint

_OF_ONE_RELEASE = (HoldReason.ROLLED_BACK, HoldReason.GROUP_REVERTED)


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
    bump: MaxBump = MaxBump.PATCH
    range: Constraint | None = None
    pending: Pending = Pending.DRAFT
    patch_cool_down: timedelta = timedelta(0)
    minor_cool_down: timedelta = timedelta(days=7)  # By the age of the minor's `.0`; majors too
    passed: Version = NO_VERSION  # The release that the rings before have passed: newer ones wait behind it


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
    case = _Case(current, _stable(releases), policy, feedback, now)
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


class _StableRelease(NamedTuple):
    version: Version
    published: datetime | None  # None where the source does not tell


def _stable(releases: Iterable[Release]) -> tuple[_StableRelease, ...]:
    """The stable ones, lowest first, whatever their order; tags that Flux would not give are left out."""
    # A tag with build metadata has the precedence of the one without.
    found = {
        each.tag: _StableRelease(each.tag, _moment(each.published_at))
        for each in sorted(releases)
        if not each.prerelease and "-" not in each.tag and "+" not in each.tag
    }
    return tuple(found.values())


@dataclass(frozen=True)
class _Case:
    current: Version
    listed: tuple[_StableRelease, ...]
    policy: Policy
    feedback: Feedback
    now: datetime

    @cached_property
    def newer(self) -> tuple[_StableRelease, ...]:
        return tuple(each for each in self.listed if each.version > self.current)

    @cached_property
    def approved(self) -> frozenset[str]:
        bare = (text.removeprefix("v") for text in self.feedback.approved)
        return frozenset(f"v{each}" if each.count(".") > 1 else each for each in bare)

    def covers(self, bump_kind: BumpKind) -> bool:
        """Whether a bump of this size needs nobody's approval."""
        return list(MaxBump).index(self.policy.bump) > list(BumpKind).index(bump_kind)

    def allows(self, release: _StableRelease) -> bool:
        return self.policy.range is None or self.policy.range.allows(release.version)

    def decide(self, bump_kind: BumpKind) -> list[Bump | Hold]:
        """What is decided about one kind of bump: the Bump first, then holds from high to low."""
        releases, feedback = self._up_to_passed(bump_kind)
        for release in reversed(releases):
            for approval in (release.version.minor, release.version):
                if approval in self.approved:
                    later = [each for each in releases if each.version > release.version]
                    # The minor in use does not approve its later patches.
                    given = release.version if bump_kind is BumpKind.PATCH else approval
                    return [self._bump(bump_kind, release, given), *self._after(bump_kind, later, approval)]
        steps = [each for each in releases if self.allows(each)]
        if bump_kind is not BumpKind.PATCH:
            steps = list({each.version.minor: each for each in steps}.values())
        holds: list[Bump | Hold] = []
        for step in reversed(steps):
            hold = refused(feedback, bump_kind, step.version) or self._cooling(bump_kind, step)
            if hold is None:
                if self.covers(bump_kind) or self.policy.pending is Pending.DRAFT:
                    return [self._bump(bump_kind, step, ""), *holds]
                detail = f"a {bump_kind} upgrade needs approval under policy {self.policy.bump}"
                return [self._needs_approval(bump_kind, step, detail), *holds]
            if hold not in holds:
                holds.append(hold)
        return holds

    def _up_to_passed(self, bump_kind: BumpKind) -> tuple[list[_StableRelease], Feedback]:
        """The newer releases: up to the one that the groups before have passed, if it can be proposed.

        Then it does not matter that these groups reverted a newer one.
        """
        releases = [each for each in self.newer if BumpKind.between(self.current, each.version) is bump_kind]
        passed, rejections = self.policy.passed, self.feedback.rejections
        if any(each.version == passed for each in releases):
            kept = (
                each for each in rejections if each.reason is not HoldReason.GROUP_REVERTED or each.target <= passed
            )
            feedback = self.feedback._replace(rejections=tuple(kept))
            is_asked = not self.approved.isdisjoint({passed, passed.minor})
            if is_asked or refused(feedback, bump_kind, passed) is None:
                return [each for each in releases if each.version <= passed or each.version in self.approved], feedback
        return releases, self.feedback

    def _bump(self, bump_kind: BumpKind, release: _StableRelease, approval: str) -> Bump:
        is_approved = bool(approval) or self.covers(bump_kind)
        return Bump(bump_kind, release.version, is_approved, approval, why=self._why(release))

    def _why(self, target: _StableRelease) -> str:
        """One sentence on why to go to ``target`` now: dates and versions, so that it stays true for days."""
        current, tag, minor = self.current, target.version, target.version.minor
        own = [each for each in self.listed if each.version.minor == current.minor]
        if own and tag.numbers[0] == current.numbers[0] and minor != current.minor:
            successor = next(each for each in self.listed if each.version > own[-1].version)
            out = successor.published
            if out is not None and all(each.published is not None and each.published < out for each in own):
                return f"{current.minor} has had no patch since {successor.version} was released ({out.date()})"
        if target.published is None:
            return f"{tag} is newer than {current}"
        first = self._first_of_line(target)
        if first.published is None or minor == current.minor or first == target:
            return f"{tag} was released on {target.published.date()}"
        of_line = f"{first.version} was released on {first.published.date()}"
        return f"{of_line}, and {tag} on {target.published.date()}"

    def _first_of_line(self, release: _StableRelease) -> _StableRelease:
        """The ``.0`` of a release's minor, or the first patch that is (still) listed."""
        return next(each for each in self.listed if each.version.minor == release.version.minor)

    def _after(self, bump_kind: BumpKind, later: Sequence[_StableRelease], approval: str) -> Iterator[Hold]:
        """What waits until that which a person approved has been merged."""
        allowed = [each for each in later if self.allows(each) and not refused(self.feedback, bump_kind, each.version)]
        newest = {each.version.minor: each for each in allowed}
        for each in reversed(newest.values()):
            yield self._needs_approval(bump_kind, each, f"{approval} is approved and must be merged first")

    def _needs_approval(self, bump_kind: BumpKind, release: _StableRelease, detail: str) -> Hold:
        _, end = self._cool_down(bump_kind, release)
        since = "" if end is None else _rfc3339(end)
        return _hold(HoldReason.NEEDS_APPROVAL, detail, bump_kind, release.version, since)

    def _cooling(self, bump_kind: BumpKind, release: _StableRelease) -> Hold | None:
        start, end = self._cool_down(bump_kind, release)
        if start is None or end is None or start == end or end <= self.now:
            return None
        what = bump_kind.approval(release.version)
        detail = f"{what} was released on {start.date()}, and the cool-down ends on {end.date()}"
        hold = _hold(HoldReason.COOLING_DOWN, detail, bump_kind, release.version, _rfc3339(start), until=_rfc3339(end))
        return hold._replace(needs_approval=not self.covers(bump_kind))

    def _cool_down(self, bump_kind: BumpKind, release: _StableRelease) -> tuple[datetime | None, datetime | None]:
        """When it began, and when it ends; None where the source does not tell."""
        is_patch = bump_kind is BumpKind.PATCH
        start = release.published if is_patch else self._first_of_line(release).published
        if start is None:
            return None, None
        try:
            return start, start + (self.policy.patch_cool_down if is_patch else self.policy.minor_cool_down)
        except OverflowError:
            return start, datetime.max.replace(tzinfo=UTC)

    def beyond_the_range(self, decided: Sequence[Bump | Hold]) -> Iterator[Hold]:
        """The newest release, should the range exclude it and nobody have approved it."""
        newest = self.newer[-1]
        if self.allows(newest) or any(each.target == newest.version for each in decided):
            return
        bump_kind = BumpKind.between(self.current, newest.version)
        detail = f"{newest.version} is outside the range {self.policy.range}"
        hold = _hold(HoldReason.OUT_OF_RANGE, detail, bump_kind, newest.version)
        yield hold._replace(hint=f"widen `range`, or {hold.hint}")


def refused(feedback: Feedback, bump_kind: BumpKind, target: Version) -> Hold | None:
    """The hold of a release that was rejected, or a newer patch of its minor, or the minor itself."""
    found = [
        each
        for each in feedback.rejections
        # A rejected migration of manifests does not reject the release.
        if each.bump_kind is not BumpKind.MIGRATION
        and is_tag(each.target)
        and each.target.minor == target.minor
        and (each.bump_kind is BumpKind.PATCH) is (bump_kind is BumpKind.PATCH)
        # A rejected patch, or what did not work elsewhere, lets newer ones through; a rejected minor does not.
        and (target <= each.target or (each.bump_kind is not BumpKind.PATCH and each.reason not in _OF_ONE_RELEASE))
    ]
    if not found:
        return None
    last = max(found, key=lambda each: (each.target, each.since, each.where))
    detail = f"{last.target} was {last.reason.effect.verb}: {last.where}"
    return _hold(last.reason, detail, bump_kind, last.target, last.since)


def _hold(  # noqa: PLR0913 they are what a hold is made of
    reason: HoldReason, detail: str, bump_kind: BumpKind, target: Version, since: str = "", *, until: str = ""
) -> Hold:
    """One that an approval ends."""
    hint = f"approve {bump_kind.approval(target)} to upgrade now"
    return Hold(reason, detail, hint, None, bump_kind, target, since, until)


def _rfc3339(moment: datetime) -> str:
    """A moment in UTC, to the second."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _moment(text: str) -> datetime | None:
    """A date of the list, in UTC; None where it is none."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
