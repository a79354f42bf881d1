"""What Kubernetes and Flux do in a cluster, done by a client of its API: real or the stand-in's."""

from __future__ import annotations

import threading
import time
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from cluster_stand_in.api import Api, Object

_EVERY = 0.05
_SOURCES = "apis/source.toolkit.fluxcd.io/v1"
_KUSTOMIZATIONS = "apis/kustomize.toolkit.fluxcd.io/v1"


@dataclass(frozen=True)
class Artifact:
    """What a source came to."""

    revision: str
    folders: frozenset[str] | None = None
    """Those that it has, ``clusters/staging``; None: whichever is asked for."""


class Unreachable(Exception):
    """A source that cannot be read; the message is what Flux would say."""


Look = Callable[[Object, Object | None], Artifact]
"""A source object and its Secret → what it came to. Raises Unreachable."""


@dataclass
class Controllers:
    """Deployments become available; sources and Kustomizations become ready at what ``look`` finds."""

    api: Api
    look: Look
    broken: dict[str, str] = field(default_factory=dict)
    """Name of a Deployment → why its pods wait."""
    looks: list[str] = field(default_factory=list)
    """Names of the sources, each time that one is looked at."""
    interval: float = 3600.0
    """Seconds until a source is looked at again by itself."""
    _done: dict[str, tuple[float, object]] = field(default_factory=dict)
    """Uid of a source → when it was looked at, and at which generation and request."""
    _folders: dict[str, frozenset[str] | None] = field(default_factory=dict)
    """Name of a source → the folders of its artifact."""

    @contextmanager
    def running(self) -> Iterator[Controllers]:
        """Work in the background."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=[stop], daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(_EVERY):
            with suppress(urllib.error.URLError, OSError):  # the server ends first
                self.once()

    def once(self) -> None:
        """One round."""
        self.roll_out()
        # What does not start reconciles nothing.
        for plural in ("gitrepositories", "ocirepositories") if "source-controller" not in self.broken else ():
            for each in self.api.items(f"{_SOURCES}/{plural}"):
                self._source(plural, each)
        for each in self.api.items(f"{_KUSTOMIZATIONS}/kustomizations"):
            if "kustomize-controller" not in self.broken:
                self._kustomization(each)

    def roll_out(self) -> None:
        """Make each Deployment available."""
        for each in self.api.items("apis/apps/v1/deployments"):
            self._deployment(each)

    def _deployment(self, deployment: Object) -> None:
        metadata, replicas = deployment["metadata"], deployment["spec"].get("replicas", 1)
        why = self.broken.get(metadata["name"])
        available = 0 if why else replicas
        status = {
            "observedGeneration": metadata["generation"],
            "replicas": replicas,
            "updatedReplicas": replicas,
            "availableReplicas": available,
            "readyReplicas": available,
            "conditions": [
                _condition("Available", is_true=not why, reason="MinimumReplicas", message=""),
                # What the Flux CLI waits for.
                _condition("Progressing", is_true=not why, reason="NewReplicaSetAvailable", message=""),
            ],
        }
        if why:
            self._waiting_pod(deployment, why)
        self._report("apis/apps/v1", "deployments", deployment, status)

    def _waiting_pod(self, deployment: Object, why: str) -> None:
        """A pod of a Deployment that does not start, with its event."""
        name, namespace = f"{deployment['metadata']['name']}-x1", deployment["metadata"]["namespace"]
        labels = deployment["spec"]["selector"]["matchLabels"]
        container = {"name": "manager", "image": "broken"}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [container]},
        }
        if self.api.ask("POST", f"api/v1/namespaces/{namespace}/pods", pod) is None:
            return
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": why}}
        state = {
            "name": "manager",
            "image": "broken",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": waiting,
        }
        self.api.ask(
            "PATCH", f"api/v1/namespaces/{namespace}/pods/{name}/status", {"status": {"containerStatuses": [state]}}
        )
        self._event(namespace, "Pod", name, "Failed", why)

    def _event(self, namespace: str, kind: str, name: str, reason: str, message: str) -> None:
        about = {"kind": kind, "name": name, "namespace": namespace}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{reason}", "namespace": namespace},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "lastTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        self.api.ask("POST", f"api/v1/namespaces/{namespace}/events", event)

    def _source(self, plural: str, source: Object) -> None:
        """As source-controller: at a new generation, when it is asked to, at its interval, and when it failed."""
        metadata, spec = source["metadata"], source["spec"]
        asked = metadata.get("annotations", {}).get("reconcile.fluxcd.io/requestedAt")
        reason = (metadata["generation"], asked)
        at, before = self._done.get(metadata["uid"], (0.0, None))
        is_over = time.monotonic() - at > self.interval or source.get("status", {}).get("artifact") is None
        if spec.get("suspend") or (before == reason and not is_over):
            return
        secret, name = None, spec.get("secretRef", {}).get("name")
        if name:
            secret = self.api.ask("GET", f"api/v1/namespaces/{metadata['namespace']}/secrets/{name}")
        self.looks.append(metadata["name"])
        status: Object = {"observedGeneration": metadata["generation"]}
        try:
            artifact = self._looked(source, name, secret)
        except Unreachable as error:
            status["conditions"] = [_condition("Ready", is_true=False, reason="GitOperationFailed", message=str(error))]
            self._event(metadata["namespace"], source["kind"], metadata["name"], "GitOperationFailed", str(error))
        else:
            self._done[metadata["uid"]] = (time.monotonic(), reason)
            status["conditions"] = [_condition("Ready", is_true=True, reason="Succeeded", message="stored artifact")]
            status["artifact"] = {
                "revision": artifact.revision,
                "digest": f"sha256:{'0' * 64}",
                "path": "x",
                "url": "http://x/x",
                "lastUpdateTime": "2026-01-01T00:00:00Z",
            }
            self._folders[metadata["name"]] = artifact.folders
        self._report(_SOURCES, plural, source, status)

    def _looked(self, source: Object, name: str | None, secret: Object | None) -> Artifact:
        if name and secret is None:
            raise Unreachable(f'secrets "{name}" not found')
        return self.look(source, secret)

    def _kustomization(self, kustomization: Object) -> None:
        metadata, spec = kustomization["metadata"], kustomization["spec"]
        if spec.get("suspend"):
            return
        plural = {"GitRepository": "gitrepositories", "OCIRepository": "ocirepositories"}[spec["sourceRef"]["kind"]]
        source = self.api.ask(
            "GET", f"{_SOURCES}/namespaces/{metadata['namespace']}/{plural}/{spec['sourceRef']['name']}"
        )
        revision = (source or {}).get("status", {}).get("artifact", {}).get("revision")
        status: Object = {"observedGeneration": metadata["generation"]}
        path, folders = (
            spec.get("path", "").removeprefix("./").strip("/"),
            self._folders.get(spec["sourceRef"]["name"]),
        )
        if not revision:
            message = "Source artifact not found, retrying in 30s"
            status["conditions"] = [_condition("Ready", is_true=False, reason="ArtifactFailed", message=message)]
        elif path and folders is not None and path not in folders:
            message = f"kustomization path not found: stat /tmp/{path}: no such file or directory"
            status["conditions"] = [_condition("Ready", is_true=False, reason="ArtifactFailed", message=message)]
        else:
            status["conditions"] = [
                _condition(
                    "Ready", is_true=True, reason="ReconciliationSucceeded", message=f"Applied revision: {revision}"
                )
            ]
            status |= {"lastAppliedRevision": revision, "lastAttemptedRevision": revision}
        self._report(_KUSTOMIZATIONS, "kustomizations", kustomization, status)

    def _report(self, api: str, plural: str, obj: Object, status: Object) -> None:
        """Write a status, if it is news."""
        there = obj.get("status", {})
        if all(_plain(there.get(name)) == _plain(value) for name, value in status.items()):
            return
        metadata = obj["metadata"]
        self.api.ask(
            "PATCH", f"{api}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}/status", {"status": status}
        )


def _plain(value: object) -> object:
    """Conditions without their times."""
    if isinstance(value, list):
        return [{k: v for k, v in each.items() if not k.startswith("last")} for each in value]
    return value


def _condition(name: str, *, is_true: bool, reason: str, message: str) -> Object:
    status = "True" if is_true else "False"
    return {
        "type": name,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
