"""A use: one place of a file that names a version of one of Flux's APIs."""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.values import NamedTuple


class Place(StrEnum):
    """What the place is."""

    RESOURCE = "resource"
    """The ``apiVersion`` of a resource: a document, an item of a List, YAML or JSON."""
    EMBEDDED = "embedded"
    """The same of a resource inside of another one: a ResourceSet, the values of a chart."""
    PATCH = "patch"
    """The ``apiVersion`` of a strategic merge patch, in a file of its own or inline."""
    TARGET = "target"
    """``group`` and ``version`` that select what is patched or replaced."""
    REFERENCE = "reference"
    """An ``apiVersion`` by which a resource refers to another: a health check, a dependency."""
    TEXT = "text"
    """Part of a text: the data of a ConfigMap, documentation, a comment."""
    TEMPLATE = "template"
    """In a document that is no YAML before something has been put in."""


class Use(NamedTuple):
    """One of them. Kind, name and namespace are empty where the place does not tell."""

    path: str
    """Relative to the repository's root."""
    line: int
    """1-based."""
    group: str
    """``source.toolkit.fluxcd.io``."""
    version: str
    """``v1beta2``; ``${VERSION}`` where something else puts it there, ``v1.*`` where it is a pattern."""
    kind: str
    """``HelmRelease``; ``HelmReleaseList`` of a List with an ``apiVersion`` of its own."""
    name: str
    namespace: str
    place: Place
    start: int
    """Offset of the version's first character (not the group's) in the text; see ``textedit``."""
    end: int
    """Between the two stands the version, or, where ``why`` says that it is not spelled out, more."""
    why: str = ""
    """Why it must not be changed, in a clause; empty where it may be."""
    at: tuple[str | int, ...] = ()
    """Path of what it stands in inside of its document, through texts: empty for the document itself."""
    is_unreadable: bool = False
    """Whether its document is no valid YAML and no template either, so that nothing can apply it."""
