"""What else may happen during a run: it is killed, another one is at work, a person is faster."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from github_stand_in import Request

from convergence.deeds import DEEDS, Deed
from convergence.fleet import Fleet
from convergence.runs import Ran
from convergence.scenarios import SCENARIOS, Scenario

_PATIENCE = 60.0
"""Seconds after which a run that waits for the other one is given up."""


@dataclass(frozen=True)
class Kill:
    """A run is killed before one of its calls."""

    scenario: Scenario
    call: int

    def __str__(self) -> str:
        return f"{self.scenario.name}-{self.call}"


@dataclass(frozen=True)
class Surprise:
    """A person does something right before a call."""

    scenario: Scenario
    call: int
    deed: Deed

    def __str__(self) -> str:
        return f"{self.scenario.name}-{self.call}-{self.deed.name}"


@dataclass(frozen=True, eq=False)
class Pair:
    """One run stops before its call ``first``, until the other is about to make its call ``second`` or ends.

    Then the one goes on to its end, and after that the other.
    """

    scenario: Scenario
    first: int
    second: int
    inputs: Mapping[str, str]
    """Of the other."""

    def __str__(self) -> str:
        other = "one of the schedule" if self.scenario.answer or self.inputs != self.scenario.inputs else "the same"
        return f"{self.scenario.name}-{self.first}-{self.second}-{other}"

    def exit_codes(self, fleet: Fleet) -> tuple[int, int]:
        """Play it."""
        ended, paused = threading.Event(), threading.Event()
        ran: list[Ran] = []
        counts = {fleet.token.value: 0, fleet.second.value: 0}

        def run_other() -> None:
            try:
                ran.append(fleet.run_here(self.inputs, token=fleet.second))
            finally:
                paused.set()

        thread = threading.Thread(target=run_other)

        def watch(_: int, request: Request) -> None:
            assert request.token is not None
            value = request.token.value
            counts[value] += 1
            if value == fleet.token.value and counts[value] == self.first:
                thread.start()
                assert paused.wait(_PATIENCE)
            elif value == fleet.second.value and counts[value] == self.second:
                paused.set()
                assert ended.wait(_PATIENCE)

        fleet.hub.before_call = watch
        with contextlib.chdir(fleet.checkout()):
            try:
                one = fleet.run_here(self.scenario.inputs, event=self.scenario.event(fleet))
            finally:
                ended.set()
                thread.join(_PATIENCE)
        fleet.undisturbed()
        return one.code, ran[0].code


def kills() -> Iterator[Kill]:
    """Before each call of every scenario."""
    for scenario in SCENARIOS:
        yield from (Kill(scenario, call) for call in range(1, len(scenario.calls) + 1))


def surprises() -> Iterator[Surprise]:
    """Each deed before each call that does not undo it."""
    for kill in kills():
        is_edit = kill.scenario.calls[kill.call - 1].startswith("PATCH /pulls")
        for deed in DEEDS[kill.scenario.name]:
            if not (deed.is_text and is_edit):
                yield Surprise(kill.scenario, kill.call, deed)


def pairs(*, both_ways: bool) -> Iterator[Pair]:
    """All pairs of calls.

    Beside a run that is to approve something is the same once more, or one of the schedule: in turn or both ways.
    """
    for scenario in SCENARIOS:
        others = [scenario.inputs, {}] if scenario.inputs else [{}]
        calls = len(scenario.calls)
        for first in range(1, calls + 1):
            for second in range(1, calls + 2):
                chosen = others if both_ways else [others[(first + second) % len(others)]]
                yield from (Pair(scenario, first, second, inputs) for inputs in chosen)
