"""What a run is doing, on stderr: one line on a terminal once it takes long, lines in a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from flux_upgrade.model.markdown import shortened
from flux_upgrade.model.text import one_line

_DELAY = 0.5  # Seconds until the first line: most runs are over by then
_CLEAR = "\r\x1b[K"


class TerminalLine:
    """The port Progress: a line that is written over, and gone in the end."""

    def __init__(self, err: IO[str], width: int, mask: Callable[[str], str] = str) -> None:
        import threading  # late: only a terminal has such a line

        self._err, self._width, self._mask = err, width, mask
        self._text = ""
        self._is_late = False  # Whether it is time to show it
        self._is_there = False  # Whether the line is on the screen
        self._lock = threading.Lock()
        # A request that nobody answers would keep the first line from being written.
        self._timer = threading.Timer(_DELAY, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def doing(self, what: str) -> None:
        with self._lock:
            self._text = self._mask(what)
            if self._is_late:
                self._write()

    def waiting(self, why: str) -> None:
        self.doing(why)

    def clear(self) -> None:
        """Take the line away, until there is something new to say."""
        with self._lock:
            if self._is_there:
                self._is_there = False
                self._err.write(_CLEAR)
                self._err.flush()

    def close(self) -> None:
        self._timer.cancel()
        self._is_late = False
        self.clear()

    def _begin(self) -> None:
        with self._lock:
            self._is_late = True
            self._write()

    def _write(self) -> None:
        if self._text:
            self._is_there = True
            self._err.write(f"{_CLEAR}{shortened(one_line(self._text), max(self._width - 1, 20))} …")
            self._err.flush()


class LogLines:
    """The port Progress: a line for each thing that the run does."""

    def __init__(self, err: IO[str], mask: Callable[[str], str] = str) -> None:
        self._err, self._mask, self._last = err, mask, ""

    def doing(self, what: str) -> None:
        if what != self._last:
            self._last = what
            self.waiting(what)

    def waiting(self, why: str) -> None:
        self._err.write(f"flux-upgrade: {one_line(self._mask(why))}\n")
        self._err.flush()

    def clear(self) -> None:
        """Lines stay."""

    def close(self) -> None:
        """As above."""
