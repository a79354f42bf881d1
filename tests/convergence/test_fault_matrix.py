"""After any fault at any call, the next run makes one correct pull request, and the one after it writes nothing."""

from __future__ import annotations

import gc
from collections import defaultdict

from convergence.judging import Judge, has_warned
from convergence.matrix import KINDS, PASSING, WAYS, Cell, cells
from convergence.scenarios import SCENARIOS


def test_whatever_goes_wrong_the_next_run_converges(judge: Judge, cell: Cell) -> None:
    fleet = judge.begin()
    fleet.hub.fail(cell.fault, at_call=cell.call, times=cell.times)
    ran = fleet.run(cell.scenario.inputs, event=cell.scenario.event(fleet))
    fleet.undisturbed()
    gc.collect()  # an error keeps the connection that broke
    if cell.kind in PASSING:
        assert ran.code == 0, ran.log
    elif cell.call == 1:
        assert ran.code != 0, ran.log
    judge.require_convergence(is_green=ran.code == 0, has_warned=has_warned(ran))


def test_every_call_meets_every_fault_both_ways() -> None:
    wanted = [
        (scenario, call, kind, way)
        for scenario in SCENARIOS
        for call in range(1, len(scenario.calls) + 1)
        for kind in KINDS
        for way in WAYS
    ]
    found = [(cell.scenario, cell.call, cell.kind, cell.way) for cell in cells(both_ways=True)]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    assert len(found) == 5370


def test_in_turn_every_call_meets_every_fault_one_way_and_each_about_as_often() -> None:
    by_place, by_call, by_kind, by_name = (defaultdict[object, list[str]](list) for _ in range(4))
    for cell in cells(both_ways=False):
        by_place[cell.scenario.name, cell.call, cell.kind].append(cell.way)
        by_call[cell.scenario.name, cell.call].append(cell.way)
        by_kind[cell.kind].append(cell.way)
        by_name[cell.name, cell.kind].append(cell.way)
    assert len(by_place) == 2685
    assert all(len(ways) == 1 for ways in by_place.values())
    assert all(abs(ways.count("before") - ways.count("after")) == 1 for ways in by_call.values())
    assert all(abs(ways.count("before") - ways.count("after")) <= 2 for ways in by_kind.values())
    assert all(set(ways) == set(WAYS) for ways in by_name.values() if len(ways) > 1)
