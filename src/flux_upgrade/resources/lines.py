"""What the lines around a place tell, where there is no structure to ask: in comments, texts and templates.

Only layout counts: keys in the same column belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.values import NamedTuple

_MOST = 40
"""Lines, above and below: kind and name stand near."""
_NEAR = 400
"""Characters of one line."""
_ROW = re.compile(
    r"""(?P<lead>[\s>|*/#;-]*)(?:\\?["'])?(?P<key>[A-Za-z]\w*)(?:\\?["'])?\s*[:=](?:\s+|$|(?=["'{]))(?P<value>.*)"""
)
_END = re.compile(r"[\s>|]*(?:---|```|~~~)")
"""Between documents, and around code in Markdown."""
_LEAD = re.compile(r"[\s>|*/#;-]*")
_COMMENTED = re.compile(r"(?:^|\s)(?:#|//|\{#|\{\{-?\s*/\*)")
_VALUE = re.compile(r"""\\?["']?((?:\$?\{\{?.*?\}\}?|<<.*?>>|[^\s"'\\,#{}<])*)""")
_SAME_LINE = re.compile(r"""\b(kind|namespace|name)\\?["']?\s*[:=]\s*\\?["']?([\w.-]+)""")


class Subject(NamedTuple):
    """What an ``apiVersion`` is of; empty where nothing tells."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


NOBODY = Subject()


class Row(NamedTuple):
    """A line of a text."""

    column: int
    """In which its key stands."""
    key: str
    """Empty where it has none."""
    value: str
    """Without quotes, to the next blank."""
    start: int
    """Offset of the value."""
    lead: str
    """What stands before the key."""
    is_end: bool
    """Whether nothing goes on behind it."""

    @property
    def is_comment(self) -> bool:
        """Whether it is one, or the whole of it is commented out."""
        return "#" in self.lead or "//" in self.lead


def subject(text: str, begin: int, end: int) -> Subject:
    """Kind, name and namespace of what has its ``apiVersion`` between two offsets."""
    found: dict[str, str] = {}
    for match in _SAME_LINE.finditer(text, end, min(_end_of_line(text, end), end + _NEAR)):
        found.setdefault(match[1], match[2])
    if "kind" not in found and row_at(text, begin).key in ("apiVersion", "group"):
        rows = mapping_at(text, begin)
        places = {key: (key, f"metadata.{key}") for key in Subject._fields}
        found = {key: rows[place].value for key, each in places.items() for place in each if place in rows}
    return Subject(**found) if "kind" in found else NOBODY


def row_at(text: str, position: int) -> Row:
    """The line that a position stands in."""
    begin = text.rfind("\n", 0, position) + 1
    line = text[begin : _end_of_line(text, position)]
    match = _ROW.match(line)
    is_end = _END.match(line) is not None
    if match is None:
        lead = _LEAD.match(line)
        return Row(lead.end() if lead else 0, "", "", begin, lead[0] if lead else "", is_end)
    value = _VALUE.match(match["value"])
    start = begin + match.start("value") + (value.start(1) if value else 0)
    return Row(len(match["lead"]), match["key"], value[1] if value else "", start, match["lead"], is_end)


def mapping_at(text: str, position: int) -> dict[str, Row]:
    """The lines of the mapping that a line is of, by key; those of ``metadata`` as ``metadata.name``."""
    own = row_at(text, position)
    above = [] if "-" in own.lead else list(_above(text, position, own))[::-1]
    found: dict[str, Row] = {}
    parent, inner = "", 0
    for row in (*above, own, *_below(text, position, own)):
        if row.column == own.column:
            found.setdefault(row.key, row)
            parent, inner = row.key, 0
        elif parent == "metadata" and row.column in (inner, inner or row.column):
            found.setdefault(f"{parent}.{row.key}", row)
            inner = row.column
    return found


def is_commented(text: str, position: int) -> bool:
    """Whether what stands there is a comment: YAML's, a template's or a program's."""
    begin = text.rfind("\n", 0, position) + 1
    return _COMMENTED.search(text[begin:position]) is not None


def _above(text: str, position: int, own: Row) -> Iterator[Row]:
    for _ in range(_MOST):
        position = text.rfind("\n", 0, position)
        if position < 0:
            return
        row = row_at(text, position)
        if _is_end(row, own):
            return
        if row.key and row.is_comment == own.is_comment:
            yield row
        if row.column == own.column and "-" in row.lead:
            return


def _below(text: str, position: int, own: Row) -> Iterator[Row]:
    for _ in range(_MOST):
        position = _end_of_line(text, position) + 1
        if position > len(text):
            return
        row = row_at(text, position)
        if _is_end(row, own) or (row.column == own.column and "-" in row.lead):
            return
        if row.key and row.is_comment == own.is_comment:
            yield row


def _is_end(row: Row, own: Row) -> bool:
    """Whether the mapping of ``own`` ends before a row; one without a key is a template's, or empty."""
    if row.is_comment != own.is_comment:
        return own.is_comment
    return row.is_end or (bool(row.key) and row.column < own.column)


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
