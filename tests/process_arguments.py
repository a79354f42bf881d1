"""The arguments of the processes of this machine, as any user of it may read them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from real_parts import missing


@contextmanager
def seen_arguments() -> Iterator[set[bytes]]:
    """The command lines of all processes that run meanwhile, as far as one can look."""
    if not Path("/proc/self/cmdline").exists():
        missing("there is no /proc")
    seen: set[bytes] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            for name in os.listdir("/proc"):
                with suppress(OSError):
                    seen.add(Path("/proc", name, "cmdline").read_bytes() if name.isdigit() else b"")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()
