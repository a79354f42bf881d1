"""Where a text of any kind names a version of one of Flux's APIs, and of which object."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache

from flux_upgrade.model.values import NamedTuple

METRICS = re.compile("customResourceState", re.IGNORECASE)
"""A word of each configuration of kube-state-metrics, and of the values of charts that have one."""
_VERSION = r"v\d+(?:(?:alpha|beta)\d+)?(?![\w-]|\.\d)"
"""https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/"""
_PUT_IN = (
    r"\w{0,20}(?:\$\{[^}\s]{1,80}\}|\$\([^)\s]{1,80}\)|\$[A-Za-z_]\w{0,80}"
    r"|\{\{.{1,80}?\}\}|<<.{1,80}?>>|<%.{1,80}?%>)\w{0,20}"
)
"""A version that something else puts there: Flux, kustomize, Helm, a ResourceSet, ERB."""
_VERSION_KEY = re.compile(r"""version(?<![\w./-]version)\\?["']?\s*[:=]\s*[^\w\s]*v""")

_BEFORE = re.compile(r"(?:\A|[^\w.-]|\\[nrt])\Z", re.ASCII)
"""In JSON, what stands before a group may be the end of a line break's escape."""

is_version = re.compile(_VERSION).fullmatch
_MOST = 40  # lines, above and below: kind and name stand near
_MOST_AGAIN = 8  # Branches of a template, or conflicts of a merge, that repeat one key
_NEAR = 400  # characters of one line
_LONGEST = 4096  # characters of a line that are looked at: people write shorter ones
_ROW = re.compile(
    r"""(?P<lead>[\s>|*/#;-]*)(?:\\?["'])?(?P<key>[A-Za-z]\w*)(?:\\?["'])?\s*[:=](?:\s+|$|(?=["'{]))(?P<value>.*)"""
)
_END = re.compile(r"[\s>|]*(?:---|```|~~~)")  # between documents, and around code in Markdown
_LEAD = re.compile(r"[\s>|*/#;-]*")
_COMMENTED = re.compile(r"(?<!\S)(?:#|//|\{#|\{\{-?\s*/\*)")
_VALUE = re.compile(r"""\\?["']?((?:\$?\{\{?.*?\}\}?|<<.*?>>|[^\s"'\\,#{}<])*)""")
_SAME_LINE = re.compile(r"""\b(kind|namespace|name)\\?["']?\s*[:=]\s*\\?["']?([\w.-]+)""")


class Mention(NamedTuple):
    """``<group>/<version>`` in a text."""

    group: str
    version: str  # `v1beta2`; or `${VERSION}`, as it stands there
    begin: int  # offset of the group
    start: int  # offset of the version
    end: int

    @property
    def is_put_in(self) -> bool:
        return not is_version(self.version)


class ApiGroups:
    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)
        # What all names end with: a pattern that begins with plain characters is soon searched for.
        self._mark = posixpath.commonprefix([name[::-1] for name in names])[::-1]
        self.mark = self._mark.encode()  # what is in each file that names one of them
        self._letter = b"x" if b"x" in self.mark else b""
        mark = re.escape(self._mark)
        self._mention = re.compile(rf"{mark}\\?/({_VERSION}|{_PUT_IN})", re.ASCII)
        self._alone = re.compile(rf"{mark}(?![\w./-])", re.ASCII)
        self._spelled = re.compile(rf"{mark}(?:\\?/\w*)?\\[^/]", re.ASCII)

    def are_in(self, content: bytes) -> bool:
        """Whether a file may name one of them: a test that costs nearly nothing, and that nearly all fail."""
        # `rfind` takes half of the time that `in` takes, and one letter takes nearly none.
        return bool(self.names) and self._letter in content and content.rfind(self.mark) >= 0

    def mentions(self, text: str) -> list[Mention]:
        ends = [(match.start() + len(self._mark), match) for match in self._mention.finditer(text)]
        return [
            Mention(name, match[1], end - len(name), match.start(1), match.end())
            for end, match in ends
            if (name := self._ending(text, end))
        ]

    def are_apart(self, text: str) -> bool:
        """Whether a version may be named otherwise: under a key of its own, or spelled with an escape."""
        return self._spelled.search(text) is not None or (
            self._alone.search(text) is not None and _VERSION_KEY.search(text) is not None
        )

    def alone(self, text: str, begin: int, end: int) -> Iterator[int]:
        """Where groups stand without a version, between two offsets."""
        for match in self._alone.finditer(text, begin, end):
            name = self._ending(text, match.end())
            if name:
                yield match.end() - len(name)

    def named(self, text: str) -> tuple[str, str] | None:
        """Group and version, where a text is nothing else."""
        mentions = self.mentions(text) if self._mark in text else []
        whole = len(mentions) == 1 and mentions[0].begin == 0 and mentions[0].end == len(text)
        return mentions[0][:2] if whole else None

    def _ending(self, text: str, end: int) -> str:
        """The group that ends there; empty where it is none of them."""
        for name in self.names:
            if text.endswith(name, 0, end) and _BEFORE.search(text, max(end - len(name) - 2, 0), end - len(name)):
                return name
        return ""


