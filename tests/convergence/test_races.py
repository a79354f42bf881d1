"""Killed between any two calls, two runs at once, a person in between: nothing is doubled, and nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import pytest

from convergence.deeds import DEEDS
from convergence.disturbances import Found, kills, pairs, people
from convergence.scenarios import SCENARIOS, Scenario
from convergence.told import LINES

_Played = dict[str, list[Found]]


def _play(
    processes: Executor, what: str, play: Callable[..., list[Found]], *more: tuple[object, ...]
) -> _Played:
    futures = [
        (scenario, processes.submit(play, number, *(each[number] for each in more)))
        for number, scenario in enumerate(SCENARIOS)
    ]
    found = {scenario.name: future.result() for scenario, future in futures}
    well = sum(not each.problem for several in found.values() for each in several)
    LINES.append(f"{what}: {sum(map(len, found.values()))} runs, {well} converged")
    return found


@pytest.fixture(scope="module")
def killed(processes: Executor) -> _Played:
    return _play(processes, "killed before each call", kills)


@pytest.fixture(scope="module")
def paired(processes: Executor) -> _Played:
    return _play(processes, "two runs at once, stopped at each pair of their calls", pairs)


@pytest.fixture(scope="module")
def surprised(processes: Executor) -> _Played:
    deeds = tuple(DEEDS[scenario.name] for scenario in SCENARIOS)
    return _play(processes, "a person does something before each call", people, deeds)


def _wrong(found: list[Found]) -> str:
    return "\n".join(f"{each.what}: {each.problem}" for each in found if each.problem)


_each = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@_each
def test_a_run_that_was_killed_is_completed_by_the_next(scenario: Scenario, killed: _Played) -> None:
    assert len(killed[scenario.name]) == scenario.calls
    assert not _wrong(killed[scenario.name])


@_each
def test_two_runs_at_once_make_what_one_makes(scenario: Scenario, paired: _Played) -> None:
    others = 2 if scenario.inputs else 1
    assert len(paired[scenario.name]) == others * scenario.calls * (scenario.calls + 1)
    assert not _wrong(paired[scenario.name])


@_each
def test_what_a_person_does_in_between_is_neither_lost_nor_mistaken(
    scenario: Scenario, surprised: _Played
) -> None:
    texts = [deed for deed in DEEDS[scenario.name] if deed.is_text]
    assert len(surprised[scenario.name]) >= scenario.calls * len(DEEDS[scenario.name]) - 2 * len(texts)
    assert not _wrong(surprised[scenario.name])
