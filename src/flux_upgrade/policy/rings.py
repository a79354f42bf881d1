"""Rings: a group proposes a release once the groups before it have merged it, kept it, and are healthy with it.

Flux itself says whether they are healthy: its notification-controller posts a commit status for each Kustomization
on the commits that it reconciled (https://fluxcd.io/flux/components/notification/providers/#git-commit-status-updates).
Anyone with write access can post one: it counts only with the configured context and creator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from flux_upgrade.model import patterns
from flux_upgrade.model.forge import BaseCommit, CommitStatus
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.policy.decision import HealthStatus

_AT_ONCE = timedelta(minutes=1)  # Between a merge and its commit, by the clocks of different machines
_DAY = timedelta(days=1)
_UNKNOWN_INTERVAL = timedelta(hours=1)
_WITHOUT_STATUSES = Version("v2.8.0")
_WITHOUT_FAILURES = "2.8"  # The minor
_SHORT = 7  # Characters of an oid that a user sees
_PATIENCE = _DAY
"""Time for a report that is late."""


class RingState(StrEnum):
    """How far a group is with the release that it has."""

    PASSED = "passed"
    MIXED = "mixed"  # Its clusters do not have the same release
    FAILING = "failing"
    SOAKING = "soaking"
    UNKNOWN = "unknown"  # Flux has not reported that it is healthy


class RingReport(NamedTuple):
    name: str
    state: RingState
    version: Version = NO_VERSION  # The release of all its clusters
    detail: str = ""  # What is so, in one clause that stays true for days; empty once it has passed
    failed: str = ""  # Oid of the commit on which Flux reported a failure
    context: str = ""  # Of the commit status that says so
    succeeded: str = ""  # Oid of an earlier commit with the release on which Flux reported success
    is_changed: bool = False  # Whether its files were changed after our pull request with this release was merged
    is_stuck: bool = False  # Only a user can make it pass

    @property
    def passed(self) -> Version:
        return self.version if self.state is RingState.PASSED else NO_VERSION


class Sync(NamedTuple):
    """The sync of a cluster with this repository."""

    interval: timedelta | None = None  # None: unknown
    is_oci: bool = False  # An artifact is not pushed for every commit


class RingFacts(NamedTuple):
    """What is known of a group before."""

    name: str
    versions: tuple[str, ...]  # Of each of its clusters; empty where one is unknown
    paths: tuple[str, ...] = ()  # Of the files that say so
    merged_at: str = ""  # RFC 3339: when our pull request with this release was merged; empty: by other means
    healthy: HealthStatus | None = None
    syncs: tuple[Sync, ...] = ()  # One for each cluster

    @property
    def reported_after(self) -> timedelta:
        """The age of a commit at which Flux has reported on it, or on a later one, in a cluster that is well."""
        intervals = [_UNKNOWN_INTERVAL if each.interval is None else 2 * each.interval for each in self.syncs]
        return max(intervals, default=_UNKNOWN_INTERVAL)


def report_of(facts: RingFacts, commits: Sequence[BaseCommit], soak: timedelta | None, now: datetime) -> RingReport:
    """How far a group is. ``commits``: of the base, newest first.

    ``soak``: of the group that comes after it; None where only the release is known, and counts.
    """
    versions = {Version.parse(each) for each in facts.versions}
    if len(versions) != 1 or None in versions:
        listed = ", ".join(sorted(set(filter(None, facts.versions))))
        is_unknown = None in versions or not versions
        listed += (", and a version that is not known" if listed else "no known version") if is_unknown else ""
        return RingReport(facts.name, RingState.MIXED, detail=f"{facts.name} runs {listed}", is_stuck=is_unknown)
    version = Version(facts.versions[0])
    if soak is None:
        return RingReport(facts.name, RingState.PASSED, version)
    holding = _holding(commits, facts.paths)
    since = _since(facts.merged_at, holding, commits)
    health = _health(facts, commits, len(holding), now)._replace(version=version)
    if facts.healthy is not None and health.state is not RingState.FAILING and version == _WITHOUT_STATUSES:
        # The controller of the release before may post a success while it is replaced.
        detail = f"{facts.name} is not known to be healthy: {unposted(version)}"
        health = health._replace(state=RingState.UNKNOWN, detail=detail, is_stuck=True)
    if health.state is RingState.FAILING:
        is_changed = bool(facts.merged_at) and _moment(since) > _moment(facts.merged_at) + _AT_ONCE
        return health._replace(is_changed=is_changed)
    until = _moment(since) + soak if since else None
    if until is None:
        return RingReport(facts.name, RingState.UNKNOWN, version, f"{facts.name} has no known date of {version}")
    if now < until:
        kept = f"{facts.name} has run {version} since {since[:10]}, and the soak ends on {until.date()}"
        return RingReport(facts.name, RingState.SOAKING, version, kept, is_stuck=_moment(since) > now + _DAY)
    return health


def unposted(version: Version) -> str:
    """Return which commit statuses a release of Flux does not post, a clause; empty: it posts all of them.

    Sources: fluxcd/flux2 #5737, and fluxcd/notification-controller #1246 and #1373.
    """
    if version == _WITHOUT_STATUSES:
        return f"Flux {version} posts no commit statuses"
    return f"Flux {version} posts no failures" if version and version.minor == _WITHOUT_FAILURES else ""


class Obstacle(NamedTuple):
    """A reason why a release waits for a group."""

    text: str  # A clause
    is_stuck: bool = False  # Only a user can end it


def obstacle(report: RingReport, target: Version) -> Obstacle:
    """Return why a release waits for a group that has not passed it."""
    if report.version and report.version != target:
        is_beyond = report.version > target
        return Obstacle(f"{report.name} runs {report.version}{', which is newer' if is_beyond else ''}", is_beyond)
    return Obstacle(report.detail, report.is_stuck)


def passed_by_all(reports: Sequence[RingReport]) -> Version:
    """The release that all of the groups have passed; empty: there is none."""
    found = {each.passed for each in reports}
    return found.pop() if len(found) == 1 else NO_VERSION


def _holding(commits: Sequence[BaseCommit], paths: Iterable[str]) -> list[BaseCommit]:
    """The commits, newest first, since one of the files last changed; none if the files were not looked at."""
    held = [[commit.blobs.get(path) for path in paths] for commit in commits]
    if not held or None in held[0]:
        return []
    return list(commits[: next((at for at, each in enumerate(held) if each != held[0]), len(held))])


def _since(merged_at: str, holding: Sequence[BaseCommit], commits: Sequence[BaseCommit]) -> str:
    """When the soak began: at the merge, or with a later change of the files. Empty: unknown."""
    oldest = holding[-1].committed_at if holding else ""
    if merged_at and len(holding) == len(commits):
        # The change is older than all of these commits. In a busy repository their oldest is never old enough.
        return merged_at
    return max([each for each in (oldest, merged_at) if each], key=_moment, default="")


def _health(facts: RingFacts, commits: Sequence[BaseCommit], held: int, now: datetime) -> RingReport:
    """Return the state of a group, of any release, and the reason.

    The newest commit that has a context decides about it. ``held``: how many of the commits have the release.
    """
    source, name = facts.healthy, facts.name
    if source is None:
        return RingReport(name, RingState.PASSED)
    doubts: list[_Doubt] = []
    for wanted in source.contexts:
        contexts = [*_contexts(commits, held, wanted, source.creator)]
        if not contexts:
            doubts.append(_Doubt(f"Flux has not posted {wanted}", _begin(facts, commits, held)))
        for context in contexts:
            index, status = _newest(commits[:held], context)
            if status is not None and _is_by(status, source) and status.state in ("failure", "error"):
                detail = f"Flux reports a failure in {name} ({context})"
                failing = RingReport(name, RingState.FAILING, detail=detail, failed=commits[index].oid, context=context)
                return failing._replace(succeeded=_succeeded(commits[index + 1 : held], context, source))
            doubts += _doubts(facts, commits, held, context, now)
    if not doubts:
        return RingReport(name, RingState.PASSED)
    is_stuck = any(doubt.since and now > _moment(doubt.since) + facts.reported_after + _PATIENCE for doubt in doubts)
    detail = f"{name} is not known to be healthy: {doubts[0].text}"
    return RingReport(name, RingState.UNKNOWN, detail=detail, is_stuck=is_stuck)


class _Doubt(NamedTuple):
    """A reason not to know whether a group is healthy."""

    text: str
    since: str  # RFC 3339: the date of the commit on which Flux should have reported; empty: unknown


def _contexts(commits: Sequence[BaseCommit], held: int, wanted: str, creator: str) -> Iterator[str]:
    """Yield the contexts that match, those of earlier commits included: they have to be reported again."""
    seen: dict[str, None] = {}
    for index, commit in enumerate(commits):
        for context, status in commit.statuses.items():
            if index < held or status.creator.lower() == creator.lower():
                seen.setdefault(context)
    return (context for context in seen if fits(wanted, context))


def _newest(commits: Sequence[BaseCommit], context: str) -> tuple[int, CommitStatus | None]:
    """Return the newest status of a context, and the index of its commit."""
    posted = ((index, commit.statuses[context]) for index, commit in enumerate(commits) if context in commit.statuses)
    return next(posted, (len(commits), None))


def _succeeded(commits: Iterable[BaseCommit], context: str, source: HealthStatus) -> str:
    """Return the oid of the newest commit on which Flux reported success; empty: there is none."""
    for commit in commits:
        status = commit.statuses.get(context)
        if status is not None and status.state == "success" and _is_by(status, source):
            return commit.oid
    return ""


def _is_by(status: CommitStatus, source: HealthStatus) -> bool:
    return status.creator.lower() == source.creator.lower()


def _doubts(
    facts: RingFacts, commits: Sequence[BaseCommit], held: int, context: str, now: datetime
) -> Iterator[_Doubt]:
    """Yield the reason not to know what a context says of the release."""
    source = facts.healthy
    index, status = _newest(commits[:held], context)
    if status is None:
        last, _ = _newest(commits, context)
        why = f"Flux has not posted {context} since {commits[last].oid[:_SHORT]}"
        yield _Doubt(why, _begin(facts, commits, held))
    elif source is not None and not _is_by(status, source):
        yield _Doubt(f"{context} was posted by {status.creator or 'an unknown user'}", commits[index].committed_at)
    elif status.state != "success":
        yield _Doubt(f"{context} is {status.state}", commits[index].committed_at)
    else:
        due = [date for date in _dates(commits[: index + 1], now)[:index] if date + facts.reported_after < now]
        is_sparse = bool(facts.syncs) and all(sync.is_oci for sync in facts.syncs) and index < held - 1
        if due and not is_sparse:
            why = f"Flux has reported nothing on {context} since {commits[index].oid[:_SHORT]}"
            yield _Doubt(why, due[-1].isoformat())


def _begin(facts: RingFacts, commits: Sequence[BaseCommit], held: int) -> str:
    """Return when the group got the release, RFC 3339; empty: unknown."""
    oldest = commits[held - 1].committed_at if held else ""
    return facts.merged_at or oldest if held == len(commits) else oldest


def _dates(commits: Sequence[BaseCommit], now: datetime) -> list[datetime]:
    """Return the dates of some commits, newest first. One in the future counts as that of the commit before."""
    dates: list[datetime] = []
    for commit in reversed(commits):
        date = _moment(commit.committed_at)
        dates.append(date if date <= now else dates[-1] if dates else now)
    return dates[::-1]


def fits(pattern: str, text: str) -> bool:
    """Whether ``text`` is ``pattern``, in which ``*`` matches any text. Linear in both."""
    return patterns.fits(f"(?s){'.*'.join(map(re.escape, pattern.split('*')))}", text)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
