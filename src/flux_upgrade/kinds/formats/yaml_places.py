"""YAML with the places of its values: what is at a path, and which characters of the file say so.

A file is cut into documents where YAML cuts it, so that one that is broken, or a
template, spoils no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flux_upgrade.errors import Unreadable
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, compose, construct
from flux_upgrade.textedit import Replacement, decoded, line_of
from flux_upgrade.values import NamedTuple

_SEPARATOR = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{|\$\(|\{\{|<<|\{%|<%|@@|%\(|\$[A-Za-z_]")
"""How templates and substitutions begin: Flux's, kustomize's, Helm's, GitHub's, Jinja's, ERB's."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Step = str | int


def is_variable(text: str) -> bool:
    """Whether something is to be put in for (a part of) the text before it is used."""
    return _VARIABLE.search(text) is not None


class Value(NamedTuple):
    """A scalar, and where it stands."""

    text: str
    """As it stands in the file: ``2.10`` is no number here."""
    start: int
    """Offset of its first character, behind the quote; see ``textedit``."""
    end: int
    line: int
    """1-based."""
    reason: str = ""
    """Why its text must not be replaced; empty where it may be."""

    def replaced(self, new: str) -> Replacement:
        """Its text gives way to ``new``, which needs no other quotes than ``text`` did."""
        return Replacement(self.start, self.end, self.text, new)


def as_number(value: Value, content: bytes) -> str:
    """Why a version that YAML reads as a number is not to be changed; empty for any other text.

    ``content``: of its file.
    """
    if _NUMBER.fullmatch(value.text) is None or decoded(content)[value.start - 1] in "'\"":
        return ""
    return f"{value.text} is a number for YAML, and 2.10 would be 2.1"


@dataclass(frozen=True)
class Object:
    """A mapping of a file: a document, or an item of a Kubernetes List."""

    node: MappingNode
    line: int
    """1-based, of its first line."""
    _text: str
    _begin: int
    _first: int
    _shared: frozenset[int]

    def data(self) -> Any:
        """Plain values. Raises Unreadable."""
        return construct(self.node, self._first)

    def at(self, *path: Step) -> Value | None:
        """The scalar at a path of keys and indices; None where there is none, or something else."""
        node, is_shared = self._walk(path)
        if not isinstance(node, ScalarNode):
            return None
        return self._value(node, is_shared=is_shared)

    def has(self, *path: Step) -> bool:
        """Whether there is anything at the path."""
        return self._walk(path)[0] is not None

    def line_at(self, *path: Step) -> int:
        """The line of what stands at the path, 1-based; the object's own where nothing does."""
        node, _ = self._walk(path)
        return self.line if node is None else line_of(self._text, self._begin + node.start_mark.index)

    def text_at(self, *path: Step) -> str:
        """The scalar's text; empty where there is none."""
        node, _ = self._walk(path)
        return node.value if isinstance(node, ScalarNode) else ""

    def count(self, *path: Step) -> int:
        """Items of the list at the path; 0 where there is none."""
        node, _ = self._walk(path)
        return len(node.value) if isinstance(node, SequenceNode) else 0

    def keys(self, *path: Step) -> tuple[str, ...]:
        """Keys of the mapping at the path; none where there is none."""
        node, _ = self._walk(path)
        return tuple(key.value for key, _ in node.value) if isinstance(node, MappingNode) else ()

    def _walk(self, path: tuple[Step, ...]) -> tuple[Node | None, bool]:
        node: Node | None = self.node
        is_shared = id(node) in self._shared
        for step in path:
            node = _child(node, step)
            is_shared = is_shared or id(node) in self._shared
        return node, is_shared

    def _value(self, node: ScalarNode, *, is_shared: bool) -> Value:
        start = self._begin + node.start_mark.index
        end = self._begin + node.end_mark.index
        quoted = node.style in ("'", '"')
        inner = (start + 1, end - 1) if quoted else (start, end)
        reason = ""
        if is_shared:
            reason = "an anchor or an alias stands for it"
        elif self._text[inner[0] : inner[1]] != node.value:
            reason = "it is spelled with a tag, escapes or line breaks"
        # libyaml begins a line at more characters than other tools do: at U+2028, say.
        return Value(node.value, *inner, line_of(self._text, start), reason)


class Broken(NamedTuple):
    """A document that cannot be read."""

    line: int
    text: str
    message: str


def objects(content: bytes) -> Iterator[Object | Broken]:
    """Every mapping of a file, items of Lists by themselves, and the documents that cannot be read."""
    text = decoded(content)
    line, counted = 1, 0
    for begin, end in _documents(text):
        part = text[begin:end]
        line, counted = line + text.count("\n", counted, begin), begin
        # libyaml does not count a byte order mark.
        mark = len(part) - len(part.removeprefix("\ufeff"))
        if not any(row.strip() and not row.lstrip().startswith("#") for row in part[mark:].split("\n")):
            continue
        try:
            node = compose(part[mark:], line)
            shared = _shared(node)
        except Unreadable as error:
            yield Broken(line, part, error.message)
            continue
        for each in _items(node):
            first = line_of(text, begin + mark + each.start_mark.index)
            yield Object(each, first, text, begin + mark, line, shared)


def readable(content: bytes) -> Iterator[Object]:
    """Those of ``objects`` that can be read."""
    return (each for each in objects(content) if isinstance(each, Object))


def _documents(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    for match in _SEPARATOR.finditer(text):
        yield position, match.start()
        position = match.end()
    yield position, len(text)


def _items(node: Node) -> Iterator[MappingNode]:
    if not isinstance(node, MappingNode):
        return
    kind, items = _child(node, "kind"), _child(node, "items")
    if isinstance(kind, ScalarNode) and kind.value.endswith("List") and isinstance(items, SequenceNode):
        yield from (each for each in items.value if isinstance(each, MappingNode))
    else:
        yield node


def _child(node: Node | None, step: Step) -> Node | None:
    found: Node | None = None
    if isinstance(node, MappingNode) and isinstance(step, str):
        found = next((value for key, value in node.value if key.value == step), None)
    elif isinstance(node, SequenceNode) and isinstance(step, int) and -1 <= step < len(node.value):
        found = node.value[step]
    return found


def _shared(root: Node) -> frozenset[int]:
    """Nodes that stand in more than one place: an alias leads to them, or a merge key."""
    seen: set[int] = set()
    shared: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            shared.add(id(node))
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            waiting += [value for _, value in node.value]
        elif isinstance(node, SequenceNode):
            waiting += node.value
    return frozenset(shared)
