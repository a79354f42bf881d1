"""Wait until objects of a cluster are ready, and say how it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flux_upgrade.bootstrapping.diagnosis import lines_about
from flux_upgrade.bootstrapping.readiness import Awaited, State, Verdict, judge
from flux_upgrade.cluster_objects import Object, part
from flux_upgrade.errors import NotReady
from flux_upgrade.ports import Cluster, Timing
from flux_upgrade.values import NamedTuple

POLL = 2.0
"""Seconds between two looks where the cluster tells of no changes."""
_WATCH = 10.0
"""Seconds that one object is watched before the others are looked at again."""


class Run(NamedTuple):
    """What a run does its waiting with."""

    timing: Timing
    tell: Callable[[str], None]
    """Given each line of progress."""
    deadline: float
    """Epoch seconds."""

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 when it is over."""
        return max(0.0, self.deadline - self.timing.now())


class _Look(NamedTuple):
    awaited: Awaited
    obj: Object | None
    verdict: Verdict


class _Progress:
    """Says each object's state when it changes."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._said: dict[Awaited, str] = {}

    def say(self, awaited: Awaited, verdict: Verdict) -> None:
        """Ready ones are said once, others with what they wait for."""
        if self._said.get(awaited) != verdict.words:
            self._said[awaited] = verdict.words
            self._tell(f"{awaited.what} {verdict.words}")


def wait_for(cluster: Cluster, awaited: Sequence[Awaited], run: Run) -> None:
    """Until all are ready. Raises NotReady at the deadline, or at once where one cannot become ready."""
    progress = _Progress(run.tell)
    pending = tuple(awaited)
    while pending:
        looks = []
        for each in pending:
            obj = cluster.get(each.what)
            looks.append(_Look(each, obj, judge(each, obj)))
            progress.say(each, looks[-1].verdict)
        waiting = [look for look in looks if look.verdict.state is not State.READY]
        if any(look.verdict.state is State.FAILED for look in waiting) or (waiting and not run.left):
            raise _not_ready(cluster, waiting)
        pending = tuple(look.awaited for look in waiting)
        if waiting:
            _await_change(cluster, waiting[0], run, progress)


def _await_change(cluster: Cluster, look: _Look, run: Run, progress: _Progress) -> None:
    """Until the object is something else than waiting, or it is time to look at the others."""
    began, seconds = run.timing.now(), min(_WATCH, run.left)
    if look.obj is not None:
        since = str(part(look.obj, "metadata").get("resourceVersion", ""))
        for obj in cluster.changes(look.awaited.what, since, seconds):
            verdict = judge(look.awaited, obj)
            progress.say(look.awaited, verdict)
            if verdict.state is not State.WAITING:
                return
    # A watch that ends at once (410 Gone, or none is offered) must not become a busy loop.
    if run.timing.now() - began < min(POLL, seconds):
        run.timing.sleep(min(POLL, seconds))


def _not_ready(cluster: Cluster, waiting: Sequence[_Look]) -> NotReady:
    lines = [f"not ready in the cluster '{cluster.name}'"]
    for look in waiting:
        lines += [f"{look.awaited.what} {look.verdict.words}", *lines_about(cluster, look.awaited.what)]
    hint = "mend what the lines above name and run it again: it goes on from there"
    if any(look.verdict.state is State.FAILED for look in waiting):
        hint = "resume or mend what is named above (flux resume), and run it again"
    return NotReady("\n".join(lines), hint=hint)
