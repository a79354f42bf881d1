"""Server-side apply and merge patches, on plain values. Lists are taken whole, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

Path = tuple[str, ...]


def apply(
    live: dict[str, Any], before: dict[str, Any], wanted: dict[str, Any], others: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    """``live`` after a manager who applied ``before`` applies ``wanted``; ``others``: what the others applied.

    What it does not want any more goes, unless another manager owns it too.
    """
    kept = {path for each in [wanted, *others] for path in _leaves(each)}
    result = deepcopy(live)
    for path in _leaves(before):
        if path not in kept:
            _remove(result, path)
    return merge(result, wanted)


def merge(live: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A JSON merge patch (RFC 7386); null removes."""
    result = dict(live)
    for name, value in patch.items():
        below = result.get(name)
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = merge(below if isinstance(below, dict) else {}, value)
        else:
            result[name] = deepcopy(value)
    return result


def _leaves(value: dict[str, Any], above: Path = ()) -> Iterator[Path]:
    for name, below in value.items():
        if isinstance(below, dict) and below:
            yield from _leaves(below, (*above, name))
        else:
            yield (*above, name)


def _remove(value: dict[str, Any], path: Path) -> None:
    for name in path[:-1]:
        value = value.get(name, {})
    value.pop(path[-1], None)
