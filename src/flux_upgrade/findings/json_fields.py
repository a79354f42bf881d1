"""Fields of values, as every JSON report has them."""

from __future__ import annotations

from typing import Any

_KEYS = {
    "back_to": "back-to",
    "change": "detail",
    "content": "kind",
    "drops": "dropped",
    "hint": "remedy",
    "phrase": "text",
}
"""Fields that have other names in JSON."""


def fields(value: object, *names: str) -> dict[str, Any]:
    """Some fields of a value as JSON: lists are lists, and an empty text is null."""
    found = ((name, getattr(value, name)) for name in names)
    return {
        _KEYS.get(name, name): list(each) if isinstance(each, tuple) else None if each == "" else each
        for name, each in found
    }
