"""Edits of a text by span: each asserts what it replaces, and every other character stays."""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.model.values import NamedTuple


class TextEdit(NamedTuple):
    """``old`` between ``start`` and ``end`` gives way to ``new``."""

    start: int
    """Offset in characters of the text as ``decoded`` gives it."""
    end: int
    old: str
    new: str


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


def line_of(text: str, position: int) -> int:
    """1-based."""
    return text.count("\n", 0, position) + 1
