"""JSON patches (RFC 6902) whose target names a version: what they say of the object, as a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds.formats.yaml_places import readable
from flux_upgrade.manifests.lists import child
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, compose, construct
from flux_upgrade.resources.flux_file import FluxFile
from flux_upgrade.resources.use import Use


def operated(file: FluxFile, use: Use) -> Iterator[Any]:
    """For each operation of the patch beside a target, an object that has nothing but what it is about."""
    for each in readable(file.content):
        for entry in _mappings(each.node):
            target, patch = child(entry, "target"), child(entry, "patch")
            version = child(target, "version") if isinstance(target, MappingNode) else None
            if isinstance(version, ScalarNode) and each.document.value(version).start == use.start:
                yield from _parts(patch)


def _mappings(node: Node) -> Iterator[MappingNode]:
    if isinstance(node, MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _mappings(item)


def _parts(patch: Node | None) -> Iterator[Any]:
    """``patch`` is a text, in Flux's ``patchesJson6902`` the operations themselves, or stands elsewhere."""
    try:
        written = compose(patch.value) if isinstance(patch, ScalarNode) else patch
        operations = construct(written) if isinstance(written, SequenceNode) else []
    except Unreadable:
        return
    for each in operations:
        if isinstance(each, dict) and isinstance(each.get("path"), str):
            data = each.get("value") or ""
            for key in reversed(each["path"].strip("/").split("/")):
                data = [data] if key == "-" or key.isdigit() else {key: data}
            yield data
