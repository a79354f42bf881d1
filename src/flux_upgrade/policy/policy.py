"""The semver policy: which releases may be proposed for an installation, by themselves or once approved.

For each subject a person's approval decides first. Without one it is the highest
step (a patch; a minor, by its newest patch) that the range allows, that nobody
refused and that has cooled; steps above it are held, each with its reason. Whether
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
from flux_upgrade.policy.decision import Bump, BumpKind, Hold, HoldReason
from flux_upgrade.policy.timeline import Listed, end_of, first_of_line, line_of, rfc3339, stable, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.policy.semver_range import Constraint


_DID = {
    HoldReason.CLOSED_BY_HUMAN: "turned down",
    HoldReason.REVERTED: "merged and reverted",
    HoldReason.ROLLED_BACK: "rolled back",
}


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


class Rejection(NamedTuple):
    """A person's answer: not this one."""

    subject: BumpKind
    target: str
    """The tag that was proposed."""
    reason: HoldReason
    """CLOSED_BY_HUMAN, REVERTED or ROLLED_BACK."""
    since: str
    """RFC 3339, UTC; empty where nobody knows."""
    where: str
    """Address of the pull request, or of the artifact."""


_Mutes = tuple[tuple[Version, Rejection], ...]
"""Each with the version that it is about."""


class Feedback(NamedTuple):
    """What people answered to earlier proposals, and what they approved."""

    muted: tuple[Rejection, ...] = ()
    approved: tuple[str, ...] = ()
    """``2.9`` (the minor and its patches) or ``v2.9.4`` (that version alone)."""
    migrated: tuple[str, ...] = ()
    """Releases at which `flux migrate` ran in the cluster, tags."""
    unmigrated: str = ""
    """Address of the merged pull request in which nobody has ticked yet that it ran; empty: there is none."""
    stored: tuple[str, ...] = ()
    """What earlier runs read in the history, see ``stored.memory``."""
    moved: tuple[str, ...] = ()
    """What was moved by merged pull requests, ``markers.content_entry``: if it is there again, it was
    reverted."""
    moved_for: tuple[str, ...] = ()
    """The releases that merged pull requests moved manifests for, tags."""


def decide(
    current: str, releases: Sequence[Release], policy: Policy, answers: Feedback, now: datetime
) -> tuple[Bump | Hold, ...]:
    """At most one Candidate for each subject, and a Hold for each higher release that is held back.

    ``current``: the tag of the body; ValueError where it is none. ``releases``: in any
    order; only stable ones are proposed. ``now``: with a time zone.

    - A Candidate that the policy covers makes the smaller bumps obsolete, but for those
      that a person approved.
    - An approval is a person's last word: it stands above policy, range, cool-down and
      earlier refusals, and its subject stays there until it is merged. It never leads
      to a downgrade or to a prerelease. One that fits no newer release changes nothing.
    - Who refused a patch did not ask for an older one. Who refused a minor is asked
      about others again: each is an upgrade of its own.
    """
    case = _Case(Version(current.removeprefix("v")), stable(releases), policy, answers, now)
    if not case.newer:
        is_newest = any(each.tag == current for each in case.listed)
        told = "is the newest stable release" if is_newest else "is newer than any stable release listed"
        return (Hold(HoldReason.UP_TO_DATE, f"{current} {told}"),)
    decided: list[Bump | Hold] = []
    is_covered = False
    for subject in reversed(BumpKind):
        found = case.decide(subject)
        if is_covered:
            found = [each for each in found if isinstance(each, Bump) and each.approval]
        is_covered |= case.covers(subject) and any(isinstance(each, Bump) for each in found)
        decided = found + decided
    return (*decided, *case.beyond_the_range(decided))


