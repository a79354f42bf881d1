"""Work on many things at once: by several processes, on the processors that this one may use."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from signal import SIGKILL
from typing import IO, TypeVar

T = TypeVar("T")
R = TypeVar("R")

FEWEST = 16
"""Fewer chunks are sooner done by this process alone."""
MOST = 2
"""Processes: each takes 40 MB, and with two of them most of the time goes into what cannot be shared."""


def spread(
    work: Callable[[Sequence[T]], R], things: Sequence[T], chunk: int, processes: int | None = None
) -> Generator[R]:
    """See the port. Helpers are forked from this process, so that ``work`` may be any function.

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
    """How many processes there should be."""
    if chunks < FEWEST or not hasattr(os, "sched_getaffinity"):
        # Elsewhere than on Linux, the system's own libraries may not be used after a fork.
        return 1
    return min(len(os.sched_getaffinity(0)), MOST)


def _begin(
    helpers: list[_Helper], work: Callable[[Sequence[T]], R], chunks: Sequence[Sequence[T]], wanted: int
) -> int:
    """Fork the helpers; how many processes work together then."""
    import threading

    # A lock that another thread holds would never be released in the copy of this process.
    if wanted > 1 and threading.active_count() == 1:
        try:
            for share in range(1, wanted):
                helpers.append(_Helper(work, chunks[share::wanted], helpers))
        except OSError:  # no more processes or files are allowed: it can be done without
            while helpers:
                helpers.pop().end()
    return len(helpers) + 1


class _Helper:
    """A process that works on its share of the chunks, one after the other."""

    def __init__(
        self, work: Callable[[Sequence[T]], R], chunks: Sequence[Sequence[T]], others: Sequence[_Helper]
    ) -> None:
        reading, writing = os.pipe()
        try:
            self._process = os.fork()
        except OSError:
            os.close(reading)
            os.close(writing)
            raise
        if self._process:
            os.close(writing)
            self._results: IO[bytes] = os.fdopen(reading, "rb")
            return
        # From here on it is the copy. It must never come back to the code of its caller.
        try:
            os.close(reading)
            for each in others:
                each._results.close()  # noqa: SLF001 of the same class
            with os.fdopen(writing, "wb") as results:
                for chunk in chunks:
                    results.write(_outcome(work, chunk))
                    results.flush()
        finally:
            os._exit(0)  # nothing of the caller's is flushed or cleaned up twice

    def given(self, work: Callable[[Sequence[T]], R], chunk: Sequence[T]) -> R:
        """What it has for its next chunk, which is this one."""
        try:
            error, result = pickle.load(self._results)  # noqa: S301 it comes from a copy of this process
        except (EOFError, pickle.UnpicklingError):
            # The process is gone: it was killed, by whomever. There is this one.
            return work(chunk)
        if error is not None:
            raise error
        given: R = result
        return given

    def end(self) -> None:
        """Stop it, unless it has ended."""
        self._results.close()
        with suppress(ProcessLookupError):
            os.kill(self._process, SIGKILL)  # it has not been waited for: the number is still its own
        os.waitpid(self._process, 0)


def _outcome(work: Callable[[Sequence[T]], R], chunk: Sequence[T]) -> bytes:
    """What came of a chunk: an error or None, and the result."""
    try:
        return pickle.dumps((None, work(chunk)))
    except Exception as error:  # noqa: BLE001 the caller's, whatever it is
        return _told(error)


def _told(error: Exception) -> bytes:
    """An error as the caller will meet it, with the place that it comes from."""
    import traceback

    error.add_note("".join(traceback.format_exception(error)))
    try:
        told = pickle.dumps((error, None))
        pickle.loads(told)  # noqa: S301 our own
    except Exception:  # noqa: BLE001 errors can be made such that they cannot be made again
        return pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), None))
    return told
