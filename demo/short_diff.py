"""A diff for a reader in a hurry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile, zip_longest


def in_short(diff: str) -> list[str]:
    """Lines of a diff: of those with the same change only the first, with the number of places."""
    changes = Counter[tuple[str, str]]()
    firsts: dict[tuple[str, str], list[str]] = {}
    for removed, added in _pairs(diff):
        key = _difference(removed, added)
        changes[key] += 1
        firsts.setdefault(key, [f"{sign}{line}" for sign, line in (("-", removed), ("+", added)) if line])
    lines = []
    for key, (first, *rest) in firsts.items():
        places = f"({changes[key]} places)" if changes[key] > 1 else ""
        lines += [f"{first:70} {places}".rstrip(), *rest]
    return lines


def _pairs(diff: str) -> Iterator[tuple[str, str]]:
    """Lines that were removed and added, side by side where a hunk has as many of them; else one each."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines()
        removed = [line[1:] for line in lines if line.startswith("-")]
        added = [line[1:] for line in lines if line.startswith("+")]
        if len(removed) == len(added):
            yield from zip(removed, added, strict=True)
        else:
            yield from zip_longest(removed, (), fillvalue="")
            yield from zip_longest((), added, fillvalue="")


def _difference(removed: str, added: str) -> tuple[str, str]:
    """What differs, without what the two begin and end with."""
    head = _alike(removed, added)
    removed, added = removed[head:], added[head:]
    tail = _alike(removed[::-1], added[::-1])
    return removed[: len(removed) - tail], added[: len(added) - tail]


def _alike(one: str, other: str) -> int:
    """So many characters of the two are the same, from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
