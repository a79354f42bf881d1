"""Text from outside, made safe to stand in a one-line message."""

from __future__ import annotations


def one_line(text: str, limit: int = 200) -> str:
    """``text`` with what cannot be printed escaped, cut to ``limit`` characters.

    Line ends, terminal escapes, bidirectional marks and undecodable bytes of
    file names (PEP 383) become backslash escapes.
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
