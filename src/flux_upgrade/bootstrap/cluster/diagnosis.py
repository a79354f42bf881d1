"""Why something in a cluster is not ready: conditions, the last events, and what its pods wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from flux_upgrade.model.errors import ClusterUnavailable
from flux_upgrade.model.kubernetes_objects import (
    DEPLOYMENT,
    EVENT,
    POD,
    KubernetesApi,
    Object,
    ObjectReference,
    part,
    parts,
)
from flux_upgrade.model.text import printable

_LONGEST = 300
_USER = re.compile(r"(?<=://)[^/@\s]+@")


def plain(text: object, limit: int = _LONGEST) -> str:
    """A message of a condition or an event; empty where there is none."""
    if not isinstance(text, str):
        return ""
    shown = printable(_USER.sub("", " ".join(text.split())))
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


_EVENTS = 3
_PODS = 3


def lines_about(cluster: KubernetesApi, what: ObjectReference) -> tuple[str, ...]:
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
        return (*_conditions(obj), *_waits(pods), *_last(events))
    return ()


def _conditions(obj: Object) -> Iterator[str]:
    for each in parts(part(obj, "status"), "conditions"):
        because = ": ".join(filter(None, (plain(each.get("reason")), plain(each.get("message")))))
        yield f"  {plain(each.get('type'))}={plain(each.get('status'))} {because}".rstrip()


def _pods(cluster: KubernetesApi, what: ObjectReference, obj: Object) -> tuple[Object, ...]:
    """A Deployment's pods, by its selector."""
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


def _last(events: Sequence[Object]) -> Iterator[str]:
    for event in sorted(events, key=_when)[-_EVENTS:]:
        yield f"  event {plain(event.get('reason'))}: {plain(event.get('message'))}"


def _when(event: Object) -> str:
    """RFC 3339, so that text is in the order of time."""
    stated = (event.get(name) for name in ("lastTimestamp", "eventTime", "firstTimestamp"))
    created = part(event, "metadata").get("creationTimestamp")
    return str(next(filter(None, stated), created))