@cache
def groups_of(names: frozenset[str]) -> ApiGroups:
    """The groups with these names; built once in a run."""
    return ApiGroups(names)


class Subject(NamedTuple):
    """What an ``apiVersion`` is of; empty where unknown."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class TextLine(NamedTuple):
    column: int  # in which its key stands
    key: str  # empty where it has none
    value: str  # without quotes, to the next blank
    start: int  # offset of the value
    lead: str  # what stands before the key
    is_end: bool  # whether nothing goes on behind it

    @property
    def is_comment(self) -> bool:
        """Whether it is one, or the whole of it is commented out."""
        return "#" in self.lead or "//" in self.lead


def subject(text: str, begin: int, end: int) -> Subject:
    """Kind, name and namespace of what has its ``apiVersion`` between two offsets."""
    found: dict[str, str] = {}
    for match in _SAME_LINE.finditer(text, end, min(_end_of_line(text, end), end + _NEAR)):
        found.setdefault(match[1], match[2])
    if "kind" not in found and text_line_at(text, begin).key in ("apiVersion", "group"):
        rows = mapping_at(text, begin)
        places = {key: (key, f"metadata.{key}") for key in Subject._fields}
        found = {key: rows[place].value for key, each in places.items() for place in each if place in rows}
    return Subject(**found) if "kind" in found else Subject()


def text_line_at(text: str, position: int) -> TextLine:
    return _text_line(text, beginning_of_line(text, position))


@lru_cache(maxsize=1024)  # The lines around one place are those around the next one
def _text_line(text: str, begin: int) -> TextLine:
    line = text[begin : _end_of_line(text, begin)]
    match = _ROW.match(line)
    is_end = _END.match(line) is not None
    if match is None:
        lead = _LEAD.match(line)
        return TextLine(lead.end() if lead else 0, "", "", begin, lead[0] if lead else "", is_end)
    value = _VALUE.match(match["value"])
    start = begin + match.start("value") + (value.start(1) if value else 0)
    return TextLine(len(match["lead"]), match["key"], value[1] if value else "", start, match["lead"], is_end)


def mapping_at(text: str, position: int) -> dict[str, TextLine]:
    """The lines of the mapping that a line is of, by key; those of ``metadata`` as ``metadata.name``."""
    own = text_line_at(text, position)
    above = [] if "-" in own.lead else list(_around(text, position, own, is_above=True))[::-1]
    found: dict[str, TextLine] = {}
    parent, inner = "", 0
    for row in (*above, own, *_around(text, position, own, is_above=False)):
        if row.column == own.column:
            found.setdefault(row.key, row)
            parent, inner = row.key, 0
        elif parent == "metadata" and row.column in (inner, inner or row.column):
            found.setdefault(f"{parent}.{row.key}", row)
            inner = row.column
    return found


def is_commented(text: str, position: int) -> bool:
    """Whether what stands there is a comment: YAML's, a template's or a program's."""
    return _COMMENTED.search(text, beginning_of_line(text, position), position) is not None


def beginning_of_line(text: str, position: int) -> int:
    """Of the line that has a position; of a very long one, a place near before it."""
    nearest = max(position - _LONGEST, 0)
    begin = text.rfind("\n", nearest, position) + 1
    return begin or nearest


def _around(text: str, position: int, own: TextLine, *, is_above: bool) -> Iterator[TextLine]:
    """Yield the lines of the mapping that ``own`` is of, from there upwards or downwards."""
    again = 0
    for _ in range(_MOST):
        position = text.rfind("\n", 0, position) if is_above else _end_of_line(text, position) + 1
        if not 0 <= position <= len(text):
            return
        row = text_line_at(text, position)
        # A mapping has a key twice in the branches of a template.
        again += bool(row.key) and row.key == own.key and row.column == own.column
        is_item = row.column == own.column and "-" in row.lead
        if again > _MOST_AGAIN or _is_end(row, own) or (is_item and not is_above):
            return
        if row.key and row.is_comment == own.is_comment:
            yield row
        if is_item:
            return


def _is_end(row: TextLine, own: TextLine) -> bool:
    """Whether the mapping of ``own`` ends before a row; one without a key is a template's, or empty."""
    if row.is_comment != own.is_comment:
        return own.is_comment
    return row.is_end or (bool(row.key) and row.column < own.column)


def _end_of_line(text: str, position: int) -> int:
    """Of a very long one, a place near behind the position."""
    furthest = min(position + _LONGEST, len(text))
    end = text.find("\n", position, furthest)
    return furthest if end < 0 else end