@dataclass(frozen=True)
class _Case:
    current: Version
    listed: tuple[Listed, ...]
    policy: Policy
    feedback: Feedback
    now: datetime

    @cached_property
    def newer(self) -> tuple[Listed, ...]:
        return tuple(each for each in self.listed if each.version > self.current)

    @cached_property
    def approved(self) -> frozenset[str]:
        bare = (text.removeprefix("v") for text in self.feedback.approved)
        return frozenset(f"v{each}" if each.count(".") > 1 else each for each in bare)

    @cached_property
    def muted(self) -> _Mutes:
        return _mutes(self.feedback)

    def subject_of(self, version: Version) -> BumpKind:
        if version.major != self.current.major:
            return BumpKind.MAJOR
        return BumpKind.PATCH if version.minor == self.current.minor else BumpKind.MINOR

    def covers(self, subject: BumpKind) -> bool:
        """Whether a bump of this size needs nobody's approval."""
        return list(MaxBump).index(self.policy.bump) > list(BumpKind).index(subject)

    def allows(self, release: Listed) -> bool:
        return self.policy.range is None or self.policy.range.allows(release.version)

    def decide(self, subject: BumpKind) -> list[Bump | Hold]:
        """What is decided about one subject: the Candidate first, then holds from high to low."""
        releases = [each for each in self.newer if self.subject_of(each.version) is subject]
        for release in reversed(releases):
            for approval in (line_of(release.version), release.tag):
                if approval in self.approved:
                    later = [each for each in releases if each.version > release.version]
                    return [
                        self._candidate(subject, release, approval),
                        *self._after(subject, later, approval),
                    ]
        return self._unasked(subject, [each for each in releases if self.allows(each)])

    def _unasked(self, subject: BumpKind, releases: Sequence[Listed]) -> list[Bump | Hold]:
        steps = releases
        if subject is not BumpKind.PATCH:
            steps = list({line_of(each.version): each for each in releases}.values())
        holds: list[Bump | Hold] = []
        for step in reversed(steps):
            hold = self._refused(subject, step) or self._cooling(subject, step)
            if hold is None:
                return [*self._proposed(subject, step), *holds]
            if hold not in holds:
                holds.append(hold)
        return holds

    def _proposed(self, subject: BumpKind, step: Listed) -> Iterator[Bump | Hold]:
        if self.covers(subject) or self.policy.pending is Pending.DRAFT:
            yield self._candidate(subject, step, "")
        else:
            detail = f"a {subject} bump needs approval under policy {self.policy.bump}"
            yield self._needs_approval(subject, step, detail)

    def _candidate(self, subject: BumpKind, release: Listed, approval: str) -> Bump:
        return Bump(
            subject,
            release.tag,
            approved=bool(approval) or self.covers(subject),
            approval=approval,
            why=why(self.listed, self.current, release),
        )

    def _after(self, subject: BumpKind, later: Sequence[Listed], approval: str) -> Iterator[Hold]:
        """What waits until that which a person approved has been merged."""
        allowed = [each for each in later if self.allows(each) and not self._refused(subject, each)]
        newest = {line_of(each.version): each for each in allowed}
        for each in reversed(newest.values()):
            yield self._needs_approval(subject, each, f"{approval} was approved, and is merged first")

    def _needs_approval(self, subject: BumpKind, release: Listed, detail: str) -> Hold:
        start, wait = self._clock(subject, release)
        since = "" if start is None else rfc3339(end_of(start, wait))
        hint = _approve(subject, release.version)
        return Hold(HoldReason.NEEDS_APPROVAL, detail, hint, None, subject, release.tag, since)

    def _cooling(self, subject: BumpKind, release: Listed) -> Hold | None:
        start, wait = self._clock(subject, release)
        if start is None or not wait or end_of(start, wait) <= self.now:
            return None
        what = release.tag if subject is BumpKind.PATCH else line_of(release.version)
        return Hold(
            HoldReason.COOLING_DOWN,
            f"{what} was released on {start.date()} and cools down until {end_of(start, wait).date()}",
            _approve(subject, release.version),
            None,
            subject,
            release.tag,
            since=rfc3339(start),
            until=rfc3339(end_of(start, wait)),
        )

    def _clock(self, subject: BumpKind, release: Listed) -> tuple[datetime | None, timedelta]:
        """When the cool-down began, and how long it takes."""
        if subject is BumpKind.PATCH:
            return release.published, self.policy.patch_cool_down
        return first_of_line(self.listed, release.version).published, self.policy.minor_cool_down

    def _refused(self, subject: BumpKind, release: Listed) -> Hold | None:
        return _refusal(self.muted, subject, release.version)

    def beyond_the_range(self, decided: Sequence[Bump | Hold]) -> Iterator[Hold]:
        """The newest release, should the range exclude it and nobody have approved it."""
        newest = self.newer[-1]
        if self.allows(newest) or any(each.target == newest.tag for each in decided):
            return
        subject = self.subject_of(newest.version)
        yield Hold(
            HoldReason.OUT_OF_RANGE,
            f"{newest.tag} is not in the range {self.policy.range}",
            f"widen the range, or {_approve(subject, newest.version)}",
            None,
            subject,
            newest.tag,
        )


def refused(answers: Feedback, subject: BumpKind, target: str) -> Hold | None:
    """What people answered to a release, a tag, that is proposed on the way to another one."""
    return _refusal(_mutes(answers), subject, Version(target.removeprefix("v")))


def _mutes(answers: Feedback) -> _Mutes:
    parsed = ((Version.parse(each.target), each) for each in answers.muted)
    return tuple(
        (version, each)
        for version, each in parsed
        # Who does not want manifests to be moved so has said nothing of the release.
        if version is not None and each.subject is not BumpKind.MIGRATION
    )


def _refusal(muted: _Mutes, subject: BumpKind, asked: Version) -> Hold | None:
    """A person's answer to this release, to a newer patch of the same minor, or to the minor."""
    found = [
        (version, mute)
        for version, mute in muted
        if line_of(version) == line_of(asked)
        and (mute.subject is BumpKind.PATCH) is (subject is BumpKind.PATCH)
        and (not _is_about_a_version(mute) or asked <= version)
    ]
    if not found:
        return None
    version, mute = max(found, key=lambda each: (each[0], each[1].since, each[1].where))
    detail = f"{mute.target} was {_DID[mute.reason]} by a person: {mute.where}"
    return Hold(mute.reason, detail, _approve(subject, version), None, subject, mute.target, mute.since)


def _is_about_a_version(mute: Rejection) -> bool:
    """Whether newer patches are asked about again: a minor that is turned down stays so altogether."""
    return mute.subject is BumpKind.PATCH or mute.reason is HoldReason.ROLLED_BACK


def _approve(subject: BumpKind, version: Version) -> str:
    name = str(version) if subject is BumpKind.PATCH else line_of(version)
    return f"approve {name} to have it now"
