"""The health of a group, by the commit statuses that Flux posts for it.

Flux's notification-controller posts a commit status for each Kustomization on the commits that it reconciled
(https://fluxcd.io/flux/components/notification/providers/#git-commit-status-updates).
Anyone with write access can post one: it counts only with the configured context and creator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from flux_upgrade.model import patterns
from flux_upgrade.model.forge import BaseCommit, CommitStatus
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import HealthStatus
from flux_upgrade.policy.ring_facts import RingFacts, RingReport, RingState

_SHORT = 7  # Characters of an oid that a user sees
_PATIENCE = timedelta(days=1)
"""Time for a report that is late."""


class History(NamedTuple):
    """The commits of the base, newest first, that a run reads."""

    commits: Sequence[BaseCommit]
    held: int  # Number of commits with the release
    since: str  # RFC 3339: when the group got the release; empty: unknown
    now: datetime

    @property
    def with_release(self) -> Sequence[BaseCommit]:
        return self.commits[: self.held]


def health_of(facts: RingFacts, history: History) -> RingReport:
    """Return the state of a group, of any release, and the reason.

    The newest commit that has a context decides about it.
    """
    source, name = facts.healthy, facts.name
    if source is None:
        return RingReport(name, RingState.PASSED)
    doubts: list[_Doubt] = []
    for wanted in source.contexts:
        contexts = [*_contexts(facts, history, wanted, source.creator)]
        if not contexts:
            doubts.append(_Doubt(f"Flux has not posted {wanted}", history.since))
        for context in contexts:
            index, status = _newest(history.with_release, context)
            if status is not None and _is_by(status, source) and status.state in ("failure", "error"):
                detail = f"Flux reports a failure in {name} ({context})"
                failing = RingReport(name, RingState.FAILING, detail=detail, failed=history.commits[index].oid)
                since = _unconfirmed_since(history, context, source)
                has_lasted = bool(since) and history.now > _moment(since) + facts.reported_after
                failing = failing._replace(context=context, has_lasted=has_lasted)
                return failing._replace(succeeded=_succeeded(history.with_release[index + 1 :], context, source))
            doubts += _doubts(facts, history, context)
    if not doubts:
        return RingReport(name, RingState.PASSED)
    patience = facts.reported_after + _PATIENCE
    is_stuck = any(doubt.since and history.now > _moment(doubt.since) + patience for doubt in doubts)
    detail = f"{name} is not known to be healthy: {doubts[0].text}"
    if facts.lacks_successes:
        detail += ", and the feature gate DisableCommitStatusEvent keeps kustomize-controller from posting successes"
        is_stuck = True
    return RingReport(name, RingState.UNKNOWN, detail=detail, is_stuck=is_stuck)


class _Doubt(NamedTuple):
    """A reason not to know whether a group is healthy."""

    text: str
    since: str  # RFC 3339: the date of the commit on which Flux should have reported; empty: unknown


def recorded_contexts(facts: RingFacts, history: History) -> tuple[str, ...]:
    """Return the contexts to be reported again once no commit that a run reads has them.

    Those that the configuration names are not among them.
    """
    source = facts.healthy
    if source is None:
        return ()
    patterned = [each for each in source.contexts if "*" in each]
    known = history._replace(held=0)  # Leave out contexts that others posted
    found = (context for each in patterned for context in _contexts(facts, known, each, source.creator))
    return tuple(sorted({*found}))


def _contexts(facts: RingFacts, history: History, wanted: str, creator: str) -> Iterator[str]:
    """Yield the contexts that match, those of earlier commits included: they have to be reported again."""
    seen = dict.fromkeys(facts.memory.contexts) if facts.memory is not None else {}
    for index, commit in enumerate(history.commits):
        for context, status in commit.statuses.items():
            if index < history.held or status.creator.lower() == creator.lower():
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


def _doubts(facts: RingFacts, history: History, context: str) -> Iterator[_Doubt]:
    """Yield the reason not to know what a context says of the release."""
    source, commits, now = facts.healthy, history.commits, history.now
    index, status = _newest(history.with_release, context)
    if status is None:
        last, _ = _newest(commits, context)
        is_seen = last < len(commits)
        place = f"since {commits[last].oid[:_SHORT]}" if is_seen else f"on the last {len(commits)} commits"
        yield _Doubt(f"Flux has not posted {context} {place}", history.since)
    elif source is not None and not _is_by(status, source):
        who = status.creator or "an unknown user"
        yield _Doubt(f"{context} was posted by {who}", _unconfirmed_since(history, context, source))
    elif source is not None and status.state != "success":
        yield _Doubt(f"{context} is {status.state}", _unconfirmed_since(history, context, source))
    else:
        due = [date for date in _dates(commits[: index + 1], now)[:index] if date + facts.reported_after < now]
        is_sparse = bool(facts.syncs) and all(sync.is_oci for sync in facts.syncs) and index < history.held - 1
        if due and not is_sparse:
            why = f"Flux has reported nothing on {context} since {commits[index].oid[:_SHORT]}"
            yield _Doubt(why, due[-1].isoformat())


def _unconfirmed_since(history: History, context: str, source: HealthStatus) -> str:
    """Return the date of the commit after the last one on which Flux reported success, RFC 3339; empty: unknown."""
    since = ""
    for commit in history.with_release:
        if _succeeded([commit], context, source):
            return since
        since = commit.committed_at
    return history.since


def _dates(commits: Sequence[BaseCommit], now: datetime) -> list[datetime]:
    """Return since when the base has had some commits by their dates, newest first.

    A commit cannot be there before its parent. One in the future counts as that of the commit before.
    """
    dates: list[datetime] = []
    for commit in reversed(commits):
        date = _moment(commit.committed_at)
        before = dates[-1:]
        dates.append(max([date, *before]) if date <= now else next(iter(before), now))
    return dates[::-1]


def fits(pattern: str, text: str) -> bool:
    """Whether ``text`` is ``pattern``, in which ``*`` matches any text. Linear in both."""
    return patterns.fits(f"(?s){'.*'.join(map(re.escape, pattern.split('*')))}", text)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
