"""Every call of every scenario, by every fault, by two ways to strike."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from github_stand_in import FAULTS, Fault

from convergence.judging import Judge, has_warned
from convergence.scenarios import SCENARIOS, Staged, staged

KINDS = (
    *("401", "403 permission", "403 primary limit", "403 secondary limit", "404", "409", "422", "429"),
    *("500", "502", "503", "504", "reset", "slow", "truncated"),
)
WAYS = ("before", "after")
"""The fault strikes before the call's work, or after it; a slow or truncated answer, once or three times."""
_ALWAYS_AFTER = ("slow", "truncated")


@dataclass(frozen=True)
class Cell:
    """One disturbed run."""

    scenario: str
    call: int
    kind: str
    way: str

    @property
    def fault(self) -> Fault:
        fault = FAULTS[self.kind]
        return fault.after_the_work() if self.way == "after" and self.kind not in _ALWAYS_AFTER else fault

    @property
    def times(self) -> int:
        return 3 if self.way == "after" and self.kind in _ALWAYS_AFTER else 1


@dataclass(frozen=True)
class Verdict:
    """What came of a cell; ``problem`` is empty where all is as it should be."""

    cell: Cell
    call: str
    code: int
    """-1: it did not end."""
    problem: str


def cells_of(name: str, calls: int) -> Iterator[Cell]:
    """All cells of a scenario."""
    for call in range(1, calls + 1):
        for kind in KINDS:
            yield from (Cell(name, call, kind, way) for way in WAYS)


def play(number: int, share: int, shares: int) -> list[Verdict]:
    """One share of the cells of a scenario."""
    with tempfile.TemporaryDirectory() as folder, staged(SCENARIOS[number], Path(folder)) as stage:
        cells = list(cells_of(stage.scenario.name, len(stage.acting.calls)))
        judge = Judge(stage)
        return [_judged(stage, judge, cell) for cell in cells[share::shares]]


def _judged(stage: Staged, judge: Judge, cell: Cell) -> Verdict:
    stage.fleet.restore(stage.start)
    stage.fleet.hub.fail(cell.fault, at_call=cell.call, times=cell.times)
    code = -1
    try:
        ran = stage.fleet.run(stage.scenario.inputs)
        stage.fleet.undisturbed()
        code, problem = ran.code, judge.after(is_green=ran.code == 0, has_warned=has_warned(ran))
    except Exception as error:  # noqa: BLE001  (it is told, with the cell)
        problem = f"{type(error).__name__}: {error}"
    return Verdict(cell, stage.acting.calls[cell.call - 1], code, problem)
