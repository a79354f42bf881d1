"""A real API server, and what Flux and people do with it: apply as kustomize-controller does, run the Flux CLI."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from cluster.api_servers import Server
from real_flux.programs import program

Object = dict[str, Any]
FLUX = "kustomize-controller"
"""The field manager of kustomize-controller's server-side apply."""
_ESTABLISHED = 30.0


@dataclass(frozen=True)
class Answer:
    status: int
    message: str = ""

    @property
    def is_taken(self) -> bool:
        return self.status < 300


@dataclass
class ControlPlane:
    """Requests to a server, over one connection."""

    server: Server

    def __post_init__(self) -> None:
        self._plurals: dict[tuple[str, str], str] = {}
        host = self.server.api.url.removeprefix("https://")
        self._connection = http.client.HTTPSConnection(host, timeout=60, context=self.server.api._context)  # noqa: SLF001  (the tests' own)

    def close(self) -> None:
        self._connection.close()

    def apply(self, each: Object, manager: str = FLUX) -> Answer:
        """Server-side apply, by force, as kustomize-controller applies."""
        query = urlencode({"fieldManager": manager, "force": "true"})
        name = each["metadata"]["name"]
        return self._ask("PATCH", f"{self._address(each)}/{name}?{query}", each, "application/apply-patch+yaml")

    def rehearse(self, obj: Object, manager: str = FLUX) -> Answer:
        """Return the answer to ``apply``, which changes nothing: kustomize-controller asks so first."""
        query = urlencode({"fieldManager": manager, "force": "true", "dryRun": "All"})
        path = f"{self._address(obj)}/{obj['metadata']['name']}?{query}"
        return self._ask("PATCH", path, obj, "application/apply-patch+yaml")

    def store_in(self, path: str, versions: Sequence[str]) -> Object:
        """Write the stored versions of a CRD, and return it."""
        status = {"status": {"storedVersions": list(versions)}}
        answer = self._ask("PATCH", f"{path}/status", status, "application/merge-patch+json")
        assert answer.is_taken, answer
        changed: Object = json.loads(answer.message)
        return changed

    def remove(self, path: str) -> None:
        """Delete an object and its finalizers, and wait until it is gone."""
        assert self._ask("DELETE", path).is_taken
        self._ask("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        until = time.monotonic() + _ESTABLISHED
        while self._ask("GET", path).status != 404:
            assert time.monotonic() < until, path
            time.sleep(0.05)

    def create(self, each: Object, manager: str = "kubectl-create") -> Answer:
        return self._ask("POST", f"{self._address(each)}?{urlencode({'fieldManager': manager})}", each)

    def update(self, each: Object, manager: str) -> Answer:
        """Read in the version that ``each`` has, and written back: as Helm and Terraform's provider do."""
        path = f"{self._address(each)}/{each['metadata']['name']}"
        found = self.get(path)
        labels = {**found["metadata"].get("labels", {}), "written-by": manager}
        changed = {**found, "metadata": {**found["metadata"], "labels": labels}}
        return self._ask("PUT", f"{path}?{urlencode({'fieldManager': manager})}", changed)

    def annotate(self, path: str, annotations: Mapping[str, str]) -> None:
        changed = {"metadata": {"annotations": dict(annotations)}}
        assert self._ask("PATCH", path, changed, "application/merge-patch+json").is_taken

    def get(self, path: str) -> Object:
        answer = self._ask("GET", path)
        assert answer.is_taken, answer
        found: Object = json.loads(answer.message)
        return found

    def managers(self, each: Object) -> list[tuple[str, str]]:
        """Manager and version of each entry of its ``metadata.managedFields``."""
        found = self.get(f"{self._address(each)}/{each['metadata']['name']}")
        return [(entry["manager"], entry["apiVersion"]) for entry in found["metadata"]["managedFields"]]

    def install(self, objects: Iterable[Object]) -> Mapping[str, Answer]:
        """Namespaces, then CRDs, established: by their names, what the server said of those that it refused."""
        found = list(objects)
        refused = {}
        for kind in ("Namespace", "CustomResourceDefinition"):
            for each in (each for each in found if each["kind"] == kind):
                answer = self.apply(each)
                if not answer.is_taken:
                    refused[each["metadata"]["name"]] = answer
        for each in (each for each in found if each["kind"] == "CustomResourceDefinition"):
            if each["metadata"]["name"] not in refused:
                self._establish(each)
        return refused

    def _establish(self, crd: Object) -> None:
        """Each of its versions answers; a server goes on for a moment to serve those of before."""
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        until = time.monotonic() + _ESTABLISHED
        for version in crd["spec"]["versions"]:
            wanted = (200,) if version["served"] else (404,)
            path = f"apis/{group}/{version['name']}/namespaces/flux-system/{plural}?limit=1"
            while self._ask("GET", path).status not in wanted:
                assert time.monotonic() < until, path
                time.sleep(0.05)

    def flux(self, *arguments: str, version: str = "") -> str:
        """What the Flux CLI prints. Raises CalledProcessError."""
        command = [str(program("flux", version)), *arguments, f"--kubeconfig={self.server.kubeconfig}"]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)  # noqa: S603  (ours)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    def _address(self, each: Object) -> str:
        group, _, version = each["apiVersion"].rpartition("/")
        namespace = each["metadata"].get("namespace")
        prefix = f"apis/{group}/{version}" if group else f"api/{version}"
        if (prefix, each["kind"]) not in self._plurals:
            for resource in self.get(prefix)["resources"]:
                self._plurals.setdefault((prefix, resource["kind"]), resource["name"])
        plural = self._plurals[prefix, each["kind"]]
        return f"{prefix}/namespaces/{namespace}/{plural}" if namespace else f"{prefix}/{plural}"

    def _ask(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Answer:
        headers = {"Authorization": f"Bearer {self.server.api.token}", "Content-Type": kind}
        try:
            self._connection.request(method, f"/{path}", None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
        except http.client.HTTPException:  # an idle connection is closed
            self._connection.close()
            self._connection.request(method, f"/{path}", None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
        text = answer.read().decode()
        if answer.status < 300:
            return Answer(answer.status, text)
        try:
            return Answer(answer.status, json.loads(text)["message"])
        except (ValueError, KeyError):
            return Answer(answer.status, text.strip())


def documents(manifest: Path | str) -> Sequence[Object]:
    text = manifest.read_text() if isinstance(manifest, Path) else manifest
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
