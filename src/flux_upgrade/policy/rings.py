"""Rings: a group proposes a release once the groups before it have merged it, kept it, and are healthy with it.

Flux itself says whether they are healthy: its notification-controller posts a commit status for each Kustomization
on the commits that it reconciled (https://fluxcd.io/flux/components/notification/providers/#git-commit-status-updates).
Anyone with write access can post one: it counts only with the configured context and creator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from flux_upgrade.model import patterns
from flux_upgrade.model.forge import BaseCommit, CommitStatus
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.policy.decision import HealthStatus

_AT_ONCE = timedelta(minutes=1)  # Between a merge and its commit, by the clocks of different machines


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
    is_changed: bool = False  # Whether its files were changed after our pull request with this release was merged

    @property
    def passed(self) -> Version:
        return self.version if self.state is RingState.PASSED else NO_VERSION


class RingFacts(NamedTuple):
    """What is known of a group before."""

    name: str
    versions: tuple[str, ...]  # Of each of its clusters; empty where one is unknown
    paths: tuple[str, ...] = ()  # Of the files that say so
    merged_at: str = ""  # RFC 3339: when our pull request with this release was merged; empty: by other means
    healthy: HealthStatus | None = None


def report_of(facts: RingFacts, commits: Sequence[BaseCommit], soak: timedelta | None, now: datetime) -> RingReport:
    """How far a group is. ``commits``: of the base, newest first.

    ``soak``: of the group that comes after it; None where only the release is known, and counts.
    """
    versions = {Version.parse(each) for each in facts.versions}
    if len(versions) != 1 or None in versions:
        listed = ", ".join(sorted(set(filter(None, facts.versions)))) or "no known version"
        return RingReport(facts.name, RingState.MIXED, detail=f"{facts.name} runs {listed}")
    version = Version(facts.versions[0])
    if soak is None:
        return RingReport(facts.name, RingState.PASSED, version)
    holding = _holding(commits, facts.paths)
    since = _since(facts.merged_at, holding, commits)
    health = _health(facts.healthy, holding, facts.name)._replace(version=version)
    if health.state is RingState.FAILING:
        is_changed = bool(facts.merged_at) and _moment(since) > _moment(facts.merged_at) + _AT_ONCE
        return health._replace(is_changed=is_changed)
    until = _moment(since) + soak if since else None
    if until is None:
        return RingReport(facts.name, RingState.UNKNOWN, version, f"{facts.name} has no known date of {version}")
    if now < until:
        kept = f"{facts.name} has run {version} since {since[:10]}, and the soak ends on {until.date()}"
        return RingReport(facts.name, RingState.SOAKING, version, kept)
    return health


def waiting_for(reports: Iterable[RingReport], target: Version) -> tuple[str, ...]:
    """Why a release waits, a clause for each group before; none: it does not."""
    return tuple(_why(each, target) for each in reports if each.passed != target)


def passed_by_all(reports: Sequence[RingReport]) -> Version:
    """The release that all of the groups have passed; empty: there is none."""
    found = {each.passed for each in reports}
    return found.pop() if len(found) == 1 else NO_VERSION


def _why(report: RingReport, target: Version) -> str:
    if report.version and report.version != target:
        beyond = ", which is newer" if report.version > target else ""
        return f"{report.name} runs {report.version}{beyond}"
    return report.detail


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


def _health(source: HealthStatus | None, holding: Iterable[BaseCommit], name: str) -> RingReport:
    """The state, and why, of any release. The newest commit that has a context decides about it."""
    if source is None:
        return RingReport(name, RingState.PASSED)
    newest: dict[str, tuple[str, CommitStatus]] = {}
    for commit in holding:
        for context, status in commit.statuses.items():
            newest.setdefault(context, (commit.oid, status))
    unknown = []
    for wanted in source.contexts:
        found = [context for context in newest if fits(wanted, context)]
        for context in found:
            oid, status = newest[context]
            is_trusted = status.creator.lower() == source.creator.lower()
            if is_trusted and status.state in ("failure", "error"):
                detail = f"Flux reports a failure in {name} ({context})"
                return RingReport(name, RingState.FAILING, detail=detail, failed=oid, context=context)
            if not is_trusted:
                unknown.append(f"{context} was posted by {status.creator or 'an unknown user'}")
            elif status.state != "success":
                unknown.append(f"{context} is {status.state}")
        unknown += [] if found else [f"Flux has not posted {wanted}"]
    if unknown:
        return RingReport(name, RingState.UNKNOWN, detail=f"{name} is not known to be healthy: {unknown[0]}")
    return RingReport(name, RingState.PASSED)


def fits(pattern: str, text: str) -> bool:
    """Whether ``text`` is ``pattern``, in which ``*`` matches any text. Linear in both."""
    return patterns.fits(f"(?s){'.*'.join(map(re.escape, pattern.split('*')))}", text)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
