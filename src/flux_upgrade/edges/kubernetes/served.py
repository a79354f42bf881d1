"""Which kinds a cluster serves, and below which address each of them is.

Source: kubernetes.io, "Kubernetes API Concepts", Discovery API.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flux_upgrade.cluster_objects import Kind
from flux_upgrade.edges.kubernetes.requests import Ask, Requests
from flux_upgrade.values import NamedTuple

_CORE = "v1"


class Resource(NamedTuple):
    """A kind as one version of its API has it."""

    version: str
    """``apps/v1``; the core's is ``v1``."""
    plural: str
    is_namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        """The address of one object, or of all."""
        inside = ("namespaces", namespace) if self.is_namespaced and namespace else ()
        words = ("api" if "/" not in self.version else "apis", self.version, *inside, self.plural, name)
        return "".join(f"/{quote(word)}" for word in words if word)


class Served:
    """What discovery tells, asked for once; what is not served is asked for again."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._versions: dict[str, tuple[str, ...]] = {"": (_CORE,)}
        """Group → its versions, the one that the cluster prefers first."""
        self._resources: dict[str, dict[str, Resource]] = {}
        """Version → name of a kind → the kind."""

    def find(self, kind: Kind) -> Resource | None:
        """A kind, in the first version that has it. Raises ClusterUnavailable."""
        versions = self._versions.get(kind.group) or self._ask_versions(kind.group)
        found = (self.find_version(version, kind.name) for version in versions)
        return next(filter(None, found), None)

    def _ask_versions(self, group: str) -> tuple[str, ...]:
        answer = self._ask(f"/apis/{quote(group)}")
        if answer is None:
            return ()
        preferred, every = answer["preferredVersion"], (each["groupVersion"] for each in answer["versions"])
        self._versions[group] = tuple(dict.fromkeys((preferred["groupVersion"], *every)))
        return self._versions[group]

    def find_version(self, version: str, name: str) -> Resource | None:
        """A kind, in the version that an object states: ``apps/v1``. Raises ClusterUnavailable."""
        known = self._resources.get(version, {}).get(name)
        if known is not None:
            return known
        answer = self._ask(f"/{'apis' if '/' in version else 'api'}/{quote(version)}")
        resources = answer.get("resources", ()) if answer is not None else ()
        self._resources[version] = {
            each["kind"]: Resource(version, each["name"], each["namespaced"])
            for each in resources
            if "/" not in each["name"]  # no subresource
        }
        return self._resources[version].get(name)

    def forget(self, group: str) -> None:
        """Ask anew: the kinds of a group have changed."""
        for version in self._versions.pop(group, ()):
            self._resources.pop(version, None)

    def _ask(self, path: str) -> Any:
        return self._requests.ask(Ask(path, "tell which kinds it serves"))
