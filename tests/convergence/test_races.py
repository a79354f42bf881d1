"""A run that is killed, overtaken or disturbed between any two calls makes nothing twice and loses nothing."""

from __future__ import annotations

from github_stand_in import Request

from convergence.fork_server import ForkServer
from convergence.judging import Judge
from convergence.races import Kill, Pair, Surprise, pairs


def test_a_run_that_was_killed_is_completed_by_the_next(judge: Judge, kill: Kill, fork_server: ForkServer) -> None:
    fleet = judge.begin()
    fleet.killed(fork_server, kill.call, kill.scenario.inputs, kill.scenario.event(fleet))
    judge.require_convergence(is_green=False)


def test_two_runs_at_once_make_what_one_makes(judge: Judge, pair: Pair) -> None:
    # To be overtaken is nothing to fail for: each looks again.
    assert pair.exit_codes(judge.begin()) == (0, 0)
    judge.require_convergence(is_green=True)


def test_what_a_person_does_in_between_is_neither_lost_nor_mistaken(judge: Judge, surprise: Surprise) -> None:
    def watch(number: int, _: Request) -> None:
        if number == surprise.call:
            surprise.deed.do(judge.stage)

    fleet = judge.begin()
    fleet.hub.before_call = watch
    fleet.run(surprise.scenario.inputs, event=surprise.scenario.event(fleet))
    fleet.undisturbed()
    judge.require_rest(surprise.deed)


def test_every_pair_of_calls_is_stopped_at() -> None:
    places = {(pair.scenario.name, pair.first, pair.second) for pair in pairs(both_ways=False)}
    assert len(places) == len(list(pairs(both_ways=False))) == 1444
    assert {(each.scenario.name, each.first, each.second) for each in pairs(both_ways=True)} == places
    assert len(list(pairs(both_ways=True))) == 1578
