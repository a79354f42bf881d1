"""YAML with the places of its values: what is at a path, and which characters of the file say so.

A file is cut into documents where YAML cuts it, so that one that is broken, or a
template, spoils no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, compose, construct
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import TextEdit, decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.passages import Passage, whole

_SEPARATOR = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_CONTENT = re.compile(r"^[^\S\n]*+[^\s#]", re.MULTILINE)  # A line that is neither blank nor a comment
_VARIABLE = re.compile(r"\$\{|\$\(|\{\{|<<|\{%|<%|@@|%\(|%\{|\$[A-Za-z_]")
"""How templates and substitutions begin: Flux's, kustomize's, Helm's, GitHub's, Jinja's, ERB's,
Terraform's."""

_LARGE = 20  # Keys of a mapping from which on it pays to index them
MOST_DOCUMENTS = 2_000  # Of a file, and items of its Kubernetes Lists. The largest real one has 39.
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Step = str | int


def is_variable(text: str) -> bool:
    """Whether something is to be put in for (a part of) the text before it is used."""
    return _VARIABLE.search(text) is not None


class Value(NamedTuple):
    """A scalar, and where it stands."""

    text: str  # As it stands in the file: `2.10` is no number here
    start: int  # Offset of its first character, behind the quote; see `TextEdit`
    end: int
    line: int  # 1-based
    reason: str = ""  # Why its text must not be replaced; empty where it may be

    def replaced(self, new: str) -> TextEdit:
        """Its text gives way to ``new``, which needs no other quotes than ``text`` did."""
        return TextEdit(self.start, self.end, self.text, new)

    def part(self, start: int, end: int) -> Value:
        """Some of its characters. All of them stand in the file as they are, unless it has a reason."""
        return self._replace(text=self.text[start:end], start=self.start + start, end=self.start + end)


def as_number(value: Value, content: bytes) -> str:
    """Why a version that YAML reads as a number is not to be changed; empty for any other text.

    ``content``: of its file.
    """
    if _NUMBER.fullmatch(value.text) is None or decoded(content)[value.start - 1] in "'\"":
        return ""
    return f"YAML reads {value.text} as a number, and 2.10 as 2.1"


@dataclass(frozen=True)
class YamlDocument:
    passage: Passage
    begin: int  # Offset in the passage of its first character; libyaml does not count a byte order mark before it
    end: int
    is_rest: bool = False  # Whether it is all that follows, because there are too many of them
    keys: dict[int, dict[str, Node]] = field(default_factory=dict, compare=False)
    """By the ids of large mappings, as far as they were asked about: what is at each key."""

    @cached_property
    def line(self) -> int:
        """1-based, in the file."""
        return self.passage.line(self.passage.offsets[self.begin])

    @cached_property
    def text(self) -> str:
        """Without a byte order mark."""
        return self.passage.text[self.begin : self.end]

    @property
    def root(self) -> Node:
        """Composed, once. Raises Unreadable."""
        if isinstance(self._composed, Unreadable):
            raise self._composed.with_traceback(None)
        return self._composed

    @cached_property
    def _composed(self) -> Node | Unreadable:
        if self.is_rest:
            what = f"line {self.line}: more than {MOST_DOCUMENTS:,} documents in one file"
            return Unreadable(what, hint="split the file")
        try:
            return compose(self.text, self.line)
        except Unreadable as error:
            return error

    @cached_property
    def shared(self) -> frozenset[int]:
        """Ids of the nodes that stand in more than one place."""
        return _shared(self.root) if "&" in self.text else frozenset()

    def offset(self, index: int) -> int:
        """In the file, of a character of the document."""
        return self.passage.offsets[self.begin + index]

    def value(self, node: ScalarNode, *, is_shared: bool = False) -> Value:
        """A scalar of the document; ``is_shared``: by something that it is a part of."""
        is_quoted = node.style in ("'", '"')
        start = self.offset(node.start_mark.index + is_quoted)
        end = self.offset(node.end_mark.index - is_quoted)
        written, reason = self.passage.file[start:end], ""
        # Of a template, the file has the action where the document has other text: see `go_templates`.
        text = written if "{{" in written and len(written) == len(node.value) else node.value
        if is_shared or id(node) in self.shared:
            reason = "it uses a YAML anchor or alias"
        elif written != text:
            reason = "it contains a YAML tag, escapes or line breaks"
        # libyaml begins a line at more characters than other tools do: at U+2028, say.
        return Value(text, start, end, self.passage.line(start), reason)


