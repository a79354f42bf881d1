"""``dataclasses.replace``, for named tuples as well."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

T = TypeVar("T")


def replace(value: T, **changes: Any) -> T:
    """``value`` with some fields changed."""
    old: Any = value
    # Both kinds of values are frozen; only a dataclass has no method for it.
    changed: T = old._replace(**changes) if hasattr(old, "_replace") else dataclasses.replace(old, **changes)
    return changed
