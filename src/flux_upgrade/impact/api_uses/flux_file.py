"""A file that names versions of Flux's APIs, and the resources of Flux's in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.yaml_places import Object


class UsePlace(StrEnum):
    RESOURCE = "resource"  # the `apiVersion` of a resource: a document, an item of a List, YAML or JSON
    EMBEDDED = "embedded"  # The same of a resource inside of another one: a ResourceSet, the values of a chart
    PATCH = "patch"  # the `apiVersion` of a strategic merge patch, in a file of its own or inline
    TARGET = "target"  # `group` and `version` that select what is patched or replaced
    REFERENCE = "reference"  # An `apiVersion` by which a resource refers to another: a health check, a dependency
    METRIC = "metric"  # `group` and `version` of a kind that kube-state-metrics watches: see `mappings.py`
    TEXT = "text"  # part of a text: the data of a ConfigMap, documentation, a comment
    SCRIPT = "script"  # Object in a script or a program, which may apply it
    TEMPLATE = "template"  # in a document that is no YAML before something has been put in


class ApiUse(NamedTuple):
    """A mention of a version of Flux's APIs; kind, name and namespace are empty where unknown."""

    path: str  # relative to the repository's root
    line: int  # 1-based
    group: str  # `source.toolkit.fluxcd.io`
    version: str  # `v1beta2`; `${VERSION}` where something else puts it there, `v1.*` where it is a pattern
    kind: str  # `HelmRelease`; `HelmReleaseList` of a List with an `apiVersion` of its own
    name: str
    namespace: str
    place: UsePlace
    start: int  # offset of the version's first character (not the group's) in the text; see `TextEdit`
    end: int  # between the two stands the version, or, where `why` says that it is not spelled out, more
    why: str = ""  # why it must not be changed, in a clause; empty where it may be
    at: tuple[str | int, ...] = ()
    """Path of what it stands in inside of its document, through texts: empty for the document itself."""
    is_unreadable: bool = False
    """Whether its document is no valid YAML and no template either, so that nothing can apply it."""

    @property
    def is_applied(self) -> bool:
        """Whether the API server gets a resource of this version, as far as the file shows."""
        return self.place in (UsePlace.RESOURCE, UsePlace.EMBEDDED)


@dataclass(frozen=True)
class FluxObject(Object):
    """A resource of Flux's, or a patch of one; lines and offsets are those of the file."""

    group: str  # `source.toolkit.fluxcd.io`
    version: str  # `v1beta2`; `${VERSION}` where something else puts it there
    place: UsePlace  # RESOURCE, EMBEDDED or PATCH
    start: int  # that of the use which its `apiVersion` is

    @property
    def kind(self) -> str:
        return self.text_at("kind")

    @property
    def name(self) -> str:
        return self.text_at("metadata", "name")

    @property
    def namespace(self) -> str:
        return self.text_at("metadata", "namespace")


def encloses(each: Object, offset: int) -> bool:
    """Whether what stands at an offset of its file is a part of it."""
    start, end = (each.document.offset(mark.index) for mark in (each.node.start_mark, each.node.end_mark))
    return start <= offset < end


class Cut(NamedTuple):
    """A part of a file whose uses are not all listed."""

    begin: int  # Offset in the text
    end: int
    message: str


@dataclass(frozen=True)
class FluxFile:
    path: str
    content: bytes
    uses: tuple[ApiUse, ...]  # every mention of a version of Flux's groups, in the order of the file
    objects: tuple[FluxObject, ...]  # every resource of Flux's groups, in the order of the file
    cuts: tuple[Cut, ...] = ()

    def object_of(self, use: ApiUse) -> FluxObject | None:
        """The resource whose ``apiVersion`` a use is; None for references, targets, texts, templates.

        Where an alias gives one ``apiVersion`` to several, it is the first.
        """
        return self._by_start.get(use.start)

    def without(self, kinds: Collection[tuple[str, str]]) -> FluxFile:
        """Without uses and resources of some kinds, each with its API group."""
        uses = tuple(each for each in self.uses if (each.group, each.kind) not in kinds)
        objects = tuple(each for each in self.objects if (each.group, each.kind) not in kinds)
        return self if len(uses) == len(self.uses) else replace(self, uses=uses, objects=objects)

    @cached_property
    def _by_start(self) -> dict[int, FluxObject]:
        return {each.start: each for each in reversed(self.objects)}
