"""Findings as JSON, of the kinds whose lists have a form of their own (docs/reference/plan.schema.json)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.impact.impact import Hit
from flux_upgrade.impact.migrate.result import Left, Migrated, Move
from flux_upgrade.report.impact_phrases import in_order, is_broken_already

_KEYS = {"change": "detail", "content": "kind", "drops": "kept-out", "hint": "remedy", "phrase": "told"}
"""Fields that have other names in JSON."""


def uses_value(files: Iterable[Migrated]) -> list[dict[str, Any]]:
    """Each use of a version that is no longer served, and what becomes of it."""
    return [use_value(each) for file in files for each in in_order(file)]


def use_value(each: Move | Left) -> dict[str, Any]:
    """One of them."""
    left = each if isinstance(each, Left) else None
    return place_value(each.use) | {
        "action": "move" if left is None else "leave",
        "to": each.to if isinstance(each, Move) else None,
        "fields": list(each.fields) if isinstance(each, Move) else [],
        "reason": str(left.reason) if left is not None else None,
        "detail": left.detail or None if left is not None else None,
        "remedy": left.hint or None if left is not None else None,
        "breaks": left is not None and left.blocks,
        "broken-already": is_broken_already(each),
    }


def place_value(use: ApiUse) -> dict[str, Any]:
    """Where a version is used, and by whom."""
    return fields(use, "path", "line", "group", "version", "kind", "name", "namespace", "place")


def hit_value(hit: Hit) -> dict[str, Any]:
    """A place that a known change concerns."""
    place = ("path", "line", "kind", "name", "namespace")
    return fields(hit, "rule", "since", "change", "source", *place, "keep", "hint")


def fields(value: object, *names: str) -> dict[str, Any]:
    """Some fields of a value: lists are lists, and an empty text is null."""
    found = ((name, getattr(value, name)) for name in names)
    return {_KEYS.get(name, name): _plain(each) for name, each in found}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else None if value == "" else value
