"""How files go into one commit through the Git data API: inline, or as blobs. Pure.

Source: https://docs.github.com/rest/git/trees#create-a-tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MAX_INLINE = 5 * 1024 * 1024
"""Bytes of contents in one request to make a tree."""

Files = Mapping[str, tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class CommitContents:
    """The contents of a commit's files."""

    inline: Mapping[bytes, str]
    """Content → its text."""
    blobs: tuple[bytes, ...]
    """Contents that are uploaded first, each once."""


def split(files: Files, limit: int = MAX_INLINE) -> CommitContents:
    """What fits stays inline, the small before the large; what is no text cannot."""
    inline: dict[bytes, str] = {}
    blobs: list[bytes] = []
    left = limit
    uses = [content for _, content in files.values()]
    for content in sorted(dict.fromkeys(uses), key=len):
        text, size = _text(content), len(content) * uses.count(content)
        if text is None or size > left:
            blobs.append(content)
        else:
            inline[content] = text
            left -= size
    return CommitContents(inline, tuple(blobs))


def _text(content: bytes) -> str | None:
    try:
        return None if b"\0" in content else content.decode()
    except UnicodeDecodeError:
        return None
