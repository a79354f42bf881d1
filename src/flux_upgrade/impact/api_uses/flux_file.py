"""A file that names versions of Flux's APIs, and the resources of Flux's in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.kinds.formats.yaml_places import Object
from flux_upgrade.resources.use import Place, Use


@dataclass(frozen=True)
class FluxObject(Object):
    """A resource of Flux's, or a patch of one; lines and offsets are those of the file."""

    group: str
    """``source.toolkit.fluxcd.io``."""
    version: str
    """``v1beta2``; ``${VERSION}`` where something else puts it there."""
    place: Place
    """RESOURCE, EMBEDDED or PATCH."""
    start: int
    """That of the use which its ``apiVersion`` is."""

    @property
    def kind(self) -> str:
        """Empty where there is none."""
        return self.text_at("kind")

    @property
    def name(self) -> str:
        """Empty where there is none."""
        return self.text_at("metadata", "name")

    @property
    def namespace(self) -> str:
        """Empty where there is none."""
        return self.text_at("metadata", "namespace")


@dataclass(frozen=True)
class FluxFile:
    """One of them."""

    path: str
    content: bytes
    uses: tuple[Use, ...]
    """Every mention of a version of Flux's groups, in the order of the file."""
    objects: tuple[FluxObject, ...]
    """Every resource of Flux's groups, in the order of the file."""

    def object_of(self, use: Use) -> FluxObject | None:
        """The resource whose ``apiVersion`` a use is; None for references, targets, texts, templates.

        Where an alias gives one ``apiVersion`` to several, it is the first.
        """
        return self._by_start.get(use.start)

    @cached_property
    def _by_start(self) -> dict[int, FluxObject]:
        return {each.start: each for each in reversed(self.objects)}
