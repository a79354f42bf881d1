"""CustomResourceDefinitions: which versions of an API a release serves, stores, and what they may hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from flux_upgrade.manifests.documents import Document
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.versions import ReleaseManifests

_KIND = "CustomResourceDefinition"
_SEPARATOR = re.compile(r"^---\n", re.MULTILINE)
_SCHEMA = re.compile(r"^    schema:\n(?:(?: {6}.*)?\n)+", re.MULTILINE)
"""Of an entry of ``spec.versions``, as controller-gen writes it: all but some lines of the document."""


@dataclass(frozen=True)
class ApiVersion:
    """One entry of ``spec.versions``."""

    document: Document  # The whole CRD
    index: int
    name: str
    served: bool
    storage: bool
    deprecated: bool

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """``schema.openAPIV3Schema``: a structural schema, as plain values. Raises Unreadable."""
        entry = self.document.data["spec"]["versions"][self.index]
        return (entry.get("schema") or {}).get("openAPIV3Schema") or {}


class _Spec(NamedTuple):
    kind: str
    versions: tuple[ApiVersion, ...]
    served: frozenset[str]
    storage: str


class Crd:
    """One of them, read when it is asked for: a schema is long. All but its names raise Unreadable."""

    def __init__(self, document: Document, *, is_released: bool = False) -> None:
        """``is_released``: as a release has it, so that its schemas need not be read to be trusted."""
        self.document = document
        self.name = document.key.name
        """``gitrepositories.source.toolkit.fluxcd.io``."""
        self.group = self.name.partition(".")[2]
        self._is_released = is_released

    @cached_property
    def _spec(self) -> _Spec:
        document = self.document
        if self._is_released:
            document = Document(_SCHEMA.sub("", document.text), document.line)
        match document.data:
            case {"spec": {"names": {"kind": str(kind)}, "versions": list(entries)}} if all(
                isinstance(each, dict) and "name" in each for each in entries
            ):
                versions = tuple(
                    ApiVersion(
                        self.document,
                        index,
                        str(each["name"]),
                        bool(each.get("served")),
                        bool(each.get("storage")),
                        bool(each.get("deprecated")),
                    )
                    for index, each in enumerate(entries)
                )
                served = frozenset(each.name for each in versions if each.served)
                return _Spec(kind, versions, served, next((each.name for each in versions if each.storage), ""))
        raise Unreadable(
            f"line {self.document.line} is no CustomResourceDefinition (no names.kind or versions)",
            hint="restore it from the history, or remove it",
        )

    @property
    def kind(self) -> str:
        return self._spec.kind

    @property
    def versions(self) -> tuple[ApiVersion, ...]:
        return self._spec.versions

    @property
    def served(self) -> frozenset[str]:
        return self._spec.served

    @property
    def storage(self) -> str:
        return self._spec.storage

    def version(self, name: str) -> ApiVersion | None:
        for each in self.versions:
            if each.name == name:
                return each
        return None


def crds_of(documents: Iterable[Document]) -> dict[str, Crd]:
    """Those among some documents, by name. Raises Unreadable."""
    return {each.key.name: Crd(each) for each in documents if each.key.kind == _KIND}


@dataclass(frozen=True)
class ReleaseApis:
    """The APIs that a release serves with all of its controllers, whether they are installed or not."""

    tag: str
    crds: Mapping[str, Crd]

    @cached_property
    def kinds(self) -> Mapping[tuple[str, str], Crd]:
        return {(each.group, each.kind): each for each in self.crds.values()}

    @cached_property
    def groups(self) -> frozenset[str]:
        return frozenset(each.group for each in self.crds.values())

    def serves(self, group: str, version: str, kind: str) -> bool:
        crd = self.kinds.get((group, kind))
        return crd is not None and version in crd.served


def served_by(manifests: ReleaseManifests) -> ReleaseApis:
    """What a release serves, read from its own CRDs. Raises Unreadable."""
    crds: dict[str, Crd] = {}
    for text in manifests.files.values():
        for part in _SEPARATOR.split(text):
            document = Document(part, 1)
            if _KIND in part and document.key.kind == _KIND:
                crds[document.key.name] = Crd(document, is_released=True)
    return ReleaseApis(manifests.tag, crds)
