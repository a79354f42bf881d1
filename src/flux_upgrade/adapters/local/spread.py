"""Work on many things at once: by several processes, on the processors that this one may use.

The standard library's pools do not do: concurrent.futures cannot end what is running before Python
3.14, and multiprocessing.Pool waits for ever for the results of a process that was killed.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from signal import SIG_IGN, SIGINT, signal
from typing import TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")
R = TypeVar("R")

FEWEST = 16  # fewer chunks are sooner done by this process alone
MOST = 2  # processes: each takes 40 MB, and with two of them most of the time goes into what cannot be shared


def spread(
    work: Callable[[Sequence[T]], R], things: Sequence[T], chunk: int, processes: int | None = None
) -> Generator[R]:
    """Helpers are forked from this process, so that ``work`` may be any function.

    None of them is left once ``work`` has raised something, or the caller has stopped asking.
    ``processes``: this one included; None: as many as there are processors, where that pays.
    """
    chunks = [things[at : at + chunk] for at in range(0, len(things), chunk)]
    wanted = _worthwhile(len(chunks)) if processes is None else processes
    helpers: list[_Helper] = []
    try:
        count = _begin(helpers, work, chunks, min(wanted, len(chunks)))
        for at, some in enumerate(chunks):
            yield helpers[at % count - 1].given(work, some) if at % count else work(some)
    finally:
        for each in helpers:
            each.end()


def _worthwhile(chunks: int) -> int:
    if chunks < FEWEST or not hasattr(os, "sched_getaffinity"):
        # Elsewhere than on Linux, the system's own libraries may not be used after a fork.
        return 1
    return min(len(os.sched_getaffinity(0)), MOST)


def _begin(helpers: list[_Helper], work: Callable[[Sequence[T]], R], chunks: Sequence[Sequence[T]], wanted: int) -> int:
    # A lock that another thread holds would never be released in the copy of this process.
    if wanted > 1 and threading.active_count() == 1:
        try:
            for share in range(1, wanted):
                helpers.append(_Helper(work, chunks[share::wanted]))  # noqa: PERF401 one may fail
        except OSError:  # no more processes or files are allowed: it can be done without
            while helpers:
                helpers.pop().end()
    return len(helpers) + 1


class _Helper:
    def __init__(self, work: Callable[[Sequence[T]], R], chunks: Sequence[Sequence[T]]) -> None:
        from multiprocessing import get_context

        context = get_context("fork")
        self._results, results = context.Pipe(duplex=False)
        try:
            # A daemon ends with this program, even if the caller still holds the iterator.
            self._process = context.Process(target=_share, args=(self._results, results, work, chunks), daemon=True)
            self._process.start()
        except OSError:
            self._results.close()
            raise
        finally:
            results.close()

    def given(self, work: Callable[[Sequence[T]], R], chunk: Sequence[T]) -> R:
        """What it has for its next chunk, which is this one."""
        try:
            error, result = self._results.recv()
        except (EOFError, OSError):
            # The process is gone, perhaps in the middle of a result: it was killed. There is this one.
            return work(chunk)
        if error is not None:
            raise error
        given: R = result
        return given

    def end(self) -> None:
        self._results.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _share(
    callers: Connection, results: Connection, work: Callable[[Sequence[T]], R], chunks: Sequence[Sequence[T]]
) -> None:
    """What a helper does: for each chunk it sends an error or None, and the result."""
    callers.close()  # else sending would not fail once the caller is gone
    # Whoever interrupts this program interrupts the process that ends the helpers.
    signal(SIGINT, SIG_IGN)
    with suppress(BrokenPipeError):
        for chunk in chunks:
            try:
                results.send((None, work(chunk)))
            except BrokenPipeError:
                raise
            except Exception as error:  # noqa: BLE001 the caller's, whatever it is
                results.send((_picklable(error), None))


def _picklable(error: Exception) -> Exception:
    """An error as the caller will meet it, with the place that it comes from."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 our own
    except Exception:  # noqa: BLE001 errors can be made such that they cannot be made again
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
