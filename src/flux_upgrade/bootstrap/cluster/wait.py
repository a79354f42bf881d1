"""Wait until objects of a cluster are ready, say how it goes on, and why one is not ready."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum

from flux_upgrade.model.errors import ClusterUnavailable, NotReady
from flux_upgrade.model.kubernetes_objects import (
    CRD,
    DEPLOYMENT,
    EVENT,
    KUSTOMIZATION,
    POD,
    KubernetesApi,
    Object,
    ObjectReference,
    part,
    parts,
)
from flux_upgrade.model.text import printable
from flux_upgrade.model.timing import Timing
from flux_upgrade.model.values import NamedTuple

_LONGEST = 300
_EVENTS = 3
_PODS = 3
_USER = re.compile(r"(?<=://)[^/@\s]+@")
POLL = 2.0  # Seconds between two looks where the cluster tells of no changes
_WATCH = 10.0  # Seconds that one object is watched before the others are looked at again


class ReadinessState(StrEnum):
    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"  # It will not become ready, however long one waits


class Awaited(NamedTuple):
    what: ObjectReference
    revision: str = ""  # What it has to be ready at, `main@sha1:…` or `v2.9.4@sha256:…`; empty: whatever it is at


class Readiness(NamedTuple):
    state: ReadinessState
    words: str


_READY = Readiness(ReadinessState.READY, "is ready")


def _waiting(words: str) -> Readiness:
    return Readiness(ReadinessState.WAITING, words)


def judge(awaited: Awaited, obj: Object | None) -> Readiness:
    """How it stands with ``awaited``, which the cluster has as ``obj``; None: it does not have it."""
    if obj is None:
        return _waiting("does not exist yet")
    if awaited.what.kind == CRD:
        return _READY if is_true(obj, "Established") else _waiting("is not established")
    if part(obj, "spec").get("suspend") is True:
        return Readiness(ReadinessState.FAILED, "is suspended")
    status = part(obj, "status")
    if status.get("observedGeneration") != part(obj, "metadata").get("generation"):
        return _waiting("is not reconciled yet")
    if awaited.what.kind == DEPLOYMENT:
        return _rolled_out(obj, status)
    return _reconciled(awaited, obj, status)


def is_true(obj: Object, condition: str) -> bool:
    return _condition(obj, condition).get("status") == "True"


def _condition(obj: Object, name: str) -> Object:
    found = (each for each in parts(part(obj, "status"), "conditions") if each.get("type") == name)
    return next(found, {})


def _reconciled(awaited: Awaited, obj: Object, status: Object) -> Readiness:
    if is_true(obj, "Stalled"):
        message = plain(_condition(obj, "Stalled").get("message"))
        return Readiness(ReadinessState.FAILED, f"is stalled: {message}")
    if not is_true(obj, "Ready"):
        message = plain(_condition(obj, "Ready").get("message"))
        return _waiting(f"is not ready: {message}" if message else "is not ready")
    others = [each for each in revisions(awaited.what, status) if each != awaited.revision]
    if awaited.revision and others:
        return _waiting(f"is at {plain(others[0]) or 'no revision'}, not at {awaited.revision}")
    return _READY


def _rolled_out(obj: Object, status: Object) -> Readiness:
    stated = part(obj, "spec").get("replicas")
    wanted = stated if isinstance(stated, int) else 1
    counts = (status.get(name) for name in ("replicas", "updatedReplicas", "availableReplicas"))
    total, updated, available = (count if isinstance(count, int) else 0 for count in counts)
    if updated < wanted:
        return _waiting(f"{updated} of {wanted} replicas are updated")
    if total > updated:
        return _waiting(f"{total - updated} old replicas are still running")
    if available < updated:
        return _waiting(f"{available} of {wanted} replicas are available")
    return _READY


def revisions(what: ObjectReference, status: Object) -> tuple[str, ...]:
    """The revisions that an object's status states; all have to be the wanted one."""
    if what.kind == KUSTOMIZATION:
        return tuple(str(status.get(name) or "") for name in ("lastAttemptedRevision", "lastAppliedRevision"))
    return (str(part(status, "artifact").get("revision") or ""),)


class Run(NamedTuple):
    timing: Timing
    tell: Callable[[str], None]
    deadline: float  # Epoch seconds

    @property
    def left(self) -> float:
        return max(0.0, self.deadline - self.timing.now())


class _Progress:
    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._said: dict[Awaited, str] = {}

    def judge(self, awaited: Awaited, obj: Object | None) -> Readiness:
        readiness = judge(awaited, obj)
        if self._said.get(awaited) != readiness.words:
            self._said[awaited] = readiness.words
            self._tell(f"{awaited.what} {readiness.words}")
        return readiness


