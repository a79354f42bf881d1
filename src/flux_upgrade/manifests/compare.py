"""A file beside a regeneration: its controllers, and its residue object by object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flux_upgrade.manifests.comments import extract
from flux_upgrade.manifests.documents import Document, Manifest, ObjectKey
from flux_upgrade.manifests.images import Controller, Image, controller_index
from flux_upgrade.manifests.infer import deployments
from flux_upgrade.manifests.lists import child
from flux_upgrade.manifests.merge import clone
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.manifests.regenerate import Regenerated
from flux_upgrade.manifests.residue import Edit, Op, differences
from flux_upgrade.model.errors import Unreadable

FILE = ObjectKey("", "File", "", "")
"""Stands for what belongs to the file and to none of its objects."""


def aligned(documents: Iterable[Document], known: Mapping[ObjectKey, object]) -> dict[ObjectKey, Document]:
    """Documents by object, as ``known`` names them: group, kind and name tell, whatever the namespace.

    An object whose namespace was edited or left out is still Flux's own.
    """
    exact = {document.key: document for document in documents}
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
    differs = base is not None and base.text != manifest.text
    released = (
        {key.name: each for key, each in base.documents.items() if key.kind == "Deployment"}
        if base is not None and differs
        else {}
    )
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
    mine = aligned(manifest.documents, base.documents)
    for key in dict.fromkeys([*base.documents, *mine]):
        yield from object_edits(key, base.documents.get(key), mine.get(key), controllers)


def object_edits(
    key: ObjectKey, base: Document | None, mine: Document | None, controllers: tuple[Controller, ...]
) -> Iterator[Edit]:
    """The edits of one object, bumped images undone first; nothing where the texts are equal."""
    if base is not None and mine is not None and base.text == mine.text:
        return
    try:
        yield from differences(
            key, base.node if base else None, normalized(key, mine, controllers) if mine else None
        )
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
            image = image_node(node, controller.name)
            if image is not None:
                image.value = str(controller.carried)
            return node
    return document.node
