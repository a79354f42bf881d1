from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from flux_upgrade.edges.spread import FEWEST, MOST, spread
from flux_upgrade.errors import Unreadable

HERE = os.getpid()
CHUNK = 64
THINGS = range(CHUNK * 7 + 3)
"""Eight chunks, the last of them short."""


def doubled(some: Sequence[int]) -> list[int]:
    return [2 * each for each in some]


def where(some: Sequence[int]) -> tuple[int, int]:
    return os.getpid(), len(some)


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("processes", [1, 2, 3, 50])
@pytest.mark.parametrize("count", [0, 1, CHUNK, CHUNK + 1, len(THINGS)])
def test_everything_is_worked_on_once_and_given_in_order(count: int, processes: int) -> None:
    given = [each for part in spread(doubled, range(count), CHUNK, processes) for each in part]
    assert given == [2 * each for each in range(count)]


def test_the_work_is_shared_by_as_many_processes_as_were_asked_for() -> None:
    told = list(spread(where, THINGS, CHUNK, 3))
    assert {length for _, length in told[:-1]} == {CHUNK}
    by_process = [process for process, _ in told]
    assert len(set(by_process)) == 3
    assert by_process[0] == HERE, "this one does its part"
    assert by_process == [by_process[at % 3] for at in range(len(by_process))]


def test_a_few_things_are_done_here() -> None:
    assert {process for process, _ in spread(where, range(FEWEST - 1), 1)} == {HERE}


def test_many_things_are_spread_over_the_processors_that_this_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    told = {process for process, _ in spread(where, range(FEWEST), 1)}
    assert len(told) == min(len(allowed), MOST)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert {process for process, _ in spread(where, range(FEWEST), 1)} == {HERE}
    finally:
        os.sched_setaffinity(0, allowed)


def test_with_other_threads_this_process_works_alone() -> None:
    """A lock that one of them holds would stay locked in a copy for ever."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert {process for process, _ in spread(where, THINGS, CHUNK, 2)} == {HERE}
    finally:
        done.set()
        thread.join()


def test_where_no_more_files_may_be_opened_this_process_works_alone() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        assert {process for process, _ in spread(where, THINGS, CHUNK, 3)} == {HERE}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_large_results_come_through() -> None:
    def large(some: Sequence[int]) -> bytes:
        return bytes([some[0] % 256]) * 1_000_000

    told = list(spread(large, THINGS, CHUNK, 2))
    assert [(each[0], len(each)) for each in told] == [
        (at % 256, 1_000_000) for at in range(0, len(THINGS), CHUNK)
    ]


@pytest.mark.parametrize("at", [0, 1], ids=["in-this-process", "in-a-helper"])
def test_an_error_is_the_callers(at: int) -> None:
    def refuse(some: Sequence[int]) -> None:
        if some[0] == at * CHUNK:
            raise Unreadable("a.yaml cannot be read", hint="check its permissions")

    with pytest.raises(Unreadable) as caught:
        list(spread(refuse, THINGS, CHUNK, 2))
    assert (caught.value.message, caught.value.hint) == ("a.yaml cannot be read", "check its permissions")
    assert any("in refuse" in note for note in getattr(caught.value, "__notes__", ())) is bool(at)


def test_an_error_that_cannot_be_sent_is_told() -> None:
    class Odd(Exception):
        """It is of no module."""

    def refuse(_: Sequence[int]) -> None:
        if os.getpid() != HERE:
            raise Odd("it went wrong")

    with pytest.raises(RuntimeError, match="Odd: it went wrong"):
        list(spread(refuse, THINGS, CHUNK, 2))


def test_what_cannot_be_sent_is_an_error() -> None:
    def odd(_: Sequence[int]) -> object:
        return lambda: None

    with pytest.raises(Exception, match="pickle"):
        list(spread(odd, THINGS, CHUNK, 2))


def test_the_work_of_a_helper_that_was_killed_is_done_here() -> None:
    def work(some: Sequence[int]) -> list[int]:
        if os.getpid() != HERE and some[0] > 3 * CHUNK:
            os.kill(os.getpid(), signal.SIGKILL)
        return doubled(some)

    given = [each for part in spread(work, THINGS, CHUNK, 2) for each in part]
    assert given == [2 * each for each in THINGS]


def test_nothing_goes_on_once_the_caller_has_stopped() -> None:
    def slow(some: Sequence[int]) -> bytes:
        if os.getpid() != HERE:
            time.sleep(60)
        return bytes(len(some))

    begin = time.monotonic()
    results = iter(spread(slow, THINGS, CHUNK, 3))
    next(results)
    results.close()  # type: ignore[attr-defined] # it is a generator
    assert time.monotonic() - begin < 30


def test_nothing_goes_on_once_this_process_was_interrupted() -> None:
    def interrupted(_: Sequence[int]) -> None:
        if os.getpid() == HERE:
            raise KeyboardInterrupt
        time.sleep(60)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(spread(interrupted, THINGS, CHUNK, 3))
    assert time.monotonic() - begin < 30


def test_a_helper_neither_prints_nor_cleans_up_for_this_process() -> None:
    program = """
import atexit, sys
from flux_upgrade.edges.spread import spread
sys.stdout.write("begun\\n")
atexit.register(print, "cleaned up")
try:
    print(sum(spread(len, range(1000), 10, 3)))
finally:
    print("left")
"""
    ran = subprocess.run(  # noqa: S603 this Python, and a program of ours
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")},
        check=True,
        text=True,
    )
    assert ran.stdout == "begun\n1000\nleft\ncleaned up\n"
