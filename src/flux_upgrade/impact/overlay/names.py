"""What gives objects other names, labels and annotations: it risks nothing, but patches find objects by it.

kustomize api/internal/builtins: NamespaceTransformer, PrefixTransformer, SuffixTransformer, LabelTransformer,
AnnotationsTransformer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flux_upgrade.impact.overlay.items import Item, Items
from flux_upgrade.impact.overlay.result import CannotBuild
from flux_upgrade.impact.overlay.steps import Step, StepResult, mapping

_SAME_NAME = ("CustomResourceDefinition", "APIService", "Namespace")
_WITH_PODS = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job", "ReplicationController")
_TEMPLATE = ("spec", "template", "metadata")


@dataclass(frozen=True)
class Namespace(Step):
    """The field ``namespace``."""

    namespace: str
    is_reported = False

    @property
    def what(self) -> str:
        return f"namespace {self.namespace}"

    def apply(self, items: Items) -> StepResult:
        moved = tuple(map(self._moved, items))
        seen: set[tuple[str, ...]] = set()
        for item in moved:
            now = (*item.current[:3], item.current.effective_namespace, item.current.name)
            if now in seen:
                raise CannotBuild(f"two objects are {item.current} once they are in {self.namespace}")
            seen.add(now)
        return StepResult(moved)

    def _moved(self, item: Item) -> Item:
        now = item.current
        if now.kind == "Namespace" and not now.group:
            return _renamed(item, "name", self.namespace)
        return item if now.is_cluster_scoped else _renamed(item, "namespace", self.namespace)


@dataclass(frozen=True)
class Affix(Step):
    """The field ``namePrefix`` or ``nameSuffix``."""

    prefix: str = ""
    suffix: str = ""
    is_reported = False

    @property
    def what(self) -> str:
        return f"prefix {self.prefix}" if self.prefix else f"suffix {self.suffix}"

    def apply(self, items: Items) -> StepResult:
        return StepResult(tuple(map(self._named, items)))

    def _named(self, item: Item) -> Item:
        if item.current.kind in _SAME_NAME:
            return item
        return _renamed(item, "name", f"{self.prefix}{item.current.name}{self.suffix}")


@dataclass(frozen=True)
class Marks(Step):
    """An entry of ``labels``, or ``commonLabels`` or ``commonAnnotations``."""

    field: str
    """``labels`` or ``annotations``."""
    pairs: Mapping[str, Any]
    in_templates: bool = False
    """On pods, too."""
    in_selectors: bool = False
    is_reported = False

    @property
    def what(self) -> str:
        return self.field

    def apply(self, items: Items) -> StepResult:
        return StepResult(tuple(map(self._marked, items)))

    def _marked(self, item: Item) -> Item:
        return item if item.is_opaque else replace(item, load=lambda: self._put(item.data, item.current.kind))

    def _put(self, data: Any, kind: str) -> Any:
        data = _within(data, ("metadata", self.field), self.pairs)
        if kind in _WITH_PODS and (self.in_templates or self.in_selectors):
            data = _within(data, (*_TEMPLATE, self.field), self.pairs)
        if self.in_selectors and kind in _WITH_PODS[:4]:
            data = _within(data, ("spec", "selector", "matchLabels"), self.pairs)
        if self.in_selectors and kind == "Service":
            data = _within(data, ("spec", "selector"), self.pairs)
        return data


def _renamed(item: Item, field: str, text: str) -> Item:
    """The object under another name or in another namespace; it is found by the ones before, too."""
    now = item.current._replace(**{field: text})
    return replace(
        item,
        ids=(*item.ids, now),
        load=lambda: {**item.data, "metadata": {**item.data["metadata"], field: text}},
    )


def _within(data: Any, path: Sequence[str], pairs: Mapping[str, Any]) -> Any:
    """A copy of ``data`` with ``pairs`` in the mapping at the path, which is made where it is not there."""
    if not path:
        return {**mapping(data), **pairs}
    held = mapping(data)
    return {**held, path[0]: _within(held.get(path[0]), path[1:], pairs)}