def wait_for(cluster: KubernetesApi, awaited: Sequence[Awaited], run: Run) -> None:
    """Until all are ready. Raises NotReady at the deadline, or at once where one cannot become ready."""
    progress = _Progress(run.tell)
    pending = tuple(awaited)
    while pending:
        objects: dict[Awaited, Object | None] = {}
        waiting: dict[Awaited, Readiness] = {}
        for each in pending:
            objects[each] = cluster.get(each.what)
            readiness = progress.judge(each, objects[each])
            if readiness.state is not ReadinessState.READY:
                waiting[each] = readiness
        has_failed = any(each.state is ReadinessState.FAILED for each in waiting.values())
        if has_failed or (waiting and not run.left):
            lines = [f"not ready in the cluster '{cluster.name}'"]
            for each, readiness in waiting.items():
                lines += [f"{each.what} {readiness.words}", *_lines_about(cluster, each.what)]
            hint = "fix what is listed above, then run the bootstrap again; it continues from there"
            if has_failed:
                hint = "fix what is listed above (if it is suspended: `flux resume`), then run the bootstrap again"
            raise NotReady("\n".join(lines), hint=hint)
        pending = tuple(waiting)
        if pending:
            _await_change(cluster, pending[0], objects[pending[0]], run, progress)


def _await_change(cluster: KubernetesApi, awaited: Awaited, obj: Object | None, run: Run, progress: _Progress) -> None:
    """Until the object is something else than waiting, or it is time to look at the others."""
    began, seconds = run.timing.now(), min(_WATCH, run.left)
    if obj is not None:
        since = str(part(obj, "metadata").get("resourceVersion", ""))
        for changed in cluster.changes(awaited.what, since, seconds):
            if progress.judge(awaited, changed).state is not ReadinessState.WAITING:
                return
    # A watch that ends at once (410 Gone, or none is offered) must not become a busy loop.
    if run.timing.now() - began < min(POLL, seconds):
        run.timing.sleep(min(POLL, seconds))


def plain(text: object, limit: int = _LONGEST) -> str:
    """A message of a condition or an event; empty where there is none."""
    if not isinstance(text, str):
        return ""
    shown = printable(_USER.sub("", " ".join(text.split())))
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def _lines_about(cluster: KubernetesApi, what: ObjectReference) -> tuple[str, ...]:
    """Indented lines; what the cluster does not tell any more is left out."""
    with suppress(ClusterUnavailable):
        obj = cluster.get(what) or {}
        pods = _pods(cluster, what, obj)
        names = {what.name} | {str(part(pod, "metadata").get("name")) for pod in pods}
        events = []
        for event in cluster.list(EVENT, what.namespace):
            about = part(event, "involvedObject")
            if about.get("kind") in (what.kind.name, POD.name) and about.get("name") in names:
                events.append(event)
        last = [
            f"  event {plain(event.get('reason'))}: {plain(event.get('message'))}"
            for event in sorted(events, key=_when)[-_EVENTS:]
        ]
        return (*_conditions(obj), *_waits(pods), *last)
    return ()


def _conditions(obj: Object) -> Iterator[str]:
    for each in parts(part(obj, "status"), "conditions"):
        because = ": ".join(filter(None, (plain(each.get("reason")), plain(each.get("message")))))
        yield f"  {plain(each.get('type'))}={plain(each.get('status'))} {because}".rstrip()


def _pods(cluster: KubernetesApi, what: ObjectReference, obj: Object) -> tuple[Object, ...]:
    if what.kind != DEPLOYMENT:
        return ()
    wanted = part(obj, "spec", "selector", "matchLabels").items()
    every = cluster.list(POD, what.namespace)
    return tuple(pod for pod in every if wanted and wanted <= part(pod, "metadata", "labels").items())[:_PODS]


def _waits(pods: Sequence[Object]) -> Iterator[str]:
    for pod in pods:
        name, status = plain(part(pod, "metadata").get("name")), part(pod, "status")
        for condition in parts(status, "conditions"):
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                yield f"  pod {name} is not scheduled: {plain(condition.get('message'))}"
        for container in (*parts(status, "initContainerStatuses"), *parts(status, "containerStatuses")):
            waiting = part(container, "state", "waiting")
            if waiting:
                message = plain(waiting.get("message"))
                because = f"{plain(waiting.get('reason'))}: {message}".rstrip(": ")
                yield f"  pod {name}, container {plain(container.get('name'))}, waits: {because}"


def _when(event: Object) -> str:
    """RFC 3339, so that text is in the order of time."""
    stated = (event.get(name) for name in ("lastTimestamp", "eventTime", "firstTimestamp"))
    created = part(event, "metadata").get("creationTimestamp")
    return str(next(filter(None, stated), created))
