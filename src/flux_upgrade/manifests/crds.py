"""CustomResourceDefinitions: which versions of an API a release serves, stores, and what they may hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

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
    def _spec(self) -> tuple[str, tuple[ApiVersion, ...]]:
        document = self.document
        match _without_schemas(document.text, document.line) if self._is_released else document.data:
            case {"spec": {"names": {"kind": str(kind)}, "versions": list(entries)}} if all(
                isinstance(each, dict) and "name" in each for each in entries
            ):
                flags = ("served", "storage", "deprecated")
                return kind, tuple(
                    ApiVersion(document, index, str(each["name"]), *(bool(each.get(flag)) for flag in flags))
                    for index, each in enumerate(entries)
                )
        raise Unreadable(
            f"line {self.document.line} is not a CustomResourceDefinition (no names.kind or versions)",
            hint="restore it from Git, or remove it",
        )

    @property
    def kind(self) -> str:
        return self._spec[0]

    @property
    def versions(self) -> tuple[ApiVersion, ...]:
        return self._spec[1]

    @cached_property
    def served(self) -> frozenset[str]:
        return frozenset(each.name for each in self.versions if each.served)

    @cached_property
    def storage(self) -> str:
        return next((each.name for each in self.versions if each.storage), "")

    def version(self, name: str) -> ApiVersion | None:
        return next((each for each in self.versions if each.name == name), None)


@lru_cache(maxsize=128)  # A release is compared with each other one of its minor, and then with what is installed
def _without_schemas(text: str, line: int) -> Any:
    """A CRD as plain values, which stay as they are. Raises Unreadable."""
    return Document(_SCHEMA.sub("", text), line).data


def crds_of(documents: Iterable[Document], *, are_released: bool = False) -> dict[str, Crd]:
    """Those among some documents, by name. Raises Unreadable."""
    return {each.key.name: Crd(each, is_released=are_released) for each in documents if each.key.kind == _KIND}


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
    parts = [part for text in manifests.files.values() for part in _SEPARATOR.split(text) if _KIND in part]
    return ReleaseApis(manifests.tag, crds_of([Document(part, 1) for part in parts], are_released=True))
