"""What a kustomization works on, objects with every name that they have had on the way; and what a step is.

A patch finds an object by the name that stands in its file and by those that kustomize gave it since
(kustomize api/resource/resource.go: PrevIds, CurId).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.json_patch import Landing
from flux_upgrade.kustomize.kustomization import Location
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

    @property
    def identity(self) -> tuple[str, ...]:
        return self.version, *self.unversioned

    @property
    def unversioned(self) -> tuple[str, str, str, str]:
        return self.group, self.kind, self.effective_namespace, self.name

    def __str__(self) -> str:
        """``Deployment/source-controller``, as ``kubectl`` would name it."""
        return f"{self.kind}/{self.name}"

    @property
    def spelled(self) -> str:
        gvk = f"{self.kind}.{self.version or '[noVer]'}.{self.group or '[noGrp]'}"
        return f"{gvk}/{self.name}.{self.namespace or '[noNs]'}"


def id_of(data: Mapping[str, Any]) -> Id:
    """Of an object. Raises Unreadable where it is none that kustomize would take."""
    kind, metadata = data.get("kind"), data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not kind or not name or not isinstance(metadata, dict):
        raise Unreadable(
            f"there is no {'metadata.name' if kind else 'kind'}", hint="kustomize accepts only Kubernetes objects"
        )
    group, _, version = str(data.get("apiVersion") or "").rpartition("/")
    return Id(group, version, str(kind), str(metadata.get("namespace") or ""), str(name))


@dataclass(frozen=True)
class Item:
    """One object; nothing changes its data, a step puts another item in its place."""

    ids: tuple[Id, ...]  # Every name that it has had, the present one last
    load: Callable[[], Any]
    is_release: bool = False  # It stands in the manifest
    is_opaque: bool = False  # Only its name is known: a generator makes it

    @cached_property
    def data(self) -> Any:
        """Plain values. Raises Unreadable."""
        return self.load()

    @property
    def current(self) -> Id:
        return self.ids[-1]

    def with_data(self, data: Any) -> Item:
        now = id_of(data)
        return replace(self, ids=self.ids if now == self.current else (*self.ids, now), load=held(data))


def held(data: Any) -> Callable[[], Any]:
    return lambda: data


Items = tuple[Item, ...]


def items_of(content: bytes, *, is_release: bool = False) -> Items:
    """The objects of a file; those of Lists by themselves. Raises Unreadable."""
    return tuple(each for document in parse(content).documents for each in _items(document, is_release))


def _items(document: Document, is_release: bool) -> Iterator[Item]:  # noqa: FBT001 private
    match = _API_VERSION.search(document.text)
    try:
        key = document.key
    except Unreadable:  # `id_of` raises it below, for what is no List
        match = None
    if match is not None and not key.kind.endswith("List"):
        known = Id(key.group, match[1].rpartition("/")[2], key.kind, key.namespace, key.name)
        yield Item((known,), lambda: document.data, is_release)
        return
    for data in _objects(document.data):
        yield Item((id_of(data),), held(data), is_release)


def _objects(data: Any) -> Iterator[Mapping[str, Any]]:
    """Lists are taken apart (kustomize api/resource/factory.go: inlineAnyEmbeddedLists)."""
    if not data:
        return
    if not isinstance(data, dict):
        raise Unreadable("it is not a Kubernetes object", hint="kustomize accepts only Kubernetes objects")
    if str(data.get("kind")).endswith("List") and "items" in data:
        for each in data["items"] or ():
            yield from _objects(each)
    else:
        yield data


class Touch(NamedTuple):
    before: Item
    after: Item | None  # None: it is gone
    is_changed: bool
    landings: tuple[Landing, ...] = ()


class StepResult(NamedTuple):
    items: Items
    touched: tuple[Touch, ...] = ()
    fault: CannotBuild | CannotTell | None = None  # Why it was not taken; then the items are those that it was given


class Step(NamedTuple):
    location: Location
    what: str  # `patch of Deployment/source-controller`, without markup
    apply: Callable[[Items], StepResult]  # Raises CannotBuild, CannotTell, Unreadable
    is_reported: bool = True  # Whether it gets a verdict also where it does not fail
    follows_tag: bool = False  # Whether it puts a suffix behind the release's own tag, whatever that is
    removes: bool = False  # Whether it is a JSON patch that removes something


def each_of(items: Items, targets: Sequence[Item], change: Callable[[Item], Touch]) -> StepResult:
    """The items with ``change`` made to the targets. Raises what that raises, with the object's name."""
    touched: dict[int, Touch] = {}
    for item in targets:
        try:
            # What only a generator knows is taken to be changed.
            touched[id(item)] = Touch(item, item, is_changed=True) if item.is_opaque else change(item)
        except CannotBuild as error:
            raise CannotBuild(f"{item.current}: {error.message}", error.line, error.hint) from error
    after = (touched[id(item)].after if id(item) in touched else item for item in items)
    return StepResult(tuple(item for item in after if item is not None), tuple(touched.values()))


def mapping(value: Any) -> Mapping[str, Any]:
    """Of an object; empty where there is none. Raises CannotTell for what has no keys."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise CannotTell("an object has a value or a list where a mapping should be")


def put(item: Item, data: Any) -> Touch:
    return Touch(item, item.with_data(data), is_changed=data != item.data)
