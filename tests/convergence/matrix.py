"""Every call of every scenario, by every fault: before or after the call's work, in turn or both ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from github_stand_in import FAULTS, Fault

from convergence.scenarios import SCENARIOS, Scenario

PASSING = (*("403 secondary limit", "429", "500", "502", "503", "504", "reset"), *("slow", "truncated"))
"""What a run waits for, or tries again at once."""
LASTING = ("401", "403 permission", "403 primary limit", "404", "409", "422")
KINDS = (*LASTING, *PASSING)
WAYS = ("before", "after")
"""The fault strikes before the call's work, or after it; a slow or truncated answer, once or three times."""
_ALWAYS_AFTER = ("slow", "truncated")


@dataclass(frozen=True)
class Cell:
    """One disturbed run."""

    scenario: Scenario
    call: int
    kind: str
    way: str

    def __str__(self) -> str:
        return f"{self.scenario.name}-{self.call} {self.name}-{self.kind}-{self.way}"

    @property
    def name(self) -> str:
        """See ``name_of``."""
        return self.scenario.calls[self.call - 1]

    @property
    def fault(self) -> Fault:
        fault = FAULTS[self.kind]
        return fault.after_the_work() if self.way == "after" and self.kind not in _ALWAYS_AFTER else fault

    @property
    def times(self) -> int:
        return 3 if self.way == "after" and self.kind in _ALWAYS_AFTER else 1


def cells(*, both_ways: bool) -> Iterator[Cell]:
    """All cells; or of each call and fault one, so that a call that several scenarios make is tried both ways."""
    counts = Counter(name for scenario in SCENARIOS for name in scenario.calls)
    # What is called an odd number of times meets one way more often: every other such call the other one.
    odd = [name for name, count in counts.items() if count % 2]
    turns = {name: number % 2 for number, name in enumerate(odd)}
    for scenario in SCENARIOS:
        for call, name in enumerate(scenario.calls, 1):
            turns[name] = turns.get(name, 0) + 1
            for turn, kind in enumerate(KINDS, turns[name]):
                ways = WAYS if both_ways else (WAYS[turn % 2],)
                yield from (Cell(scenario, call, kind, way) for way in ways)
