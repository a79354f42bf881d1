"""What could not be found out, with the reason. It is a value, so that it is never taken for what is empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Unknown:
    reason: str  # A clause without markup

    def __str__(self) -> str:
        return self.reason


def known_or(value: T | Unknown, default: D) -> T | D:
    """Return ``value``, or ``default`` where it is unknown: a decision that takes the unknown for something known."""
    return default if isinstance(value, Unknown) else value
