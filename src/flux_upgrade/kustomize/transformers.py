"""What a kustomization does beside patches: namespace, names, labels, annotations, images, replicas.

Other names and labels risk nothing, but patches find objects by them (kustomize api/internal/builtins).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Item, Items, StepResult, Touch, each_of, mapping, put
from flux_upgrade.manifests.images import Image
from flux_upgrade.model.patterns import BadPattern, is_whole
from flux_upgrade.model.values import NamedTuple

_SAME_NAME = ("CustomResourceDefinition", "APIService", "Namespace")
_WITH_PODS = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job", "ReplicationController")
_CONTAINERS = ("containers", "initContainers")
_BEHIND = r"(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?"
# kustomize api/internal/konfig/builtinpluginconsts/replicas.go
_SCALED = ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")


def in_namespace(namespace: str, items: Items) -> StepResult:
    moved: dict[tuple[str, ...], Item] = {}
    for item in items:
        now, after = item.current, item
        if now.kind == "Namespace" and not now.group:
            after = _renamed(item, "name", namespace)
        elif not now.is_cluster_scoped:
            after = _renamed(item, "namespace", namespace)
        if after.current.identity in moved:
            raise CannotBuild(f"two objects become {after.current} in namespace {namespace}")
        moved[after.current.identity] = after
    return StepResult(tuple(moved.values()))


def affixed(prefix: str, suffix: str, items: Items) -> StepResult:
    return StepResult(
        tuple(
            item if item.current.kind in _SAME_NAME else _renamed(item, "name", f"{prefix}{item.current.name}{suffix}")
            for item in items
        )
    )


def _renamed(item: Item, field: str, text: str) -> Item:
    """The object under another name or in another namespace; it is found by the ones before, too."""
    now = item.current._replace(**{field: text})
    return replace(
        item, ids=(*item.ids, now), load=lambda: {**item.data, "metadata": {**item.data["metadata"], field: text}}
    )


class Marks(NamedTuple):
    """An entry of ``labels``, or ``commonLabels`` or ``commonAnnotations``."""

    field: str  # `labels` or `annotations`
    pairs: Mapping[str, Any]
    in_templates: bool  # On pods, too
    in_selectors: bool

    def apply(self, items: Items) -> StepResult:
        return StepResult(tuple(map(self._marked, items)))

    def _marked(self, item: Item) -> Item:
        return item if item.is_opaque else replace(item, load=lambda: self._put(item.data, item.current.kind))

    def _put(self, data: Any, kind: str) -> Any:
        data = _within(data, ("metadata", self.field), self.pairs)
        if kind in _WITH_PODS and (self.in_templates or self.in_selectors):
            data = _within(data, ("spec", "template", "metadata", self.field), self.pairs)
        if self.in_selectors and kind in _WITH_PODS[:4]:
            data = _within(data, ("spec", "selector", "matchLabels"), self.pairs)
        if self.in_selectors and kind == "Service":
            data = _within(data, ("spec", "selector"), self.pairs)
        return data


def _within(data: Any, path: Sequence[str], pairs: Mapping[str, Any]) -> Any:
    """A copy of ``data`` with ``pairs`` in the mapping at the path, which is made where it is not there."""
    held = mapping(data)
    if not path:
        return {**held, **pairs}
    return {**held, path[0]: _within(held.get(path[0]), path[1:], pairs)}


def scaled(name: str, count: Any, items: Items) -> StepResult:
    targets = [item for item in items if any(each.name == name and each.kind in _SCALED for each in item.ids)]
    if not targets:
        hint = "remove it, or use an existing object"
        raise CannotBuild(f"there is no {_SCALED[0]} {name} to scale", hint=hint)
    return each_of(
        items,
        targets,
        lambda item: put(item, {**item.data, "spec": {**mapping(item.data.get("spec")), "replicas": count}}),
    )


class Images(NamedTuple):
    """One entry of ``images``: what kustomize puts in place of an image (api/filters/imagetag)."""

    name: str
    new_name: str
    new_tag: str
    digest: str
    suffix: str

    @property
    def follows_tag(self) -> bool:
        """Whether it puts a suffix behind the release's own tag, whatever that is."""
        return bool(self.suffix) and not (self.new_tag or self.digest)

    def apply(self, items: Items) -> StepResult:
        """With the images of containers replaced. Raises CannotTell."""
        targets = [
            item
            for item in items
            # kustomize leaves the schemas of CRDs alone.
            if item.current.kind != "CustomResourceDefinition"
            and not item.is_opaque
            and any(map(self._matches, _images_of(item.data)))
        ]
        return each_of(items, targets, self._put)

    def _put(self, item: Item) -> Touch:
        data = self._replaced(item.data)
        # A suffix is put behind the tag twice: two filters of kustomize's look for images.
        return put(item, self._replaced(data) if self.follows_tag else data)

    def _matches(self, image: str) -> bool:
        # The name is used as a regular expression, dots and all.
        try:
            return is_whole(self.name + _BEHIND, image)
        except BadPattern as error:
            raise CannotTell(f"{self.name} is not an image") from error

    def _replaced(self, data: Any, field: str = "") -> Any:
        if isinstance(data, dict):
            return {key: self._replaced(value, key) for key, value in data.items()}
        if not isinstance(data, list):
            return data
        items = [self._replaced(each) for each in data]
        return [self._container(each) for each in items] if field in _CONTAINERS else items

    def _container(self, container: Any) -> Any:
        text = container.get("image") if isinstance(container, dict) else None
        if not isinstance(text, str) or not self._matches(text):
            return container
        image = Image.parse(text)
        now = image._replace(repository=self.new_name or image.repository)
        if self.new_tag or self.digest:
            now = now._replace(tag=self.new_tag, digest=self.digest)
        elif self.follows_tag:
            now = now._replace(tag=image.tag + self.suffix, digest="")
        return {**container, "image": str(now)}


def _images_of(data: Any, field: str = "") -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _images_of(value, key)
    elif isinstance(data, list):
        for each in data:
            image = each.get("image") if field in _CONTAINERS and isinstance(each, dict) else None
            if isinstance(image, str):
                yield image
            yield from _images_of(each)
