"""What a kustomization works on: objects, each with every name that it has had on the way.

A patch finds an object by the name that stands in its file and by those that kustomize gave it since
(kustomize api/resource/resource.go: PrevIds, CurId).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flux_upgrade.manifests.documents import Document, parse
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.values import NamedTuple

_API_VERSION = re.compile(r"^apiVersion:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
# kyaml openapi/openapi.go: precomputedIsNamespaceScoped; whatever it does not know counts as namespaced.
_CLUSTER_SCOPED = {
    "": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
    "admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
    "apiextensions.k8s.io": {"CustomResourceDefinition"},
    "apiregistration.k8s.io": {"APIService"},
    "certificates.k8s.io": {"CertificateSigningRequest"},
    "flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
    "networking.k8s.io": {"IngressClass"},
    "node.k8s.io": {"RuntimeClass"},
    "policy": {"PodSecurityPolicy"},
    "rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding"},
    "scheduling.k8s.io": {"PriorityClass"},
    "storage.k8s.io": {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"},
}
_NOWHERE = "_non_namespaceable_"


class Id(NamedTuple):
    """What kustomize identifies objects by (kyaml resid/resid.go)."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str

    @property
    def is_cluster_scoped(self) -> bool:
        """Whether it is certain that its kind has no namespace."""
        return self.kind in _CLUSTER_SCOPED.get(self.group, ())

    @property
    def effective_namespace(self) -> str:
        if self.is_cluster_scoped:
            return _NOWHERE
        return self.namespace or "default"

    def is_same(self, other: Id) -> bool:
        """Whether kustomize takes both for one object."""
        mine, its = self._replace(namespace=""), other._replace(namespace="")
        return mine == its and self.effective_namespace == other.effective_namespace

    @property
    def unversioned(self) -> tuple[str, str, str, str]:
        """Equal for one object in two releases."""
        return self.group, self.kind, self.effective_namespace, self.name

    def __str__(self) -> str:
        """``Deployment/source-controller``, as ``kubectl`` would name it."""
        return f"{self.kind}/{self.name}"

    @property
    def spelled(self) -> str:
        """As kustomize writes it in its errors."""
        gvk = f"{self.kind}.{self.version or '[noVer]'}.{self.group or '[noGrp]'}"
        return f"{gvk}/{self.name}.{self.namespace or '[noNs]'}"


def id_of(data: Mapping[str, Any]) -> Id:
    """Of an object. Raises Unreadable where it is none that kustomize would take."""
    kind, metadata = data.get("kind"), data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not kind or not name or not isinstance(metadata, dict):
        raise Unreadable(
            f"there is no {'metadata.name' if kind else 'kind'}",
            hint="kustomize takes Kubernetes objects only",
        )
    group, _, version = str(data.get("apiVersion") or "").rpartition("/")
    return Id(group, version, str(kind), str(metadata.get("namespace") or ""), str(name))


@dataclass(frozen=True)
class Item:
    """One object; nothing changes its data, a step puts another item in its place."""

    ids: tuple[Id, ...]
    """Every name that it has had, the present one last."""
    load: Callable[[], Any]
    is_release: bool = False
    """It stands in the manifest."""
    is_opaque: bool = False
    """Only its name is known: a generator makes it."""

    @cached_property
    def data(self) -> Any:
        """Plain values. Raises Unreadable."""
        return self.load()

    @property
    def original(self) -> Id:
        """The name that stands in its file."""
        return self.ids[0]

    @property
    def current(self) -> Id:
        return self.ids[-1]

    def with_data(self, data: Any) -> Item:
        now = id_of(data)
        return replace(self, ids=self.ids if now == self.current else (*self.ids, now), load=_held(data))


def _held(data: Any) -> Callable[[], Any]:
    return lambda: data


Items = tuple[Item, ...]


def items_of(content: bytes, *, is_release: bool = False) -> Items:
    """The objects of a file; those of Lists by themselves. Raises Unreadable."""
    return tuple(each for document in parse(content).documents for each in _items(document, is_release))


def _items(document: Document, is_release: bool) -> Iterator[Item]:  # noqa: FBT001 private
    match = _API_VERSION.search(document.text)
    try:
        key = document.key
    except Unreadable:
        match = None
    if match is not None and not key.kind.endswith("List"):
        known = Id(key.group, match[1].rpartition("/")[2], key.kind, key.namespace, key.name)
        yield Item((known,), lambda: document.data, is_release)
        return
    for data in _objects(document.data):
        yield Item((id_of(data),), _held(data), is_release)


def _objects(data: Any) -> Iterator[Mapping[str, Any]]:
    """Lists are taken apart (kustomize api/resource/factory.go: inlineAnyEmbeddedLists)."""
    if not data:
        return
    if not isinstance(data, dict):
        raise Unreadable("it is no Kubernetes object", hint="kustomize takes Kubernetes objects only")
    if str(data.get("kind")).endswith("List") and "items" in data:
        for each in data["items"] or ():
            yield from _objects(each)
    else:
        yield data


def items_known_as(items: Iterable[Item], wanted: Id) -> list[Item]:
    """The items that have, or have had, a name."""
    return [item for item in items if any(wanted.is_same(each) for each in item.ids)]
