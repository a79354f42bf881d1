"""Counts in a table that only go down: `--update-golden` writes lower ones."""

from __future__ import annotations

import fcntl
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

_SHOWN = 10  # Places of a count that rose


def limits(table: Path, name: str) -> dict[str, int]:
    with table.open(encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        section: dict[str, int] = tomllib.loads(file.read())[name]
    return section


def ratchet(  # noqa: PLR0913 (two modes, and two tables of the same keys)
    table: Path,
    name: str,
    counts: Mapping[str, int],
    *,
    update_golden: bool,
    slack: int = 0,
    places: Mapping[str, Iterable[str]] | None = None,
) -> None:
    """Fail if a count is above its limit, or if the sum is `slack` or more below the sum of the limits."""
    left = limits(table, name)
    more = {key: number for key, number in counts.items() if number > left.get(key, 0)}
    shown = {key: list((places or {}).get(key, ()))[:_SHOWN] for key in more}
    at_places = "".join(
        f"\n{key} ({left.get(key, 0)} → {more[key]}): {', '.join(shown[key])}" for key in more if shown[key]
    )
    assert not more, f"write these in other words: {more}{at_places}"
    if update_golden:
        _write(table, name, counts)
        return
    fallen = sum(left.values()) - sum(counts.values())
    assert counts == left or fallen < slack, "fewer are left: run this test with --update-golden"


def _write(table: Path, name: str, counts: Mapping[str, int]) -> None:
    with table.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # Tests in other processes write their tables to the same file
        text = file.read()
        sections: dict[str, Mapping[str, int]] = tomllib.loads(text) | {name: counts}
        rows = ("\n".join([f"[{key}]", *(f'"{row}" = {rows[row]}' for row in rows)]) for key, rows in sections.items())
        file.seek(0)
        file.write(text.partition("[")[0] + "\n\n".join(rows) + "\n")
        file.truncate()
