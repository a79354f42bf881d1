"""The port KubernetesApi over requests to the API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from flux_upgrade.adapters.kubernetes.api_server import ApiRequest, ApiServer
from flux_upgrade.model.errors import ClusterUnavailable
from flux_upgrade.model.kubernetes_objects import CRD, NAMESPACE, SECRET, Kind, Object, ObjectReference, part, reference
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple


class Resource(NamedTuple):
    """A kind as one version of its API has it."""

    version: str  # `apps/v1`; the core's is `v1`
    plural: str
    is_namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        inside = ("namespaces", namespace) if self.is_namespaced and namespace else ()
        words = ("api" if "/" not in self.version else "apis", self.version, *inside, self.plural, name)
        return "".join(f"/{quote(word)}" for word in words if word)


class Discovery:
    """Which kinds the API server serves, asked for once; what is not served is asked for again."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._versions: dict[str, tuple[str, ...]] = {"": ("v1",)}
        """Group → its versions, the one that the cluster prefers first."""
        self._resources: dict[str, dict[str, Resource]] = {}  # version → name of a kind → the kind

    def find(self, kind: Kind) -> Resource | None:
        if kind.group not in self._versions:
            answer = self._ask(f"/apis/{quote(kind.group)}")
            if answer is None:
                return None
            every = (each["groupVersion"] for each in answer["versions"])
            preferred = answer["preferredVersion"]["groupVersion"]
            self._versions[kind.group] = tuple(dict.fromkeys((preferred, *every)))
        found = (self.find_version(version, kind.name) for version in self._versions[kind.group])
        return next(filter(None, found), None)

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
        for version in self._versions.pop(group, ()):
            self._resources.pop(version, None)

    def _ask(self, path: str) -> Any:
        return self._server.ask(ApiRequest(path, "tell which kinds it serves"))


_PAGE = 500


class KubernetesCluster:
    """The port KubernetesApi. ``closing`` is called once, at the end."""

    def __init__(self, server: ApiServer, closing: Callable[[], None]) -> None:
        self._server = server
        self._discovery = Discovery(server)
        self._closing = closing

    @property
    def name(self) -> str:
        return self._server.cluster

    def version(self) -> str:
        answer = self._server.ask(ApiRequest("/version", "tell its version"))
        version = answer.get("gitVersion") if isinstance(answer, dict) else None
        if not isinstance(version, str):
            raise self._server.nonsense()
        return version

    def get(self, what: ObjectReference) -> Object | None:
        resource = self._discovery.find(what.kind)
        if resource is None:
            return None
        found: Object | None = self._server.ask(ApiRequest(resource.path(what.namespace, what.name), f"give {what}"))
        return found

    def list(self, kind: Kind, namespace: str = "") -> tuple[Object, ...]:
        resource = self._discovery.find(kind)
        return () if resource is None else tuple(self._pages(resource, kind, namespace))

    def _pages(self, resource: Resource, kind: Kind, namespace: str) -> Iterator[Object]:
        query: tuple[tuple[str, str], ...] = (("limit", str(_PAGE)),)
        request = ApiRequest(resource.path(namespace), f"list objects of kind {kind.name}", query)
        while True:
            answer = self._server.ask(request) or {}
            yield from answer.get("items") or ()
            further = answer.get("metadata", {}).get("continue")
            if not further:
                return
            request = request._replace(query=(*query, ("continue", further)))

    def apply(self, wanted: Object, manager: str) -> Object | None:
        what = reference(wanted)
        resource = self._discovery.find_version(str(wanted.get("apiVersion")), what.kind.name)
        if resource is None:
            return None
        applied: Object | None = self._server.ask(
            ApiRequest(
                resource.path(what.namespace, what.name),
                f"take {what}",
                (("fieldManager", manager), ("force", "true")),
                wanted,
                is_secret=what.kind == SECRET,
            )
        )
        # An API server says the same of a missing namespace as of a kind that it does not serve.
        is_lost = applied is None and resource.is_namespaced
        if is_lost and self.get(ObjectReference(NAMESPACE, "", what.namespace)) is None:
            raise ClusterUnavailable(
                f"{what} cannot be applied: the namespace '{one_line(what.namespace)}' is not in the cluster",
                hint="add the namespace to the resources of the kustomization",
            )
        if applied is not None and what.kind == CRD:
            self._discovery.forget(str(part(applied, "spec").get("group")))
        return applied

    def changes(self, what: ObjectReference, since: str, seconds: float) -> Iterator[Object | None]:
        resource = self._discovery.find(what.kind)
        if resource is None:
            return
        query = (
            ("watch", "true"),
            ("fieldSelector", f"metadata.name={what.name}"),
            ("resourceVersion", since),
            ("timeoutSeconds", str(max(1, int(seconds)))),
        )
        request = ApiRequest(resource.path(what.namespace), f"tell of changes of {what}", query)
        for event in self._server.lines(request, seconds):
            match event:
                case {"type": "ADDED" | "MODIFIED", "object": dict() as state}:
                    yield state
                case {"type": "DELETED"}:
                    yield None
                case _:  # ERROR, most of all 410 Gone: changes since so old a version are no longer known
                    return

    def close(self) -> None:
        self._closing()
