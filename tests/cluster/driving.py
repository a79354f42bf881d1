"""Bootstraps of a cluster, as the tests want them."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cluster_stand_in.api import Api, Object
from cluster_stand_in.controllers import Artifact, Controllers

from cluster import small_flux
from cluster.api_servers import Server
from flux_upgrade.adapters.kubernetes.connect import connect
from flux_upgrade.bootstrap.cluster.objects import Builder, manifests_of
from flux_upgrade.bootstrap.cluster.preflight import Desired
from flux_upgrade.bootstrap.cluster.wait import Run
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.kubernetes_objects import KubernetesApi
from flux_upgrade.model.timing import Timing

HASTE = 20.0
TIMING = Timing(time.time, lambda seconds: time.sleep(seconds / HASTE), random.random)
"""Waits are short here; a server is as fast as it is."""
PRIVATE = "private-part-77c1"
SECRET = Secret(
    "flux-system", "flux-system", {"identity": PRIVATE, "identity.pub": "ssh-ed25519 AAAA x", "known_hosts": "k"}
)
SECONDS = 20.0


@dataclass
class Driven:
    """A cluster with its controllers, and the progress that was reported of it."""

    server: Server
    revision: str = small_flux.REVISION
    progress: list[str] = field(default_factory=list)
    controllers: Controllers = field(init=False)

    def __post_init__(self) -> None:
        self.controllers = Controllers(self.server.api, self._look)

    def _look(self, source: Object, secret: Object | None) -> Artifact:
        del source, secret
        return Artifact(self.revision)

    @property
    def api(self) -> Api:
        return self.server.api

    @contextmanager
    def running(self) -> Iterator[Driven]:
        with self.controllers.running():
            yield self

    def connect(self) -> KubernetesApi:
        return connect(str(self.server.kubeconfig), "", TIMING)

    def run(self, seconds: float = SECONDS) -> Run:
        return Run(TIMING, self.progress.append, time.time() + seconds)

    def run_until(self, *words: str) -> Run:
        """One whose deadline is over once all of ``words`` have been reported."""

        def now() -> float:
            return time.time() + SECONDS * all(any(each in line for line in self.progress) for each in words)

        return self.run()._replace(timing=TIMING._replace(now=now))

    def object(self, path: str) -> Object | None:
        return self.api.ask("GET", path)

    def everything(self) -> dict[str, Any]:
        """What was applied, without what differs from run to run."""
        found = {}
        for path in KINDS:
            for each in self.api.items(path):
                metadata = each["metadata"]
                if metadata.get("namespace", "flux-system") == "flux-system" and "flux" in str(each):
                    content = {name: value for name, value in each.items() if name not in ("metadata", "status")}
                    found[f"{path} {metadata['name']}"] = (metadata.get("generation"), metadata.get("labels"), content)
        return found

    def empty(self) -> None:
        """No namespace controller runs here: it is emptied kind by kind.

        A CRD that is deleted right after it was made waits for minutes with its own finalizer.
        """
        for path in reversed(KINDS[1:]):
            for each in self.api.items(path):
                name, namespace = each["metadata"]["name"], each["metadata"].get("namespace")
                prefix, _, plural = path.rpartition("/")
                inside = f"{prefix}/namespaces/{namespace}/{plural}" if namespace else path
                if namespace in (None, "flux-system"):
                    self.api.ask("DELETE", f"{inside}/{name}")
        until = time.monotonic() + 60
        while left := self.api.items(KINDS[1]):
            assert time.monotonic() < until, [each["status"] for each in left]
            for each in left:
                self.api.ask("PATCH", f"{KINDS[1]}/{each['metadata']['name']}", {"metadata": {"finalizers": None}})


KINDS = (
    "api/v1/namespaces",
    "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "api/v1/serviceaccounts",
    "api/v1/secrets",
    "api/v1/pods",
    "api/v1/events",
    "apis/apps/v1/deployments",
    "apis/source.toolkit.fluxcd.io/v1/gitrepositories",
    "apis/source.toolkit.fluxcd.io/v1/ocirepositories",
    "apis/kustomize.toolkit.fluxcd.io/v1/kustomizations",
)


def desired(files: dict[str, bytes] | None = None, build: Builder | None = None, **more: Any) -> Desired:
    """A bootstrap with the small Flux; ``more``: other fields of it."""
    plain = Desired(
        "v2.9.4",
        "flux-system",
        *manifests_of(files or small_flux.files(), small_flux.FOLDER, "flux-system", build),
        {"flux-system": small_flux.REVISION},
        (SECRET,),
        "flux-system",
    )
    return plain._replace(**more)
