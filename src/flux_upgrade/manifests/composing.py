"""YAML composed with PyYAML, within bounds: its nodes are settled here, and do not change afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from flux_upgrade.model.errors import Unreadable

_DEEPEST = 200  # Levels. The deepest schema of Flux has some forty.
_MOST_NODES = 50_000  # Of a document, aliases expanded. The largest public CRDs have 11,000.
_MOST_ITEMS = 5_000  # Of all lists of a document: the largest real one has 1,123.
_TOO_MUCH, _TOO_DEEP = "aliases that expand to too much", "nested too deeply"
_LONGEST = 1000  # Characters. What YAML 1.1 reads in base 60 would take time by the square of them.
STR = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_VALUE = "tag:yaml.org,2002:value"
_TEXT_AS_VALUE = (_MERGE, _VALUE)
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


def composed(text: str, line: int) -> Any:
    """One document as nodes, merge keys resolved. Raises Unreadable; ``line``: of the text's first line."""
    try:
        most = _budget(text, line)
        try:
            node = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            if error.problem != "second occurrence":
                raise
            node = _RepeatedAnchorComposer(text).get_single_node()
        if node is None:
            raise Unreadable(f"line {line}: an empty document", hint="remove it")
        _settle(node, line, most, {}, [most, _MOST_ITEMS])
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
        raise Unreadable(f"line {line}: {_TOO_DEEP}", hint="fix the file first") from error
    return node


def _budget(text: str, line: int) -> int:
    """How many nodes a document may have, aliases expanded.

    Raises Unreadable if it has more than that without aliases, or is nested deeply enough to end the process:
    libyaml's composer recurses in C. Nesting takes brackets or long lines, and each node a sign, so that nearly
    every document needs no second look.
    """
    most = min(4 * len(text), _MOST_NODES)
    brackets = text.count("[") + text.count("{")
    signs = brackets + 3 * text.count(":") + 2 * (text.count("-") + text.count(",") + text.count("?"))
    if signs < most and brackets < _DEEPEST and max(map(len, text.splitlines()), default=0) < _DEEPEST:
        return most
    count, depth = 0, 0
    for event in yaml.parse(text, Loader=_Loader):
        count += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            _refuse(line, event, _TOO_DEEP)
        if count > most:
            _refuse(line, event, f"more than {_MOST_NODES:,} values in one document")
    return most


def _refuse(line: int, there: Any, what: str) -> NoReturn:
    raise Unreadable(f"line {line + there.start_mark.line}: {what}", hint="fix the file first")


_Known = dict[int, tuple[Node, int, int]]
"""By id: a node, and how many nodes and levels it comes to, aliases expanded; none while it is not done."""


def _settle(node: Node, line: int, most: int, known: _Known, left: list[int]) -> tuple[int, int]:
    """Refuse cycles, alias bombs and keys given twice; put merge keys (``<<``) in their place.

    Each node is visited once. ``left``: how many nodes merge keys may still come to, and how many items lists may
    still have. Returns how many nodes and levels it comes to.
    """
    if id(node) in known:
        _, size, depth = known[id(node)]
        if not size:
            _refuse(line, node, "an alias to itself")
        return size, depth
    known[id(node)] = node, 0, 0
    if isinstance(node, MappingNode):
        _settle_keys(node, line, most, known, left)
    elif isinstance(node, SequenceNode):
        _settle_items(node, line, left)
    size, depth = 1, 1
    for each in values(node):
        if not isinstance(each, ScalarNode):
            inner, below = _settle(each, line, most, known, left)
            size, depth = size + inner, max(depth, below + 1)
            continue
        size += 1
        if each.tag in _TEXT_AS_VALUE or (each.tag == "tag:yaml.org,2002:int" and len(each.value) > _LONGEST):
            each.tag = STR
    if size > most:
        _refuse(line, node, _TOO_MUCH)
    if depth > _DEEPEST:
        _refuse(line, node, _TOO_DEEP)
    known[id(node)] = node, size, depth
    return size, depth


def _settle_items(node: SequenceNode, line: int, left: list[int]) -> None:
    left[1] -= len(node.value)
    if left[1] < 0:
        _refuse(line, node, f"lists with more than {_MOST_ITEMS:,} items in one document")
    node.value = tuple(node.value)


def _settle_keys(node: MappingNode, line: int, most: int, known: _Known, left: list[int]) -> None:
    seen, has_merge = set[str](), False
    for key, value in node.value:
        name = key.value if isinstance(key, ScalarNode) else None
        if name is None or (name in seen and key.tag != _MERGE):
            what = "a key that is not text" if name is None else f"the key '{name}' is given twice"
            _refuse(line, key, what)
        seen.add(name)
        if key.tag == _VALUE and node.tag == "tag:yaml.org,2002:map":
            key.tag = STR  # As PyYAML has it, where it makes a value of the mapping
        if key.tag == _MERGE:
            has_merge = True
            left[0] -= len(node.value)  # PyYAML moves what follows a merge key
            for each in value.value if isinstance(value, SequenceNode) else [value]:
                left[0] -= _settle(each, line, most, known, left)[0]
                if left[0] < 0:
                    _refuse(line, node, _TOO_MUCH)
    if has_merge:
        SafeConstructor().flatten_mapping(node)
        node.value = {key.value: (key, value) for key, value in node.value}.values()
    node.value = tuple(node.value)


def values(node: Any) -> Sequence[Any]:
    """Of a mapping or a list; a scalar has none."""
    if isinstance(node, MappingNode):
        return [value for _, value in node.value]
    return node.value if isinstance(node, SequenceNode) else []
