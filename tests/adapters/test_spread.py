"""Work is spread over processes, each item is done once and in order, and no helper process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from adapters import spreading
from adapters.spreading import CHUNK, THINGS, spread_all
from flux_upgrade.adapters.local.spread import FEWEST, MOST
from flux_upgrade.model.errors import Unreadable

Alone = Callable[..., Any]


@pytest.fixture(scope="module")
def alone() -> Iterator[Alone]:
    """Calls a function in a process where nothing else runs: here, other fixtures have threads and children."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        # The pool starts its process and its thread with the first call.
        pool.submit(spreading.refuse_children).result()
        yield lambda call, *given, **named: pool.submit(call, *given, **named).result(60)


@pytest.mark.parametrize("processes", [1, 2, 3, 50])
@pytest.mark.parametrize("count", [0, 1, CHUNK, CHUNK + 1, len(THINGS)])
def test_everything_is_worked_on_once_and_given_in_order(alone: Alone, count: int, processes: int) -> None:
    results = alone(spread_all, spreading.doubled, count, processes=processes)
    assert [each for part in results for each in part] == [2 * each for each in range(count)]


def test_the_work_is_shared_by_as_many_processes_as_were_asked_for(alone: Alone) -> None:
    results = alone(spread_all, spreading.where, processes=3)
    assert {length for _, _, length in results[:-1]} == {CHUNK}
    by_process = [process for _, process, _ in results]
    assert len(set(by_process)) == 3
    assert [is_here for is_here, _, _ in results] == [at % 3 == 0 for at in range(len(results))]
    assert by_process == [by_process[at % 3] for at in range(len(by_process))]


def test_a_few_things_are_done_here(alone: Alone) -> None:
    assert all(is_here for is_here, _, _ in alone(spread_all, spreading.where, FEWEST - 1, chunk=1))


def test_many_things_are_spread_over_the_processors_that_this_process_may_use(alone: Alone) -> None:
    processes = {process for _, process, _ in alone(spread_all, spreading.where, FEWEST, chunk=1)}
    assert len(processes) == min(len(os.sched_getaffinity(0)), MOST)
    results = alone(spreading.spread_on_one_processor, spreading.where, FEWEST, chunk=1)
    assert all(is_here for is_here, _, _ in results)


def test_with_other_threads_this_process_works_alone(alone: Alone) -> None:
    """A lock that one of them holds would stay locked in a copy for ever."""
    assert all(is_here for is_here, _, _ in alone(spreading.spread_beside_a_thread, spreading.where))


def test_where_no_more_files_may_be_opened_this_process_works_alone(alone: Alone) -> None:
    assert all(is_here for is_here, _, _ in alone(spreading.spread_without_files, spreading.where))


@pytest.mark.parametrize("work", [spreading.large, spreading.large_until_killed])
def test_large_results_come_through(alone: Alone, work: spreading.Work) -> None:
    results = alone(spread_all, work, processes=2)
    assert [(each[0], len(each)) for each in results] == [(at % 256, 1_000_000) for at in range(0, len(THINGS), CHUNK)]


@pytest.mark.parametrize("work", [spreading.refuse_first, spreading.refuse_second])
def test_an_error_is_the_callers(alone: Alone, work: spreading.Work) -> None:
    with pytest.raises(Unreadable) as caught:
        alone(spread_all, work, processes=2)
    assert (caught.value.message, caught.value.hint) == ("a.yaml cannot be read", "check its permissions")
    has_place = any("in refuse_second" in note for note in getattr(caught.value, "__notes__", ()))
    assert has_place is (work is spreading.refuse_second), "an error of a helper comes with its place"


def test_an_error_that_cannot_be_pickled_is_reported(alone: Alone) -> None:
    with pytest.raises(RuntimeError, match="Odd: it went wrong"):
        alone(spread_all, spreading.raise_unknown, processes=2)


def test_what_cannot_be_sent_is_an_error(alone: Alone) -> None:
    with pytest.raises(Exception, match=r"pickle|Can't get local object"):
        alone(spread_all, spreading.give_function, processes=2)


def test_the_work_of_a_helper_that_was_killed_is_done_here(alone: Alone) -> None:
    results = alone(spread_all, spreading.doubled_until_killed, processes=2)
    assert [each for part in results for each in part] == [2 * each for each in THINGS]


def test_nothing_goes_on_once_the_caller_has_stopped(alone: Alone) -> None:
    begin = time.monotonic()
    alone(spreading.stop_after_the_first, spreading.slow_elsewhere)
    assert time.monotonic() - begin < 30


def test_nothing_goes_on_once_this_process_was_interrupted(alone: Alone) -> None:
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        alone(spread_all, spreading.interrupt_here, processes=3)
    assert time.monotonic() - begin < 30


def run(program: str, code: int = 0) -> str:
    """What a program prints, in a Python of its own, until neither it nor a helper of it is left."""
    ran = subprocess.run(  # noqa: S603 this Python, and a program of ours
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")},
        check=False,
        text=True,
        timeout=30,
    )
    assert ran.returncode == code
    return ran.stdout


def test_a_helper_neither_prints_nor_cleans_up_for_this_process() -> None:
    program = """
import atexit, sys
from flux_upgrade.adapters.local.spread import spread
sys.stdout.write("begun\\n")
atexit.register(print, "cleaned up")
try:
    print(sum(spread(len, range(1000), 10, 3)))
finally:
    print("left")
"""
    assert run(program) == "begun\n1000\nleft\ncleaned up\n"


@pytest.mark.parametrize(
    ("end", "code"),
    [("builtins.kept = results", 0), ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL)],
    ids=["ends", "is-killed"],
)
@pytest.mark.parametrize("processes", [2, 3])
def test_a_helper_does_not_outlive_a_program_that_never_stopped_asking(end: str, code: int, processes: int) -> None:
    """It waits for its large results to be taken."""
    program = f"""
import builtins, os, signal, sys
from flux_upgrade.adapters.local.spread import spread
results = spread(lambda some: bytes(1_000_000), range(1000), 10, {processes})
print(len(next(results)), flush=True)
{end}
"""
    assert run(program, code) == "1000000\n"
