"""The clock of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Timing(NamedTuple):
    """The clock (epoch seconds), the sleep (seconds) and the dice (in [0, 1)) of a run."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
