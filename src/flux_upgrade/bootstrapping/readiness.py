"""Whether an object is ready, told from its status. Pure.

Sources: kubernetes/kubectl ``pkg/polymorphichelpers/rollout_status.go``; fluxcd/pkg ``apis/meta`` (the
conditions Ready and Stalled); fluxcd/flux2 ``pkg/bootstrap/bootstrap.go`` (suspended objects, and where
each kind keeps its revision). Unlike there, Ready=False is waited on: Flux tries again, and a source
that is not reachable in the first seconds is common.
"""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.bootstrapping.told import plain
from flux_upgrade.cluster_objects import CRD, DEPLOYMENT, KUSTOMIZATION, Object, Reference, part, parts
from flux_upgrade.values import NamedTuple


class State(StrEnum):
    """What is to be done about an object."""

    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"
    """It will not become ready, however long one waits."""


class Awaited(NamedTuple):
    """An object that has to become ready."""

    what: Reference
    revision: str = ""
    """What it has to be ready at, ``main@sha1:…`` or ``v2.9.4@sha256:…``; empty: whatever it is at."""


class Verdict(NamedTuple):
    """How it stands with an object."""

    state: State
    words: str
    """``1 of 2 replicas are available``."""


_READY = Verdict(State.READY, "is ready")


def _waiting(words: str) -> Verdict:
    return Verdict(State.WAITING, words)


def judge(awaited: Awaited, obj: Object | None) -> Verdict:
    """How it stands with ``awaited``, which the cluster has as ``obj``; None: it does not have it."""
    if obj is None:
        return _waiting("is not there")
    if awaited.what.kind == CRD:
        return _READY if is_true(obj, "Established") else _waiting("is not established")
    if part(obj, "spec").get("suspend") is True:
        return Verdict(State.FAILED, "is suspended")
    status = part(obj, "status")
    if status.get("observedGeneration") != part(obj, "metadata").get("generation"):
        return _waiting("has not been looked at")
    if awaited.what.kind == DEPLOYMENT:
        return _rolled_out(obj, status)
    return _reconciled(awaited, obj, status)


def is_true(obj: Object, condition: str) -> bool:
    """Whether a condition of an object is stated to be true."""
    return _condition(obj, condition).get("status") == "True"


def _condition(obj: Object, name: str) -> Object:
    found = (each for each in parts(part(obj, "status"), "conditions") if each.get("type") == name)
    return next(found, {})


def _rolled_out(obj: Object, status: Object) -> Verdict:
    wanted, total, updated, available = (
        _count(of, name, default)
        for of, name, default in (
            (part(obj, "spec"), "replicas", 1),
            (status, "replicas", 0),
            (status, "updatedReplicas", 0),
            (status, "availableReplicas", 0),
        )
    )
    if updated < wanted:
        return _waiting(f"{updated} of {wanted} replicas are updated")
    if total > updated:
        return _waiting(f"{total - updated} old replicas are still there")
    if available < updated:
        return _waiting(f"{available} of {wanted} replicas are available")
    return _READY


def _count(of: Object, name: str, default: int) -> int:
    value = of.get(name)
    return value if isinstance(value, int) else default


def _reconciled(awaited: Awaited, obj: Object, status: Object) -> Verdict:
    if is_true(obj, "Stalled"):
        return Verdict(State.FAILED, f"has given up: {plain(_condition(obj, 'Stalled').get('message'))}")
    if not is_true(obj, "Ready"):
        message = plain(_condition(obj, "Ready").get("message"))
        return _waiting(f"is not ready: {message}" if message else "is not ready")
    for revision in revisions(awaited.what, status):
        if awaited.revision and revision != awaited.revision:
            return _waiting(f"is at {plain(revision) or 'no revision'}, not at {awaited.revision}")
    return _READY


def revisions(what: Reference, status: Object) -> tuple[str, ...]:
    """The revisions that an object's status states; all have to be the wanted one."""
    if what.kind == KUSTOMIZATION:
        return tuple(str(status.get(name) or "") for name in ("lastAttemptedRevision", "lastAppliedRevision"))
    return (str(part(status, "artifact").get("revision") or ""),)
