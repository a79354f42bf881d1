"""What a person should know of another writer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """A fact about another writer, for the pull request; the same every day."""

    file: str
    """Where it was read, relative to the repository's root; empty for the history."""
    text: str
    """Markdown: one or more paragraphs, with the exact text to paste."""


def code(text: str) -> str:
    """``text`` as Markdown's inline code, on one line whatever it holds."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return f"`{shown.replace('`', chr(39))}`"


def listed(texts: list[str], most: int = 3) -> str:
    """``texts`` as code, with commas; those above ``most`` are counted."""
    shown = ", ".join(code(text) for text in texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"
