"""Text from outside, made safe to stand in a one-line message; short lists, paths, and edits by span."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

_NO_TEXT = 0xDC00  # What PEP 383 adds to a byte that is no text
_BYTES = range(0x80, 0x100)


def printable(text: str) -> str:
    """``text`` with U+FFFD for what cannot be printed: line ends, terminal escapes, bidirectional marks."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def capitalized(text: str) -> str:
    """Return ``text`` with a capital, unless it begins with a path, a name with other characters, or code."""
    first = text.partition(" ")[0].removesuffix(",")
    return f"{text[:1].upper()}{text[1:]}" if first.isalpha() else text


def one_line(text: str, limit: int = 200) -> str:
    """``text`` with what cannot be printed escaped, cut to ``limit`` characters.

    Line ends, terminal escapes, bidirectional marks and undecodable bytes of
    file names (PEP 383) become backslash escapes.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _escaped(char: str) -> str:
    byte = ord(char) - _NO_TEXT
    return f"\\x{byte:02x}" if byte in _BYTES else char.encode("unicode_escape").decode("ascii")


def json_of(text: str | bytes) -> Any:
    """The value of a text in JSON; None also for what is none, or is nested too deeply."""
    import json  # late: `render` reads none

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def printable_lines(lines: Iterable[str]) -> str:
    """Each line printable, with a line end of its own."""
    return "".join(f"{printable(line)}\n" for line in lines)


def enumeration(names: Iterable[str], last: str = "and") -> str:
    """``A, B and C``; empty if there are no names."""
    texts = list(names)
    return f" {last} ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def first_few(texts: Sequence[str], most: int) -> str:
    """``A, B and 3 more``: the first ``most`` of ``texts``, and how many follow; all if they are not more."""
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"


def capped(lines: Sequence[str], most: int, rest_in: str = "") -> list[str]:
    """The first ``most`` of ``lines``, and ``… and 3 more`` as the last one if there are more.

    ``rest_in``: the command that shows all of them.
    """
    see = f": see `{rest_in}`" if rest_in else ""
    rest = [f"… and {len(lines) - most} more{see}"] if len(lines) > most else []
    return [*lines[:most], *rest]


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the second of each pair by the first."""
    found: dict[K, list[V]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return found


def is_below(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or in it; every path is in the empty one, the root."""
    return not folder or f"{path}/".startswith(f"{folder}/")


def is_utf8(path: str) -> bool:
    """Whether a path is text; it may have bytes that are none (PEP 383)."""
    return path.isprintable() or path.encode("utf-8", "ignore").decode() == path


def repository_path(path: str) -> str:
    """A path as a tree spells it, without dots and slashes around it; empty for the root."""
    return posixpath.normpath(f"/{path}").strip("/")


def joined_path(folder: str, entry: str) -> str:
    """``entry`` of ``folder``, relative to the root, which ``..`` may leave; empty for the root itself."""
    path = posixpath.normpath(posixpath.join(folder, entry))
    return "" if path == "." else path


class TextEdit(NamedTuple):
    """``old`` between ``start`` and ``end`` gives way to ``new``; every other character stays."""

    start: int  # Offset in characters of the text as `decoded` gives it
    end: int
    old: str
    new: str


@lru_cache(maxsize=8)  # Many places of one file ask, one after the other
def decoded(content: bytes) -> str:
    """A file as text: UTF-8, byte order mark and line ends kept; other bytes as PEP 383 has them."""
    return content.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """What ``decoded`` was made from."""
    return text.encode("utf-8", "surrogateescape")


def edited(content: bytes, edits: Iterable[TextEdit]) -> bytes:
    """The file with all of them made at once; the same one given twice counts once.

    Raises ValueError, a defect of the caller's, where one does not find its old text, or two overlap.
    """
    text, parts, position = decoded(content), [], 0
    for each in sorted(set(edits)):
        if each.start < position or text[each.start : each.end] != each.old:
            raise ValueError(f"{each.old!r} does not stand at {each.start}, or was replaced already")
        parts += [text[position : each.start], each.new]
        position = each.end
    return encoded("".join([*parts, text[position:]]))


def excerpts(texts: Sequence[str], longest: int) -> list[str]:
    """Each text in at most ``longest`` characters, from just before the last place where two begin to differ."""
    pairs = combinations(dict.fromkeys(texts), 2)
    begin = max((len(posixpath.commonprefix(pair)) for pair in pairs), default=0) - longest // 3
    heads = [f"…{text[begin + 1 :]}" if begin > 0 else text for text in texts]
    return [head if len(head) <= longest else f"{head[: longest - 1]}…" for head in heads]


def line_of(text: str, position: int) -> int:
    """1-based."""
    return text.count("\n", 0, position) + 1
