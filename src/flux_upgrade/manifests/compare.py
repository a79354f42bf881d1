"""A file beside a regeneration: its controllers, and its residue object by object."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.manifests.comments import extract
from flux_upgrade.manifests.documents import Document, Manifest, ObjectKey
from flux_upgrade.manifests.images import Controller, Image
from flux_upgrade.manifests.infer import deployments
from flux_upgrade.manifests.lists import child
from flux_upgrade.manifests.merge import clone
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.manifests.regenerate import Regenerated
from flux_upgrade.manifests.residue import Edit, Op, differences

FILE = ObjectKey("", "File", "", "")
"""Stands for what belongs to the file and to none of its objects."""


def controllers_of(manifest: Manifest, base: Regenerated | None) -> tuple[Controller, ...]:
    """The controllers of the file, each beside the image that the regeneration has for it."""
    found = []
    for name, document in deployments(manifest):
        image = _image(document.node)
        shipped = base.documents.get(document.key) if base is not None else None
        if image is not None:
            own = Image.parse(image.value)
            node = _image(shipped.node) if shipped is not None else None
            found.append(Controller(name, own, Image.parse(node.value) if node else own, document.line))
    return tuple(found)


def _image(deployment: Node) -> ScalarNode | None:
    """The node of a Deployment's first image; None where there is none."""
    node: Node | None = deployment
    for key in ("spec", "template", "spec", "containers"):
        node = child(node, key) if isinstance(node, MappingNode) else None
    if not isinstance(node, SequenceNode) or not node.value or not isinstance(node.value[0], MappingNode):
        return None
    image = child(node.value[0], "image")
    return image if isinstance(image, ScalarNode) else None


def edits_of(manifest: Manifest, base: Regenerated, controllers: tuple[Controller, ...]) -> Iterator[Edit]:
    """The residue: comments of the file first, then object by object. Raises Unreadable."""
    for text in filter(None, (manifest.comments_above + manifest.comments_below).split("\n")):
        yield Edit(FILE, (), Op.COMMENT, None, text)
    mine = {document.key: document for document in manifest.documents}
    for key in dict.fromkeys([*base.documents, *mine]):
        yield from object_edits(key, base.documents.get(key), mine.get(key), controllers)


def object_edits(
    key: ObjectKey, base: Document | None, mine: Document | None, controllers: tuple[Controller, ...]
) -> Iterator[Edit]:
    """The edits of one object, bumped images undone first; nothing where the texts are equal."""
    if base is not None and mine is not None and base.text == mine.text:
        return
    yield from differences(
        key, base.node if base else None, normalized(key, mine, controllers) if mine else None
    )
    if base is not None and mine is not None:
        for comment in extract(mine.text, mine.node):
            yield Edit(key, comment.path, Op.COMMENT, None, comment.text)


def normalized(key: ObjectKey, document: Document, controllers: tuple[Controller, ...]) -> Node:
    """The object with a controller's image as the user chose it, without Flux's own bumps."""
    for controller in controllers:
        if key.kind == "Deployment" and controller.name == key.name:
            node: Node = clone(document.node)
            image = _image(node)
            if image is not None:
                image.value = str(controller.carried)
            return node
    return document.node
