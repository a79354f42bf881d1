"""``images`` and ``replicas`` of a kustomization."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flux_upgrade.impact.overlay.items import Item, Items
from flux_upgrade.impact.overlay.result import CannotBuild, CannotTell
from flux_upgrade.impact.overlay.steps import Step, StepResult, Touch, each_of, mapping, put
from flux_upgrade.manifests.images import Image

CONTAINERS = ("containers", "initContainers")
_BEHIND = r"(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?"
# kustomize api/internal/konfig/builtinpluginconsts/replicas.go
_SCALED = ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")


@dataclass(frozen=True)
class Images(Step):
    """One entry of ``images``: what kustomize puts in place of an image (api/filters/imagetag)."""

    name: str
    new_name: str = ""
    new_tag: str = ""
    digest: str = ""
    suffix: str = ""

    @property
    def what(self) -> str:
        return f"image {self.name}"

    @property
    def follows(self) -> bool:
        """Whether it puts a suffix behind the release's own tag, whatever that is."""
        return bool(self.suffix) and not (self.new_tag or self.digest)

    def apply(self, items: Items) -> StepResult:
        # kustomize leaves the schemas of CRDs alone.
        candidates = [each for each in items if each.current.kind != "CustomResourceDefinition"]
        targets = [
            item
            for item in candidates
            if not item.is_opaque and any(map(self._matches, images_of(item.data)))
        ]
        return each_of(items, targets, self._put)

    def _put(self, item: Item) -> Touch:
        data = self._replaced(item.data)
        # A suffix is put behind the tag twice: two filters of kustomize's look for images.
        return put(item, self._replaced(data) if self.follows else data)

    def _matches(self, image: str) -> bool:
        # The name is used as a regular expression, dots and all.
        try:
            return re.fullmatch(self.name + _BEHIND, image) is not None
        except re.error as error:
            raise CannotTell(f"{self.name} is no image") from error

    def _replaced(self, data: Any, field: str = "") -> Any:
        if isinstance(data, dict):
            return {key: self._replaced(value, key) for key, value in data.items()}
        if not isinstance(data, list):
            return data
        items = [self._replaced(each) for each in data]
        return [self._container(each) for each in items] if field in CONTAINERS else items

    def _container(self, container: Any) -> Any:
        image = container.get("image") if isinstance(container, dict) else None
        if not isinstance(image, str) or not self._matches(image):
            return container
        return {**container, "image": str(self._instead_of(Image.parse(image)))}

    def _instead_of(self, image: Image) -> Image:
        name = self.new_name or image.repository
        if self.new_tag or self.digest:
            return Image(name, self.new_tag, self.digest)
        if self.follows:
            return Image(name, image.tag + self.suffix, "")
        return image._replace(repository=name)


def images_of(data: Any, field: str = "") -> Iterator[str]:
    """The images of all containers of an object."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from images_of(value, key)
    elif isinstance(data, list):
        for each in data:
            image = each.get("image") if field in CONTAINERS and isinstance(each, dict) else None
            if isinstance(image, str):
                yield image
            yield from images_of(each)


@dataclass(frozen=True)
class Replicas(Step):
    """One entry of ``replicas``."""

    name: str
    count: Any

    @property
    def what(self) -> str:
        return f"replicas of {self.name}"

    def apply(self, items: Items) -> StepResult:
        targets = [
            item
            for item in items
            if any(each.name == self.name and each.kind in _SCALED for each in item.ids)
        ]
        if not targets:
            raise CannotBuild(
                f"there is no {_SCALED[0]} {self.name} to scale",
                hint="remove it, or name what is there",
            )
        return each_of(items, targets, self._scaled)

    def _scaled(self, item: Item) -> Touch:
        return put(item, {**item.data, "spec": {**mapping(item.data.get("spec")), "replicas": self.count}})
