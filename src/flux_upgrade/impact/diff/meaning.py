"""Two versions of an object that is compared by what its fields mean, and how such fields are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.objects import LAYOUT, added_or_removed, by_path, edits, path_phrase
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Edit
from flux_upgrade.policy.decision import ChangeKind


def by_meaning(
    sides: tuple[ObjectKey, Document | None, Document | None],
    kind: ChangeKind,
    is_compared: Callable[[Edit], bool],
    compared: Callable[[ObjectKey, Document | None, Document | None], Changes],
) -> Changes:
    """Changes by what the fields mean, and by path the rest; all by path if they have another shape.

    ``is_compared``: whether ``compared``, which raises OtherShape, speaks of an edit. Raises Unreadable.
    """
    key, before, after = sides
    found, noise = edits(before, after) if before and after else ([], Counter[str]())
    try:
        meant = compared(*sides)
    except OtherShape:
        if before is None or after is None:
            return added_or_removed(key, before, kind)
        return by_path(key, found, noise, lambda edit: (kind if is_compared(edit) else None, path_phrase(edit)))
    rest = [each for each in found if not is_compared(each)]
    # What was split, merged, spelled out or said twice comes to the same.
    noise[LAYOUT] += meant == Changes() and len(rest) < len(found)
    others = by_path(key, rest, +noise)
    return others._replace(rules=meant.rules, others=meant.others + others.others)


class OtherShape(Exception):
    """Not what the API server would take, or more than is ever written: such an object is listed by path."""


def only(value: Any, *fields: str) -> dict[str, Any]:
    """A mapping with no other fields. Raises OtherShape."""
    if not isinstance(value, dict) or value.keys() - set(fields):
        raise OtherShape
    return value


def list_of(value: Any) -> list[Any]:
    """Empty where there is none. Raises OtherShape."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise OtherShape
    return value


def texts(value: Any) -> list[str]:
    """As ``list_of``, of texts. Raises OtherShape."""
    found = list_of(value)
    if not all(isinstance(each, str) for each in found):
        raise OtherShape
    return found


def selector(value: Any) -> str:
    """A label selector as ``kubectl`` spells it, ``app=x,tier in (a,b)``; empty where it selects everything.

    Raises OtherShape.
    """
    if value is None:
        return ""
    labels = only(value, "matchLabels", "matchExpressions").get("matchLabels") or {}
    if not isinstance(labels, dict):
        raise OtherShape
    expressions = map(_expression, list_of(value.get("matchExpressions")))
    return ",".join(sorted([*(f"{key}={label}" for key, label in labels.items()), *expressions]))


def _expression(value: Any) -> str:
    match value:
        case {"key": str(key), "operator": "Exists"}:
            return key
        case {"key": str(key), "operator": "DoesNotExist"}:
            return f"!{key}"
        case {"key": str(key), "operator": "In" | "NotIn" as operator, "values": [*values]}:
            return f"{key} {operator.lower()} ({','.join(sorted(map(str, values)))})"
    raise OtherShape
