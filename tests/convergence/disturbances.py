"""What else may happen during a run: it is killed, another one is at work, a person is faster."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from github_stand_in import Request

from convergence.deeds import Deed
from convergence.judging import Judge
from convergence.pictures import difference
from convergence.runs import Ran
from convergence.scenarios import SCENARIOS, Staged, staged

_PATIENCE = 60.0
"""Seconds after which a run that waits for the other one is given up."""


@dataclass(frozen=True)
class Found:
    """What came of one disturbance; ``problem`` is empty where all is as it should be."""

    what: str
    problem: str


def _told(what: str, judged: Callable[[], str]) -> Found:
    try:
        return Found(what, judged())
    except Exception as error:  # noqa: BLE001  (it is told, with what was done)
        return Found(what, f"{type(error).__name__}: {error}")


@contextmanager
def _stage(number: int) -> Iterator[Staged]:
    with tempfile.TemporaryDirectory() as folder, staged(SCENARIOS[number], Path(folder)) as stage:
        yield stage


# Killed


def kills(number: int) -> list[Found]:
    """The process is killed before each of its calls."""

    def killed(stage: Staged, judge: Judge, call: int) -> str:
        stage.fleet.restore(stage.start)
        stage.fleet.killed(call, stage.scenario.inputs)
        return judge.after(is_green=False)

    with _stage(number) as stage:
        judge = Judge(stage)
        return [
            _told(f"killed before {name}", partial(killed, stage, judge, call))
            for call, name in enumerate(stage.acting.calls, 1)
        ]


# Two runs


@dataclass(frozen=True)
class _Both:
    """One run stops before its call ``first``, until the other is about to make its call ``second`` or ends.

    Then the one goes on to its end, and after that the other.
    """

    first: int
    second: int
    inputs: Mapping[str, str]
    """Of the other."""

    def play(self, stage: Staged, judge: Judge) -> str:
        stage.fleet.restore(stage.start)
        codes = self._codes(stage)
        stage.fleet.undisturbed()
        # To be overtaken is nothing to fail for: each looks again.
        return f"they end with {codes}" if any(codes) else judge.after(is_green=True)

    def _codes(self, stage: Staged) -> tuple[int, int]:
        fleet = stage.fleet
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
                one = fleet.run_here(stage.scenario.inputs)
            finally:
                ended.set()
                thread.join(_PATIENCE)
        return one.code, ran[0].code


def pairs(number: int) -> list[Found]:
    """Two runs at once, stopped at each pair of their calls.

    Beside a run that is to approve something, that is the same once more, and one of the schedule.
    """
    with _stage(number) as stage:
        judge = Judge(stage)
        calls = len(stage.acting.calls)
        beside = [stage.scenario.inputs, {}] if stage.scenario.inputs else [{}]
        return [
            _told(f"two runs, {both}", partial(both.play, stage, judge))
            for inputs in beside
            for first in range(1, calls + 1)
            for second in range(1, calls + 2)
            for both in [_Both(first, second, inputs)]
        ]


# People


def people(number: int, deeds: tuple[Deed, ...]) -> list[Found]:
    """A person does something right before each call."""
    with _stage(number) as stage:
        found = []
        for deed in deeds:
            for call, name in enumerate(stage.acting.calls, 1):
                if not (deed.is_text and name.startswith("PATCH /pulls")):
                    between = partial(_between, stage, deed, call)
                    found.append(_told(f"a person {deed.name} before {name}", between))
        return found


def _between(stage: Staged, deed: Deed, call: int) -> str:
    fleet = stage.fleet
    fleet.restore(stage.start)

    def watch(number: int, _: Request) -> None:
        if number == call:
            deed.do(stage)

    fleet.hub.before_call = watch
    try:
        fleet.run(stage.scenario.inputs)
    finally:
        fleet.undisturbed()
    fleet.run()
    fleet.run()
    before = fleet.picture()
    rest = fleet.run()
    if rest.writes or fleet.picture() != before:
        return f"it does not come to rest: {rest.writes}, {difference(before, fleet.picture())}"
    return deed.judged(stage, rest)
