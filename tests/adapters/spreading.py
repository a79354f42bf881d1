"""Uses of ``spread``, for a process with one thread and no child: it forks in no other."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from flux_upgrade.adapters.local.spread import spread
from flux_upgrade.model.errors import Unreadable

HERE = os.getpid()
CHUNK = 64
THINGS = range(CHUNK * 7 + 3)
"""Eight chunks, the last of them short."""

Work = Callable[[Sequence[int]], Any]


def doubled(some: Sequence[int]) -> list[int]:
    return [2 * each for each in some]


def where(some: Sequence[int]) -> tuple[bool, int, int]:
    """Whether it is this process, which one it is, and how much it was given."""
    return os.getpid() == HERE, os.getpid(), len(some)


def large(some: Sequence[int]) -> bytes:
    return bytes([some[0] % 256]) * 1_000_000


def refuse_first(some: Sequence[int]) -> None:
    if some[0] == 0:
        raise Unreadable("a.yaml cannot be read", hint="check its permissions")


def refuse_second(some: Sequence[int]) -> None:
    if some[0] == CHUNK:
        raise Unreadable("a.yaml cannot be read", hint="check its permissions")


def raise_unknown(_: Sequence[int]) -> None:
    class Odd(Exception):
        """It is of no module."""

    if os.getpid() != HERE:
        raise Odd("it went wrong")


def give_function(_: Sequence[int]) -> object:
    return lambda: None


def doubled_until_killed(some: Sequence[int]) -> list[int]:
    if os.getpid() != HERE and some[0] > 3 * CHUNK:
        os.kill(os.getpid(), signal.SIGKILL)
    return doubled(some)


def large_until_killed(some: Sequence[int]) -> bytes:
    """A helper is killed while it waits for this process to take the rest of its first result."""
    if os.getpid() == HERE:
        time.sleep(0.5)
    else:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return large(some)


def slow_elsewhere(some: Sequence[int]) -> bytes:
    if os.getpid() != HERE:
        time.sleep(60)
    return bytes(len(some))


def interrupt_here(_: Sequence[int]) -> None:
    if os.getpid() == HERE:
        raise KeyboardInterrupt
    time.sleep(60)


def spread_all(work: Work, count: int = len(THINGS), chunk: int = CHUNK, processes: int | None = None) -> list[Any]:
    try:
        return list(spread(work, range(count), chunk, processes))
    finally:
        refuse_children()


def spread_on_one_processor(work: Work, count: int, chunk: int) -> list[Any]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        return spread_all(work, count, chunk)
    finally:
        os.sched_setaffinity(0, allowed)


def spread_beside_a_thread(work: Work) -> list[Any]:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        return spread_all(work, processes=2)
    finally:
        done.set()
        thread.join()


def spread_without_files(work: Work) -> list[Any]:
    """No more of them may be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        return spread_all(work, processes=3)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def stop_after_the_first(work: Work) -> None:
    results = spread(work, THINGS, CHUNK, 3)
    next(results)
    results.close()
    refuse_children()


def refuse_children() -> None:
    """Raise AssertionError if there is a child of this process."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return
    raise AssertionError("a process is left")
