"""Reading a file that somebody else may have put there: bounded, and never waiting."""

from __future__ import annotations

import errno
import os
import stat


def read_regular(path: str, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes; links are followed.

    Raises OSError, with a ``strerror`` to show; its errno is EINVAL for pipes and
    the like, EISDIR for folders, EFBIG for more than ``limit``.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        # To make room for as much as may be read takes longer than to read most files.
        content = file.read(min(found.st_size, limit) + 1)
        if len(content) > found.st_size:  # it grows, or is one of those that do not tell their size
            content += file.read(limit + 1 - len(content))
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit} bytes")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # opening a named pipe would wait for a writer
