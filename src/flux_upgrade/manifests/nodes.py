"""YAML nodes: composed once for equal texts, read, and compared.

The places of nodes count from the beginning of their text, so that equal texts can share them.
"""

from __future__ import annotations

from collections import OrderedDict
from math import isfinite
from weakref import WeakValueDictionary

import yaml
from yaml.constructor import SafeConstructor

from flux_upgrade.manifests.composing import STR, composed, values
from flux_upgrade.model.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field
    from typing import Any

    from yaml import Mark

    @dataclass(frozen=True)
    class Node:
        """A node of PyYAML that may be in use at several places, and is therefore read-only."""

        tag: str
        value: Any
        start_mark: Mark = field(init=False)
        end_mark: Mark = field(init=False)

    @dataclass(frozen=True)
    class ScalarNode(Node):
        style: str | None = field(default=None, kw_only=True)

    @dataclass(frozen=True)
    class SequenceNode(Node):
        flow_style: bool | None = field(default=None, kw_only=True)

    @dataclass(frozen=True)
    class MappingNode(Node):
        flow_style: bool | None = field(default=None, kw_only=True)

else:
    from yaml import MappingNode, Node, ScalarNode, SequenceNode

_MOST = 1_000_000  # Characters of all documents that are kept. Their nodes take some 20 bytes for each of them.
_LARGEST = 256 * 1024  # Characters of a document that is kept
_NOTHING = ScalarNode("tag:yaml.org,2002:null", "")
# What PyYAML raises for scalars whose tag and text do not fit.
_UNREADABLE = (yaml.YAMLError, ValueError, OverflowError, AttributeError, KeyError, TypeError)


class _Recent:
    """The documents that were used last, by their texts."""

    def __init__(self) -> None:
        self._nodes = OrderedDict[str, Node]()
        self._size = 0

    def remember(self, text: str, node: Node) -> None:
        if text in self._nodes:
            self._nodes.move_to_end(text)
        elif len(text) <= _LARGEST:
            self._nodes[text] = node
            self._size += len(text)
            while self._size > _MOST:
                oldest, _ = self._nodes.popitem(last=False)
                self._size -= len(oldest)


_in_use: WeakValueDictionary[str, Node] = WeakValueDictionary()  # By their texts
_recent = _Recent()


def compose(text: str, line: int = 1) -> Node:
    """One document as nodes, merge keys resolved; equal texts share them. Raises Unreadable.

    ``line``: of the text's first line.
    """
    node: Node | None = _in_use.get(text)
    if node is None:
        node = _in_use[text] = composed(text, line)
    _recent.remember(text, node)
    return node


def construct(node: Node, line: int = 1) -> Any:
    """Plain values of a composed node, as JSON can hold them.

    Raises Unreadable for tags that no manifest has.
    """
    try:
        return _as_json(SafeConstructor().construct_document(node))
    except _UNREADABLE as error:
        at = line + (_culprit(node, SafeConstructor()) or node).start_mark.line
        raise Unreadable(
            f"line {at}: a value that YAML cannot read ({str(error).partition(chr(10))[0]})", hint="fix the file first"
        ) from error


def _culprit(node: Node, loader: SafeConstructor) -> Node | None:
    """The first scalar that cannot be read, or what has keys or a tag that cannot; None where all of it can."""
    for each in values(node):
        found = _culprit(each, loader)
        if found is not None:
            return found
    alone: Any = node
    if isinstance(node, MappingNode):
        alone = yaml.MappingNode(node.tag, [(key, _NOTHING) for key, _ in node.value], node.start_mark)
    elif isinstance(node, SequenceNode):
        alone = yaml.SequenceNode(node.tag, [], node.start_mark)
    try:
        loader.construct_document(alone)
    except _UNREADABLE:
        return node
    return None


def _as_json(value: Any) -> Any:
    """Keys that are no text, dates and infinite numbers as text."""
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value)):
        return value
    return str(value)


def child(mapping: MappingNode, key: str) -> Node | None:
    """The value at ``key``; None where the mapping has no such key."""
    value: Node
    for name, value in mapping.value:
        if name.value == key:
            return value
    return None


def same(a: Node | None, b: Node | None) -> bool:
    """Whether two nodes hold the same data: order of keys, quotes and layout aside."""
    if a is None or b is None or type(a) is not type(b):
        return a is b
    if isinstance(a, ScalarNode):
        return a.tag == b.tag and (a.value == b.value or (a.tag != STR and _scalar(a) == _scalar(b)))
    if isinstance(a, SequenceNode):
        return len(a.value) == len(b.value) and all(map(same, a.value, b.value))
    if len(a.value) != len(b.value):
        return False
    other = {key.value: value for key, value in b.value}
    return all(same(value, other.get(key.value)) for key, value in a.value)


def _scalar(node: Node) -> Any:
    try:
        return SafeConstructor().construct_object(node)
    except _UNREADABLE:
        return node.value
