"""The page of version references has a row for each kind and each state."""

from __future__ import annotations

import re
from pathlib import Path

from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.pin import PinState
from flux_upgrade.pins.registry import PIN_KINDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "pins.md"


def column(heading: str, index: int) -> list[str]:
    """Cells of the table below a heading, without backquotes."""
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [re.split(r"(?<!\\)\|", line)[1 + index].strip().strip("`") for line in lines]


def test_every_kind_has_one_row() -> None:
    assert sorted(column("Kinds", 1)) == sorted([pin.NAME, *(kind.name for kind in PIN_KINDS)])


def test_every_state_has_one_row() -> None:
    assert column("States", 0) == [str(each) for each in PinState]
