"""Comments: where they stand in an object, and how they are put back into another text of it.

Flux writes none, so every comment in a manifest is its owner's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.manifests.residue import Path, children
from flux_upgrade.model.values import NamedTuple

_HASH = re.compile(r"(?:^|(?<=[ \t]))#", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Comment:
    path: Path  # The entry that it stands before, or in whose line it stands; empty: at the object's end
    inline: bool  # Behind the entry, in its line; else in a line of its own above it
    text: str  # With its `#`; several lines above the same entry are several comments


class _EntryPosition(NamedTuple):
    path: Path
    offset: int  # In characters, from the text's begin
    line: int
    column: int
    last_line: int  # Where an inline comment of this entry stands


def extract(text: str, node: Node) -> tuple[Comment, ...]:
    """The comments of a document, in order. ``node`` is what ``text`` composes to."""
    hashes = list(_HASH.finditer(text))
    if not hashes:
        return ()
    entries = sorted(_entries(node, ()), key=lambda entry: entry.offset)
    starts = [entry.offset for entry in entries]
    spans = sorted(_scalars(text, node))
    found = []
    taken = -1
    for match in hashes:
        position = match.start()
        span = bisect_right(spans, (position, len(text))) - 1
        if position < taken or (span >= 0 and spans[span][0] <= position < spans[span][1]):
            continue
        end = text.find("\n", position)
        taken = end if end >= 0 else len(text)
        line_start = text.rfind("\n", 0, position) + 1
        inline = bool(text[line_start:position].strip())
        following = bisect_right(starts, position)
        if inline:
            path = entries[max(following - 1, 0)].path
        else:
            path = entries[following].path if following < len(entries) else ()
        found.append(Comment(path, inline and bool(path), text[position:taken].rstrip()))
    return tuple(found)


def insert(text: str, node: Node, comments: tuple[Comment, ...]) -> str:
    """Put comments into a document of Flux's own form; those whose entry is not there are left out."""
    places = {entry.path: entry for entry in _entries(node, ())}
    lines = text.removesuffix("\n").split("\n")
    above = defaultdict[int, list[str]](list)
    for comment in comments:
        place = places.get(comment.path)
        if not comment.path:
            above[len(lines)].append(comment.text)
        elif place is not None and comment.inline:
            lines[place.last_line] += f" {comment.text}"
        elif place is not None:
            above[place.line].append(" " * place.column + comment.text)
    return "\n".join(each for number, line in enumerate([*lines, ""]) for each in (*above[number], line))


def _entries(node: Node, path: Path) -> Iterator[_EntryPosition]:
    """Every key and list item in document order; an item comes before its first key.

    What an alias or a merge key brings in stands elsewhere in the text, and is left out.
    """
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, MappingNode):
        for key, value in node.value:
            mark = key.start_mark
            if start <= mark.index < end:
                own = (*path, key.value)
                inside = start <= value.start_mark.index <= end
                last = _last_line(mark.line, value) if inside else mark.line
                yield _EntryPosition(own, mark.index, mark.line, mark.column, last)
                if inside:
                    yield from _entries(value, own)
    elif isinstance(node, SequenceNode):
        for label, item in children(node).items():
            mark = item.start_mark
            if start <= mark.index <= end:
                own = (*path, label)
                # The dash stands two columns before the item in Flux's form.
                yield _EntryPosition(own, mark.index, mark.line, max(mark.column - 2, 0), _last_line(mark.line, item))
                yield from _entries(item, own)


def _last_line(line: int, value: Node) -> int:
    """A comment stands behind the key, but behind the end of a scalar that runs over lines."""
    if isinstance(value, ScalarNode) and value.style not in ("|", ">") and value.end_mark.line > line:
        return int(value.end_mark.line)
    return line


def _scalars(text: str, node: Node) -> Iterator[tuple[int, int]]:
    """The spans of scalars, in which ``#`` begins no comment."""
    if isinstance(node, ScalarNode):
        start, end = node.start_mark.index, node.end_mark.index
        if node.style in ("|", ">"):
            start = min(text.find("\n", start), end)
        yield start, end
    else:
        for item in chain.from_iterable(node.value) if isinstance(node, MappingNode) else node.value:
            yield from _scalars(text, item)
