"""YAML nodes: composed within bounds, read, and compared."""

from __future__ import annotations

from math import isfinite
from typing import Any

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode
from yaml.composer import Composer
from yaml.resolver import Resolver

from flux_upgrade.model.errors import Unreadable

_MOST_NODES = 1_000_000
_DEEPEST = 200  # Levels. The deepest schema of Flux has some forty.
_STR = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_TEXT_AS_VALUE = (_MERGE, "tag:yaml.org,2002:value")
"""A plain ``<<`` or ``=`` in YAML 1.1. As values they are text, as in sigs.k8s.io/yaml: the Prometheus
Operator's CRDs have enums with ``=``.
"""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _RepeatedAnchorComposer(Composer, Resolver):
    """Takes an anchor that is set a second time, as YAML has it (https://yaml.org/spec/1.2.2/#71-alias-nodes).

    The nodes are made by PyYAML's own composer, of libyaml's events.
    """

    def __init__(self, text: str) -> None:
        Composer.__init__(self)
        Resolver.__init__(self)
        events = _Loader(text)
        self.check_event, self.peek_event = events.check_event, events.peek_event
        self.get_event = events.get_event

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        """The next node. PyYAML's own composer refuses such an anchor; so does libyaml's, which is faster."""
        if not self.check_event(yaml.AliasEvent):
            self.anchors.pop(self.peek_event().anchor, None)
        node: Node | None = super().compose_node(parent, index)
        return node


# What PyYAML raises for scalars whose tag and text do not fit.
_UNREADABLE = (yaml.YAMLError, ValueError, OverflowError, AttributeError, KeyError, TypeError)

# PyYAML's, for those who work with nodes.
__all__ = ["MappingNode", "Node", "ScalarNode", "SequenceNode"]


def compose(text: str, line: int = 1) -> Node:
    """One document as nodes, merge keys resolved. Raises Unreadable; ``line``: of the text's first line."""
    try:
        _refuse_depth(text)
        try:
            node = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            if error.problem != "second occurrence":
                raise
            node = _RepeatedAnchorComposer(text).get_single_node()
        if node is None:
            raise Unreadable(f"line {line}: an empty document", hint="remove it")
        _settle(node, line, frozenset(), [_MOST_NODES])
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        # A character that YAML does not know has a position instead of a mark; one that is none, a start.
        position = getattr(error, "position", getattr(error, "start", 0))
        at = line + (mark.line if mark is not None else text.count("\n", 0, position))
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        if isinstance(error, UnicodeEncodeError):
            problem = "bytes that are not UTF-8"
        raise Unreadable(f"line {at} is not valid YAML: {problem}", hint="fix the file first") from error
    except RecursionError as error:
        raise Unreadable(f"line {line}: nested too deeply", hint="fix the file first") from error
    return node


def _refuse_depth(text: str) -> None:
    """A document nested deeply enough ends the process: libyaml's composer recurses in C.

    Nesting takes brackets or long lines, so that nearly every document needs no
    second look. Raises RecursionError.
    """
    brackets = text.count("[") + text.count("{")
    if brackets < _DEEPEST and max(map(len, text.splitlines()), default=0) < _DEEPEST:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise RecursionError


def _settle(node: Node, line: int, above: frozenset[int], left: list[int]) -> None:
    """Refuse cycles, alias bombs and keys given twice; put merge keys (``<<``) in their place."""
    left[0] -= 1
    if id(node) in above or left[0] < 0:
        what = "an alias to itself" if left[0] >= 0 else "aliases that expand to too much"
        raise Unreadable(f"line {line + node.start_mark.line}: {what}", hint="fix the file first")
    if isinstance(node, MappingNode):
        seen, has_merge = set[str](), False
        for key, _ in node.value:
            name = key.value if isinstance(key, ScalarNode) else None
            if name is None or (name in seen and key.tag != _MERGE):
                what = "a key that is not text" if name is None else f"the key '{name}' is given twice"
                raise Unreadable(f"line {line + key.start_mark.line}: {what}", hint="fix the file first")
            seen.add(name)
            has_merge = has_merge or key.tag == _MERGE
        if has_merge:
            yaml.SafeLoader("").flatten_mapping(node)
            node.value = list({key.value: (key, value) for key, value in node.value}.values())
    for each in _values(node):
        if not isinstance(each, ScalarNode):
            _settle(each, line, above | {id(node)}, left)
        elif each.tag in _TEXT_AS_VALUE:
            each.tag = _STR


def _values(node: Node) -> list[Node]:
    """Of a mapping or a list; a scalar has none."""
    if isinstance(node, MappingNode):
        return [value for _, value in node.value]
    return node.value if isinstance(node, SequenceNode) else []


def construct(node: Node, line: int = 1) -> Any:
    """Plain values of a composed node, as JSON can hold them.

    Raises Unreadable for tags that no manifest has.
    """
    try:
        return _as_json(yaml.SafeLoader("").construct_document(node))
    except _UNREADABLE as error:
        at = line + _culprit(node).start_mark.line
        raise Unreadable(
            f"line {at}: a value that YAML cannot read ({str(error).partition(chr(10))[0]})", hint="fix the file first"
        ) from error


def _culprit(node: Node) -> Node:
    """The first scalar that cannot be read; ``node`` itself where all of them can."""
    for each in _values(node):
        try:
            yaml.SafeLoader("").construct_document(each)
        except _UNREADABLE:
            return _culprit(each)
    return node


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
        return a.tag == b.tag and (a.value == b.value or (a.tag != _STR and _scalar(a) == _scalar(b)))
    if isinstance(a, SequenceNode):
        return len(a.value) == len(b.value) and all(map(same, a.value, b.value))
    if len(a.value) != len(b.value):
        return False
    other = {key.value: value for key, value in b.value}
    return all(same(value, other.get(key.value)) for key, value in a.value)


def _scalar(node: Node) -> Any:
    try:
        return yaml.SafeLoader("").construct_object(node)
    except _UNREADABLE:
        return node.value
