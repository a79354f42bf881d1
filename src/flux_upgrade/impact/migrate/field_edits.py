"""Fields of a manifest as text: taken out, renamed, put elsewhere; every other character stays.

Places are those of the YAML nodes, which count from the document's first character. What
comes out are replacements in the file, also where the document is a text inside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.model.text import TextEdit
from flux_upgrade.snapshot.yaml_places import Object, Step, YamlDocument

_BLOCK = ("|", ">")
_COMMENT = re.compile(r"[ \t]*(?:(?<=[ \t])#.*)?")
_FLOW = re.compile(r"[,\[\]{}]")


class Unsafe(Exception):
    """The text does not have the shape that an edit is made for; the message is a clause that says why."""


@dataclass(frozen=True)
class DocumentText:
    document: YamlDocument

    @property
    def text(self) -> str:
        """Its characters; the marks of nodes are indices in it."""
        return self.document.text

    def replaced(self, start: int, end: int, new: str) -> TextEdit:
        """What stands between two places gives way. Raises Unsafe."""
        file = self.document.passage.file
        first, last = self.document.offset(start), self.document.offset(end)
        if "\n" in new:
            new = new.replace("\n", self._line_break(start))
        return TextEdit(first, last, file[first:last], new)

    def inserted(self, at: int, new: str) -> TextEdit:
        """New text before an index. Raises Unsafe."""
        return self.replaced(at, at, new)

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        found = self.text.find("\n", at)
        end = len(self.text) if found < 0 else found
        return end - (end > at and self.text[end - 1] == "\r")

    def column(self, at: int) -> int:
        """0-based."""
        return at - self.line_start(at)

    def end(self, node: Node) -> int:
        """Behind the last character of a value, comments and blank lines after it left aside."""
        if isinstance(node, ScalarNode):
            start, end = node.start_mark.index, node.end_mark.index
            return start + len(self.text[start:end].rstrip()) if node.style in _BLOCK else int(end)
        if in_flow(node) or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        return max(self.end(last[1]), last[0].end_mark.index) if isinstance(last, tuple) else self.end(last)

    def _line_break(self, at: int) -> str:
        """As in the line of a place, with the margin of a text that stands indented in the file."""
        file, offset = self.document.passage.file, self.document.offset
        start = offset(self.line_start(at))
        margin = file[file.rfind("\n", 0, start) + 1 : start]
        breaks = (index for index, character in enumerate(self.text) if character == "\n")
        if margin.strip(" ") or any(file[offset(each)] not in "\r\n" for each in breaks):
            raise Unsafe("it is in a single-line text")
        end = file.find("\n", start)
        end = end if end >= 0 else file.rfind("\n")
        return ("\r\n" if file[max(end - 1, 0)] == "\r" else "\n") + margin


@dataclass(frozen=True)
class Field:
    page: DocumentText
    parent: MappingNode
    key: ScalarNode
    value: Node

    @property
    def start(self) -> int:
        return int(self.key.start_mark.index)

    @property
    def end(self) -> int:
        return max(self.page.end(self.value), self.key.end_mark.index)

    @property
    def adjacent(self) -> tuple[Field | None, Field | None]:
        """The fields before and behind it in the mapping."""
        index = next(at for at, (key, _) in enumerate(self.parent.value) if key is self.key)
        fields = [None, *(Field(self.page, self.parent, *pair) for pair in self.parent.value), None]
        return fields[index], fields[index + 2]

    def renamed(self, name: str) -> TextEdit:
        """Raises Unsafe."""
        start, end = self.key.start_mark.index, self.key.end_mark.index
        quotes = self.key.style in ("'", '"')
        if self.page.text[start + quotes : end - quotes] != self.key.value:
            raise Unsafe("its name contains a YAML tag, escapes or an anchor")
        return self.page.replaced(start + quotes, end - quotes, name)


def field(each: Object, *path: Step) -> Field:
    """The field at a path, which must be there. Raises Unsafe where something else shares it."""
    page, shared = DocumentText(each.document), each.document.shared
    parent: Node = each.node
    found: Field | None = None
    for step in path:
        if id(parent) in shared:
            raise Unsafe("it uses a YAML anchor or alias")
        if isinstance(parent, MappingNode):
            found = Field(page, parent, *next(pair for pair in parent.value if pair[0].value == step))
            parent = found.value
        elif isinstance(parent, SequenceNode) and isinstance(step, int):
            parent = parent.value[step]
    # What begins with these has an anchor, which may be referred to, or a tag.
    if found is None or id(parent) in shared or page.text[parent.start_mark.index :][:1] in ("&", "!"):
        raise Unsafe("it uses a YAML anchor or alias")
    return found


def without(each: Object, *path: Step) -> TextEdit:
    """The field at a path is gone, and what would be left empty by that with it. Raises Unsafe."""
    found = field(each, *path)
    if len(found.parent.value) == 1:
        if not path[:-1] or isinstance(path[-2], int):
            raise Unsafe("its mapping would be empty")
        return without(each, *path[:-1])
    return _without_in_flow(found) if in_flow(found.parent) else _without_lines(found)


def _without_lines(found: Field) -> TextEdit:
    page, text = found.page, found.page.text
    start = page.line_start(found.start)
    end = page.line_end(found.end)
    if text[start : found.start].strip(" ") or not _COMMENT.fullmatch(text, found.end, end):
        raise Unsafe("it shares its line with something else")
    if start == 0:
        return page.replaced(start, text.find("\n", end) + 1, "")
    # The line break before it goes, since there may be none behind it.
    return page.replaced(page.line_end(start - 1), end, "")


def _without_in_flow(found: Field) -> TextEdit:
    before, after = found.adjacent
    start, end = (found.start, after.start) if after else (before.end if before else found.start, found.end)
    if "#" in found.page.text[found.end : end] or "#" in found.page.text[start : found.start]:
        raise Unsafe("there are comments inside the braces")
    return found.page.replaced(start, end, "")


def as_item(each: Object, path: tuple[Step, ...], name: str) -> Iterator[TextEdit]:
    """The scalar at a path becomes the first item of the list ``name`` beside it. Raises Unsafe."""
    found = field(each, *path)
    page, raw = found.page, found.page.text[found.value.start_mark.index : found.value.end_mark.index]
    if not isinstance(found.value, ScalarNode) or found.value.style in _BLOCK or "\n" in raw:
        raise Unsafe("it is not a single-line text")
    if not found.value.value:
        yield without(each, *path)
        return
    if each.has(*path[:-1], name):
        yield _first_of(field(each, *path[:-1], name), raw)
        yield without(each, *path)
        return
    yield found.renamed(name)
    start, end = found.value.start_mark.index, found.value.end_mark.index
    if in_flow(found.parent):
        yield page.inserted(start, "[")
        yield page.inserted(end, "]")
        return
    gap = page.text[found.key.end_mark.index : start]
    if gap.strip(" \r\n") != ":":
        raise Unsafe("there is something between its name and its value")
    if "\n" in gap:
        yield page.inserted(start, "- ")
        return
    margin = " " * (page.column(found.start) + dash(each))
    yield page.replaced(found.key.end_mark.index, start, f":\n{margin}- ")


def _first_of(found: Field, raw: str) -> TextEdit:
    """``raw``: a scalar as it is spelled, to be put before all items."""
    page, items = found.page, found.value
    if not isinstance(items, SequenceNode):
        raise Unsafe(f"{found.key.value} in the same mapping is not a list")
    at = items.start_mark.index
    if not in_flow(items):
        return page.inserted(at, f"- {raw}\n{' ' * page.column(at)}")
    if _FLOW.search(raw) and raw[0] not in "'\"":
        raise Unsafe("it needs quotes inside of brackets")
    if not items.value:
        return page.inserted(at + 1, raw)
    return page.inserted(items.value[0].start_mark.index, f"{raw}, ")


def dash(each: Object) -> int:
    """By how much a manifest indents the items of lists; where it has none, as Flux's documentation does."""
    waiting: list[Node] = [each.node]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, MappingNode) and not in_flow(node):
            for key, value in node.value:
                is_below = value.start_mark.line > key.start_mark.line
                if isinstance(value, SequenceNode) and is_below and not in_flow(value):
                    return int(value.start_mark.column - key.start_mark.column)
                waiting.append(value)
    return 2


def in_flow(node: Node) -> bool:
    """Whether it is written in braces or brackets, as all of JSON is."""
    return isinstance(node, MappingNode | SequenceNode) and bool(node.flow_style)
