"""What a config file that others extend may do with a key: set any value, or only a stricter one. Pure."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from flux_upgrade.model.values import NamedTuple


class Shared(NamedTuple):
    """What a shared file may do with a key."""

    word: str  # For the reference; Markdown
    is_looser: Callable[[Any, Any], bool]
    """Whether a value loosens what holds without it, which is the second argument."""


def from_strict_to_loose(word: str, *values: Any) -> Shared:
    return Shared(word, lambda value, held: values.index(value) > values.index(held))


def only(word: str, value: Any) -> Shared:
    """Only the value of ``word``, unless another one applies anyway."""
    return Shared(f"only `{word}`", lambda given, held: given not in (value, held))


ANY = Shared("any value", lambda _, __: False)
RESTRICTING = Shared("any value: each is stricter than none", lambda _, __: False)
LONGER = Shared("only longer", lambda value, held: bool(value < held))
LOWER = Shared("only lower", lambda value, held: (value or inf) > (held or inf))
