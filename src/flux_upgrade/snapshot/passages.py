"""Passages: text that is read as YAML, a whole file or a scalar in it, with the way back to the file.

Templates, which are no YAML, are read by their layout: see ``stated``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, repeat

from flux_upgrade.manifests.nodes import ScalarNode

_BREAK = re.compile("\n")
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
# Possessive: were blanks looked at again from each of them, many would take time by the square of them.
_FOLD = r"(?P<fold>[ \t]*+\r?\n[ \t\r\n]*+)"
_BLANKS = r"[ \t]++"
_QUOTED = {
    '"': re.compile(
        rf"{_FOLD}|\\(?:(?P<cut>\r?\n[ \t]*)|(?P<code>x.{{2}}|u.{{4}}|U.{{8}})|(?P<escape>.))"
        rf"|{_BLANKS}|[^ \t\r\n\\]++|.",
        re.DOTALL,
    ),
    "'": re.compile(rf"{_FOLD}|(?P<quote>'')|{_BLANKS}|[^ \t\r\n']++|.", re.DOTALL),
    None: re.compile(rf"{_FOLD}|{_BLANKS}|[^ \t\r\n]++|.", re.DOTALL),
}
_ESCAPES = dict(zip("0abtnvfreN_LP", "\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
"""https://yaml.org/spec/1.2.2/#57-escaped-characters; any other character stands for itself."""
ENDS = (".j2", ".jinja", ".tmpl", ".tpl", ".gotmpl")  # How the names of templates end
_KEY = re.compile(r"""([ \t]*(?:-[ \t]+)*)["']?([\w.-]+)["']?:(?:[ \t]+(.*))?[ \t\r]*""")
_COMMENT = re.compile(r"[ \t]#.*")


@dataclass(frozen=True)
class Passage:
    """A text, with the offset of each of its characters in the file."""

    file: str  # The text of the file
    text: str
    offsets: Sequence[int]  # Of each character of `text` in the file, and of what stands behind the last
    breaks: Sequence[int]  # Offsets of the file's line ends

    def line(self, offset: int) -> int:
        """Of a character of the file, 1-based."""
        return bisect_left(self.breaks, offset) + 1

    def within(self, begin: int, node: ScalarNode) -> Passage | None:
        """The text of a scalar of this passage; None if the places of its characters are unknown.

        ``begin``: of the document, from which the node's places count.
        """
        start, end = begin + node.start_mark.index, begin + node.end_mark.index
        raw = self.text[start:end]
        properties = _PROPERTIES.match(raw)
        skipped = properties.end() if properties else 0
        is_block = raw[skipped : skipped + 1] in ("|", ">")
        pairs = list(_block(raw, node) if is_block else _flow(raw, skipped, node))
        if "".join(character for character, _ in pairs) != node.value:
            return None
        places = [start + place for _, place in pairs]
        places.append(places[-1] + 1 if places else start)
        return replace(self, text=node.value, offsets=[self.offsets[place] for place in places])


def whole(file: str) -> Passage:
    return Passage(file, file, range(len(file) + 1), [match.start() for match in _BREAK.finditer(file)])


Pairs = Iterator[tuple[str, int]]
"""Characters of a scalar's text, each with the place in its spelling that it comes from."""


def _flow(raw: str, skipped: int, node: ScalarNode) -> Pairs:
    """A plain or a quoted scalar: line breaks are folded, escapes and doubled quotes undone."""
    inner = (skipped + 1, len(raw) - 1) if node.style in ("'", '"') else (skipped, len(raw))
    for match in _QUOTED[node.style if node.style in ("'", '"') else None].finditer(raw, *inner):
        # What stands there as it is has a place for each character.
        places = repeat(match.start()) if match.lastgroup else count(match.start())
        yield from zip(_decoded(match), places, strict=False)


def _decoded(match: re.Match[str]) -> str:
    found, kind = match[0], match.lastgroup
    match kind:
        case "fold":
            return "\n" * (found.count("\n") - 1) or " "
        case "cut":
            return ""
        case "code":
            return _character(found[2:])
        case "escape":
            return _ESCAPES.get(found[1], found[1])
        case "quote":
            return "'"
    return found


def _character(code: str) -> str:
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""


def _block(raw: str, node: ScalarNode) -> Pairs:
    """A literal or a folded scalar: its lines, without what they are indented by.

    How many blanks that are is told by the first line that has text: what it has more of than its value.
    """
    lines = _lines(raw)[1:]
    first = next((line for _, line in lines if line.strip(" ")), "")
    wanted = next((line for line in node.value.split("\n") if line.strip(" ")), "")
    indent = _blanks(first) - _blanks(wanted)
    position, is_folded = 0, node.style == ">"
    for place, line in lines:
        text = line[indent:]
        if position >= len(node.value):
            return
        for index, character in enumerate(text):
            yield character, place + indent + index
        position += len(text)
        # Folded, a line break is a blank, or nothing where empty lines follow that count themselves.
        after = node.value[position : position + 1]
        if after == "\n" or (is_folded and text and after == " "):
            yield after, place + len(line)
            position += 1


def _lines(raw: str) -> list[tuple[int, str]]:
    """Each with its place, without its end."""
    found, place = [], 0
    for line in raw.split("\n"):
        found.append((place, line.removesuffix("\r")))
        place += len(line) + 1
    return found


def _blanks(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def stated(text: str, *keys: str) -> tuple[int, str] | None:
    """Where the last of ``keys`` stands, each below the one before: line (1-based) and what follows it.

    Only layout counts. None: no such keys, or only in comments.
    """
    rows = [_KEY.fullmatch(row) for row in text.split("\n")]
    return next(_below(rows, 0, -1, keys), None)


def _below(
    rows: Sequence[re.Match[str] | None], start: int, depth: int, keys: Sequence[str]
) -> Iterator[tuple[int, str]]:
    for index in range(start, len(rows)):
        match = rows[index]
        if match is None:
            continue
        indent = len(match[1])
        if indent <= depth:
            return
        if match[2] != keys[0]:
            continue
        if len(keys) == 1:
            yield index + 1, _COMMENT.sub("", match[3] or "").rstrip(" \t\r")
        else:
            yield from _below(rows, index + 1, indent, keys[1:])
