"""The clock of a run, and how long it waits for servers."""

from __future__ import annotations

from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Patience(NamedTuple):
    """How long a run waits for servers, in seconds."""

    request: float = 60.0  # One request, from connecting to the last byte; longer only while a large body arrives
    host: float = 120.0  # The requests to one host that fail, together


class Timing(NamedTuple):
    """The clock (epoch seconds), the sleep (seconds), the dice (in [0, 1)) and the patience of a run."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    patience: Patience = Patience()


class LostTime:
    """The seconds that a run lost in failed requests, by the name that they are charged to.

    Threads may share it: appending to a list is atomic.
    """

    def __init__(self) -> None:
        self._charges: dict[str, list[float]] = {}

    def charge(self, name: str, seconds: float) -> None:
        self._charges.setdefault(name, []).append(seconds)

    def total(self, name: str) -> float:
        return sum(self._charges.get(name, ()))
