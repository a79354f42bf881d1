"""What a manifest really is: its release, its flags, and its edits beside a regeneration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from flux_upgrade.manifests.comments import extract
from flux_upgrade.manifests.documents import Document, Manifest, ObjectKey, parse
from flux_upgrade.manifests.generators import Generator
from flux_upgrade.manifests.images import Controller, Image, controller_index
from flux_upgrade.manifests.infer import Inferred, deployments
from flux_upgrade.manifests.node_copies import clone
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, child
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.residue import Edit, Op, differences
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.versions import NO_VERSION, Version

FILE = ObjectKey("", "File", "", "")
"""Stands for what belongs to the file and to none of its objects."""


@dataclass(frozen=True)
class Regenerated:
    """What Flux would write for ``options``."""

    text: str
    options: InstallOptions
    foreign: Generator | None  # Whose rules it was made by, where they are not those of the manifests' own release

    @cached_property
    def manifest(self) -> Manifest:
        return parse(self.text.encode())


class Verdict(StrEnum):
    """How well the regeneration fits."""

    EXACT = "exact"
    """Not at all: the file is identical."""
    IMAGES = "images"
    """Only in image lines, such as other tags or digests."""
    FORMATTING = "formatting"
    """Only in format, such as line endings or the output of another tool."""
    EDITED = "edited"
    """In manual edits, or in its version header. `inspect` lists each edit."""
    UNVERIFIED = "unverified"
    """Unknown: there is no release to compare with."""
    UNREADABLE = "unreadable"
    """Unknown: the file is invalid or is not a single Flux manifest."""


@dataclass(frozen=True)
class Proof:
    """A manifest with everything that could be found out about it."""

    verdict: Verdict
    manifest: Manifest | None = None
    """None where the file is unreadable."""
    version: Version = NO_VERSION
    """The body's release, a tag; empty where it is not known. Of a release that was withdrawn, ``base`` is another."""
    inferred: Inferred | None = None
    base: Regenerated | None = None
    controllers: tuple[Controller, ...] = ()
    edits: tuple[Edit, ...] = ()
    reason: str = ""
    hint: str = ""

    @property
    def is_withdrawn(self) -> bool:
        """Whether its release is gone, so that it was compared with another one of the same minor."""
        return self.base is not None and bool(self.version) and self.base.options.version != self.version

    @property
    def absent_crds(self) -> frozenset[ObjectKey]:
        """The CRDs of the release that the manifest does not have."""
        absent = (edit.object for edit in self.edits if edit.is_absence)
        return frozenset(key for key in absent if key.kind == "CustomResourceDefinition")

    @property
    def stated_version(self) -> str:
        """Return ``version``, else the unverified one of the labels or the header; empty if there is none."""
        labels = self.inferred.versions if self.inferred is not None else ()
        header = self.manifest.header_version if self.manifest is not None else ""
        return next(filter(None, (self.version, *labels, header)), "")

    @property
    def options(self) -> InstallOptions | None:
        """The recovered flags; None where the file is unreadable."""
        if self.base is not None:
            return self.base.options
        return self.inferred.options if self.inferred is not None else None


def aligned(manifest: Manifest, known: Mapping[ObjectKey, object]) -> dict[ObjectKey, Document]:
    """A file's objects as ``known`` names them: group, kind and name tell, whatever the namespace.

    An object whose namespace was edited or left out is still Flux's own.
    """
    exact = manifest.objects
    by_name = {key._replace(namespace=""): key for key in known}
    found: dict[ObjectKey, Document] = {}
    for key, document in exact.items():
        twin = by_name.get(key._replace(namespace=""), key)
        found[key if key in known or twin in exact or twin in found else twin] = document
    return found


def controllers_of(manifest: Manifest, base: Regenerated | None) -> tuple[Controller, ...]:
    """The controllers of the file, each beside the image that the regeneration has for it."""
    found = []
    # Where both are the same text, the file's own images are the release's: nothing is parsed twice.
    objects = base.manifest.objects if base is not None and base.text != manifest.text else {}
    released = {key.name: each for key, each in objects.items() if key.kind == "Deployment"}
    for name, document in deployments(manifest):
        image = image_node(document.node, name)
        shipped = released.get(name)
        if image is not None:
            own = Image.parse(image.value)
            node = image_node(shipped.node, name) if shipped is not None else None
            found.append(Controller(name, own, Image.parse(node.value) if node else own, document.line))
    return tuple(found)


def image_node(deployment: Node, controller: str) -> ScalarNode | None:
    """The node of the controller's image, whatever containers stand beside it; None where there is none."""
    node: Node | None = deployment
    for key in ("spec", "template", "spec", "containers"):
        node = child(node, key) if isinstance(node, MappingNode) else None
    containers = node.value if isinstance(node, SequenceNode) else []
    images = [
        (getattr(child(each, "name"), "value", ""), image)
        for each in containers
        if isinstance(each, MappingNode) and isinstance(image := child(each, "image"), ScalarNode)
    ]
    index = controller_index([(name, image.value) for name, image in images], controller)
    return images[index][1] if index is not None else None


def edits_of(manifest: Manifest, base: Regenerated, controllers: tuple[Controller, ...]) -> Iterator[Edit]:
    """The residue: comments of the file first, then object by object. Raises Unreadable."""
    for text in filter(None, (manifest.comments_above + manifest.comments_below).split("\n")):
        yield Edit(FILE, (), Op.COMMENT, None, text)
    released = base.manifest.objects
    mine = aligned(manifest, released)
    for key in dict.fromkeys([*released, *mine]):
        yield from object_edits(key, released.get(key), mine.get(key), controllers)


def object_edits(
    key: ObjectKey, base: Document | None, mine: Document | None, controllers: tuple[Controller, ...]
) -> Iterator[Edit]:
    """The edits of one object, bumped images undone first; nothing where the texts are equal."""
    if base is not None and mine is not None and base.text == mine.text:
        return
    try:
        yield from differences(key, base.node if base else None, normalized(key, mine, controllers) if mine else None)
    except Unreadable:
        if mine is not None:
            _ = mine.data  # raises the same with the line in the file
        raise
    if base is not None and mine is not None:
        for comment in extract(mine.text, mine.node):
            yield Edit(key, comment.path, Op.COMMENT, None, comment.text)


def normalized(key: ObjectKey, document: Document, controllers: tuple[Controller, ...]) -> Node:
    """The object with a controller's image as the user chose it, without Flux's own bumps."""
    for controller in controllers:
        if key.kind == "Deployment" and controller.name == key.name:
            node: Node = clone(document.node)
            image: Any = image_node(node, controller.name)  # Of the copy, which may be changed
            if image is not None:
                image.value = str(controller.carried)
            return node
    return document.node
