"""``dataclasses.replace``, for named tuples as well."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

T = TypeVar("T")


def replace(value: T, **changes: Any) -> T:
    """``value`` with some fields changed."""
    if isinstance(value, tuple):
        changed: T = value._replace(**changes)  # type: ignore[attr-defined]  # a named tuple
        return changed
    replaced: T = dataclasses.replace(value, **changes)  # type: ignore[type-var]  # else a dataclass
    return replaced
