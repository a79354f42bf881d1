"""What the API server takes: whoever reads an object by its meaning refuses anything else."""

from __future__ import annotations

from typing import Any


class OtherShape(Exception):
    """Not what the API server would take, or more than anybody writes: such an object is told by path."""


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
