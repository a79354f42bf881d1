"""YAML nodes made, copied, and written in Flux's own form.

libyaml's emitter, given a composed node, writes the form in which kustomize
wrote it (both descend from the same emitter), so an object that was edited is
serialized again and every untouched line of it comes out as it went in; the
conformance test holds this for every document of every release.
"""

from __future__ import annotations

from typing import Any

import yaml

from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def represent(data: Any) -> Node:
    """Plain values as nodes, to compare them as such."""
    representer: Any = yaml.representer.SafeRepresenter(sort_keys=False)
    node: Node = representer.represent_data(data)
    return node


def clone(node: Node | None) -> Any:
    """A copy that shares nothing, in block style, so that it serializes without anchors."""
    if isinstance(node, MappingNode):
        entries = [(clone_scalar(key), clone(value)) for key, value in node.value]
        return MappingNode(node.tag, entries, flow_style=False)
    if isinstance(node, SequenceNode):
        return SequenceNode(node.tag, [clone(item) for item in node.value], flow_style=False)
    return None if node is None else clone_scalar(node)


def clone_scalar(node: Node) -> ScalarNode:
    return ScalarNode(node.tag, node.value, style=getattr(node, "style", None))


def serialize(node: Node) -> str:
    """The document in Flux's own form: block style, 80 columns, no comments."""
    text: str = yaml.serialize(node, Dumper=_Dumper, width=80, allow_unicode=True)
    # libyaml ends a document that an open-ended scalar closes with "..."; "---" does as well.
    return text.removesuffix("...\n") if text.endswith("\n...\n") else text
