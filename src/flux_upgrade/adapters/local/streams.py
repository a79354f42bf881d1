"""Standard streams as the program can rely on them, whatever the shell that started it did to them."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

_STDOUT, _STDERR = 1, 2


def open_standard() -> None:
    """Fill the places of streams that are closed, and make stderr one that never fails.

    The next file that is opened would get the place, and what is printed would be written into that file.
    """
    for number in range(_STDERR + 1):
        try:
            os.fstat(number)
        except OSError:
            # Not for writing: that the report is lost has to show.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)  # noqa: FBT003 it has no name
    if sys.stdout is None:
        sys.stdout = open(_STDOUT, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 it is open to the end
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    forgiving = io.BufferedWriter(_Forgiving(_STDERR, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(forgiving, encoding, "backslashreplace", line_buffering=True)


class _Forgiving(io.FileIO):
    """A failure that cannot be shown is no reason for another one: the exit code tells."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError:
            return len(content)


def flushed(stream: IO[str]) -> OSError | None:
    """Why a standard stream could not be written to the end; it is given up then. None: it could be."""
    try:
        stream.flush()
    except OSError as error:
        # Python would flush it once more at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
