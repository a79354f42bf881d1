"""What a cluster says, made fit for a message: one line, bounded, and no credentials in it. Pure."""

from __future__ import annotations

import re

_LONGEST = 300
_USER = re.compile(r"(?<=://)[^/@\s]+@")


def plain(text: object, limit: int = _LONGEST) -> str:
    """A message of a condition or an event; empty where there is none."""
    if not isinstance(text, str):
        return ""
    line = _USER.sub("", " ".join(text.split()))
    shown = "".join(char if char.isprintable() else "\ufffd" for char in line)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
