"""The end of a journey: the real controllers of the newest release run in the cluster that the robot has upgraded."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from git_servers import READ
from real_flux import controllers
from real_flux.control_plane import ControlPlane, Object
from real_flux.controllers import ALL, Running
from real_flux.journey_server import manifest, objects_path
from robot.releases import Flux

_PATIENCE = 120.0
_SILENT = ("Alert", "Provider")  # No controller reports on these
_REFUSED = re.compile(
    r"no matches for kind [^,]*\.toolkit\.fluxcd\.io|request to convert CR to an invalid group|field not declared in schema"
)
_SECRETS = {"flux-system": {"username": "bot", "password": READ}, "webhook": {"token": "x"}, "chat": {"address": "x"}}


@dataclass(frozen=True)
class Arrival:
    plane: ControlPlane
    flux: Flux
    head: str  # Commit that the cluster follows
    kustomizations: Sequence[str]  # Names of the ones that apply the repository

    def check(self, folder: Path) -> None:
        """Run the controllers until they are ready, have applied the repository, and report on every object."""
        for name, values in _SECRETS.items():
            metadata = {"name": name, "namespace": "flux-system"}
            self._apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values})
        for written in manifest(self.flux):
            self._apply(written)
        deployed = {written["metadata"]["name"] for written in manifest(self.flux) if written["kind"] == "Deployment"}
        with controllers.running(self.plane, folder, names=[name for name in ALL if name in deployed]) as running:
            until = time.monotonic() + _PATIENCE
            while problems := [*self._problems(running)]:
                assert time.monotonic() < until, "\n".join(problems)
                time.sleep(0.2)
            assert not running.restarts
        logs = "".join(log.read_text() for log in folder.glob("*.log"))
        assert not _REFUSED.findall(logs)

    def _apply(self, written: Object) -> None:
        answer = self.plane.apply(written)
        assert answer.is_taken, answer

    def _problems(self, running: Running) -> Iterator[str]:
        yield from (f"{name} is not ready" for name in running.unready)
        for crd in manifest(self.flux):
            if crd["kind"] == "CustomResourceDefinition":
                for item in self.plane.get(objects_path(crd))["items"]:
                    yield from self._problem(crd["spec"]["names"]["kind"], item)

    def _problem(self, kind: str, item: Object) -> Iterator[str]:
        name, status = item["metadata"]["name"], item.get("status", {})
        ready = [each for each in status.get("conditions", []) if each["type"] == "Ready"]
        if not ready and kind not in _SILENT:
            yield f"no controller reports on {kind} {name}"
        if (kind, name) == ("GitRepository", "flux-system"):
            revision = status.get("artifact", {}).get("revision")
        elif kind == "Kustomization" and name in self.kustomizations:
            revision = status.get("lastAppliedRevision")
        else:
            return
        if [each["status"] for each in ready] != ["True"] or revision != f"main@sha1:{self.head}":
            yield f"{kind} {name} at {revision}: {ready}"
