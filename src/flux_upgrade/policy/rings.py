"""Rings: a group proposes a release once the groups before it have merged it, kept it, and are healthy with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from flux_upgrade.model.forge import BaseCommit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.policy.ring_facts import RingFacts, RingMemory, RingReport, RingState
from flux_upgrade.policy.ring_health import History, health_of, recorded_contexts

_AT_ONCE = timedelta(minutes=1)  # Between a merge and its commit, by the clocks of different machines
_DAY = timedelta(days=1)
_WITHOUT_STATUSES = Version("v2.8.0")
_WITHOUT_FAILURES = "2.8"  # The minor


def report_of(facts: RingFacts, commits: Sequence[BaseCommit], soak: timedelta | None, now: datetime) -> RingReport:
    """How far a group is. ``commits``: of the base, newest first.

    ``soak``: of the group that comes after it; None where only the release is known, and counts.
    """
    holding = _holding(commits, facts.paths)
    since = _since(facts, holding, commits, now)
    history, memory = History(commits, len(holding), since, now), facts.memory
    if facts.files and since:
        memory = RingMemory(facts.version, facts.files, since, recorded_contexts(facts, history))
    version = facts.version
    if not version:
        return _mixed(facts)._replace(memory=memory)
    if soak is None:
        return RingReport(facts.name, RingState.PASSED, version)
    health = health_of(facts, history)
    return _report(facts, since, health._replace(version=version, memory=memory), soak, now)


def _mixed(facts: RingFacts) -> RingReport:
    """Return the report of a group whose clusters do not have one known release."""
    listed = ", ".join(sorted(set(filter(None, facts.versions))))
    is_unknown = not facts.versions or not all(map(Version.parse, facts.versions))
    listed += (", and a version that is not known" if listed else "no known version") if is_unknown else ""
    return RingReport(facts.name, RingState.MIXED, detail=f"{facts.name} runs {listed}", is_stuck=is_unknown)


def _report(facts: RingFacts, since: str, health: RingReport, soak: timedelta, now: datetime) -> RingReport:
    """Return how far a group is that has had its release since then. ``health``: the state without the soak."""
    version = health.version
    if facts.healthy is not None and health.state is not RingState.FAILING and version == _WITHOUT_STATUSES:
        # The controller of the release before may post a success while it is replaced.
        detail = f"{facts.name} is not known to be healthy: {unposted(version)}"
        health = health._replace(state=RingState.UNKNOWN, detail=detail, is_stuck=True)
    if health.state is RingState.FAILING:
        is_changed = bool(facts.merged_at) and _moment(since) > _moment(facts.merged_at) + _AT_ONCE
        return health._replace(is_changed=is_changed)
    if not since:
        return health._replace(state=RingState.UNKNOWN, detail=f"{facts.name} has no known date of {version}")
    until = _moment(since) + soak
    if now < until:
        kept = f"{facts.name} has run {version} since {since[:10]}, and the soak ends on {until.date()}"
        if health.is_stuck:
            kept += f", and {health.detail}"
        is_stuck = health.is_stuck or _moment(since) > now + _DAY
        return health._replace(state=RingState.SOAKING, detail=kept, is_stuck=is_stuck)
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


def _since(facts: RingFacts, holding: Sequence[BaseCommit], commits: Sequence[BaseCommit], now: datetime) -> str:
    """Return when the soak began: at the merge, or with a later change of the files. Empty: unknown.

    A change that no pull request of ours explains began when a run first saw it, whatever date its commit has.
    """
    merged_at, memory = facts.merged_at, facts.memory
    changed_at = holding[-1].committed_at if holding else ""
    if len(holding) in (0, len(commits)):
        # The change is older than all of these commits. In a busy repository their oldest is never old enough.
        changed_at = facts.changed_at or ("" if merged_at else changed_at)
    first_seen = ""
    if memory is not None and memory.files == facts.files:
        first_seen = memory.since
    elif not _is_explained(facts):
        first_seen = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    if first_seen and changed_at and _moment(changed_at) > now:
        changed_at = ""  # A run saw the change before that date
    dates = (changed_at, merged_at, first_seen)
    return max(filter(None, dates), key=_moment, default="")


def _is_explained(facts: RingFacts) -> bool:
    """Whether a merge since the last record brought the files, or an earlier version kept no records."""
    memory = facts.memory
    if memory is None:
        return bool(facts.merged_at) or not facts.is_new
    is_since = bool(facts.merged_at) and _moment(facts.merged_at) >= _moment(memory.since)
    return is_since and memory.version != facts.version


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
