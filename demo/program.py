"""flux-upgrade by the clock of the demo: ``python program.py SECONDS ARGUMENT…``.

It is what ``python -m flux_upgrade`` is, but for the time: that begins at SECONDS since 1970,
and whoever sleeps (between two writes, as GitHub asks for) wakes up at once, later.
"""

from __future__ import annotations

import os
import random
import sys
import time

from flux_upgrade import main as cli
from flux_upgrade.model.timing import Timing


class Clock:
    """As fast as the machine's, with what was slept on top."""

    def __init__(self, begin: float) -> None:
        self._ahead = begin - time.monotonic()

    def now(self) -> float:
        """Seconds since 1970."""
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        """Let them pass."""
        self._ahead += seconds


def main() -> int:
    """One run."""
    clock = Clock(float(sys.argv[1]))
    environment = dict(os.environ)  # noqa: TID251 the entry, as cli.main is
    timing = Timing(now=clock.now, sleep=clock.sleep, jitter=random.random)
    return cli.run(sys.argv[2:], environment, sys.stdout.buffer, sys.stderr, timing)


if __name__ == "__main__":
    raise SystemExit(main())