@dataclass(frozen=True)
class Object:
    """A mapping of a file: a document, an item of a Kubernetes List, or whatever is asked for."""

    document: YamlDocument
    node: MappingNode
    maker: Object | None = field(default=None, compare=False, kw_only=True)  # The ResourceSet that it is made from

    @property
    def line(self) -> int:
        """1-based, of its first line."""
        return self.document.passage.line(self.document.offset(self.node.start_mark.index))

    def data(self) -> Any:
        """Plain values. Raises Unreadable."""
        return construct(self.node, self.document.line)

    @cached_property
    def text(self) -> str:
        """As it is in the file, without the blanks before its first line."""
        begin, end = (self.document.offset(mark.index) for mark in (self.node.start_mark, self.node.end_mark))
        return self.document.passage.file[begin:end]

    def below(self, *path: Step) -> Object | None:
        """The mapping at the path; None where there is none."""
        node, _ = self._walk(path)
        return replace(self, node=node) if isinstance(node, MappingNode) else None

    def passage_at(self, *path: Step) -> Passage | None:
        """The text at the path, to be read by itself; None where there is none, or its places are unknown."""
        node, _ = self._walk(path)
        return self.document.passage.within(self.document.begin, node) if isinstance(node, ScalarNode) else None

    def at(self, *path: Step) -> Value | None:
        """The scalar at a path of keys and indices; None where there is none, or something else."""
        node, is_shared = self._walk(path)
        if not isinstance(node, ScalarNode):
            return None
        return self.document.value(node, is_shared=is_shared)

    def identity(self, *path: Step) -> tuple[int, int]:
        """The same for whatever is one thing in the document, as by an alias; while the document is kept."""
        return id(self.document), id(self._walk(path)[0])

    def has(self, *path: Step) -> bool:
        return self._walk(path)[0] is not None

    def line_at(self, *path: Step) -> int:
        """The line of what stands at the path, 1-based; the object's own where nothing does."""
        node, _ = self._walk(path)
        if node is None:
            return self.line
        return self.document.passage.line(self.document.offset(node.start_mark.index))

    def key_line_at(self, *path: Step) -> int:
        """The line of the key that leads to what is at the path; for an item of a list, as ``line_at``."""
        parent, _ = self._walk(path[:-1])
        entries = parent.value if isinstance(parent, MappingNode) else ()
        key = next((key for key, _ in entries if key.value == path[-1]), None)
        if key is None:
            return self.line_at(*path)
        return self.document.passage.line(self.document.offset(key.start_mark.index))

    def text_at(self, *path: Step) -> str:
        """The scalar's text; empty where there is none."""
        node, _ = self._walk(path)
        if not isinstance(node, ScalarNode):
            return ""
        return self.document.value(node).text if "<<" in node.value else node.value

    def called(self, *above: Step) -> str:
        """``HelmRelease flux-system/flux``, by what stands below ``above``; as much of it as there is."""
        name, namespace = (self.text_at(*above, "metadata", key) for key in ("name", "namespace"))
        own = f"{self.text_at(*above, 'kind')} {f'{namespace}/' if namespace else ''}{name}".strip()
        return f"{self.maker.called()}, {own}" if self.maker else own

    def count(self, *path: Step) -> int:
        """Items of the list at the path; 0 where there is none."""
        node, _ = self._walk(path)
        return len(node.value) if isinstance(node, SequenceNode) else 0

    def entries(self, *path: Step) -> Iterator[tuple[Step, ...]]:
        return ((*path, index) for index in range(self.count(*path)))

    def scalars(self, *path: Step) -> Iterator[Value]:
        """The items of the list at the path that are scalars."""
        return (value for entry in self.entries(*path) if (value := self.at(*entry)) is not None)

    def keys(self, *path: Step) -> tuple[str, ...]:
        """Keys of the mapping at the path; none where there is none."""
        node, _ = self._walk(path)
        return tuple(key.value for key, _ in node.value) if isinstance(node, MappingNode) else ()

    def _walk(self, path: tuple[Step, ...]) -> tuple[Node | None, bool]:
        node: Node | None = self.node
        shared = self.document.shared
        is_shared = id(node) in shared
        for step in path:
            node = _child(node, step, self.document.keys)
            is_shared = is_shared or id(node) in shared
        return node, is_shared


def dotted(path: Sequence[Step]) -> str:
    """``spec.containers[0].image``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


class BrokenDocument(NamedTuple):
    """A document that cannot be read."""

    line: int
    text: str
    message: str
    is_rest: bool = False  # Whether it is all that follows, because there are too many documents


@lru_cache(maxsize=8)
def objects(content: bytes) -> tuple[Object | BrokenDocument, ...]:
    """Every mapping of a file, items of Lists by themselves, and the documents that cannot be read.

    Kept for a while: a file is read by one kind of version references after the other.
    """
    return tuple(each for document in documents_of(content) for each in objects_of(document))


def documents_of(content: bytes) -> tuple[YamlDocument, ...]:
    """The ``documents`` of a file."""
    return tuple(documents(whole(decoded(content))))


def objects_of(document: YamlDocument) -> Iterator[Object | BrokenDocument]:
    """The ``objects`` of one document."""
    try:
        items = tuple(_items(document.root))
    except Unreadable as error:
        yield BrokenDocument(document.line, document.text, error.message, document.is_rest)
        return
    yield from (Object(document, each) for each in items)


def readable(content: bytes) -> Iterator[Object]:
    """The ``objects`` that can be read."""
    return (each for each in objects(content) if isinstance(each, Object))


def documents(passage: Passage) -> Iterator[YamlDocument]:
    """The documents of a passage that hold more than comments, cut where YAML cuts them."""
    text, position = passage.text, 0
    for count, match in enumerate([*_SEPARATOR.finditer(text), None]):
        if count >= MOST_DOCUMENTS:
            yield YamlDocument(passage, position, len(text), is_rest=True)
            return
        end = match.start() if match else len(text)
        begin = position + text.startswith("\ufeff", position)
        if _CONTENT.search(text[begin:end]):
            yield YamlDocument(passage, begin, end)
        position = match.end() if match else end


def _items(node: Node) -> Iterator[MappingNode]:
    if not isinstance(node, MappingNode):
        return
    kind, items = _child(node, "kind"), _child(node, "items")
    if isinstance(kind, ScalarNode) and kind.value.endswith("List") and isinstance(items, SequenceNode):
        yield from (each for each in items.value if isinstance(each, MappingNode))
    else:
        yield node


def _child(node: Node | None, step: Step, keys: dict[int, dict[str, Node]] | None = None) -> Node | None:
    found: Node | None = None
    if isinstance(node, MappingNode) and isinstance(step, str):
        if keys is None or len(node.value) < _LARGE:
            return next((value for key, value in node.value if key.value == step), None)
        if id(node) not in keys:
            keys[id(node)] = {key.value: value for key, value in node.value}
        found = keys[id(node)].get(step)
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
