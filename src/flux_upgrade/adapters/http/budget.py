"""What requests that fail may cost a run before their host is given up."""

from __future__ import annotations

from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.timing import LostTime
from flux_upgrade.model.values import NamedTuple


class Budget(NamedTuple):
    """``seconds`` for each host that is asked, or, with a ``name``, for all of them together.

    A failed request costs the time that it took, and the wait before it is tried again. A successful one
    costs nothing. ``lost`` may be shared with other clients.
    """

    lost: LostTime
    seconds: float
    name: str = ""

    def charge(self, host: str, seconds: float) -> None:
        self.lost.charge(self.name or host, seconds)

    def allows(self, host: str, wait: float) -> bool:
        """Whether a failed request may be tried again after ``wait`` seconds."""
        return self.lost.total(self.name or host) + wait < self.seconds

    def given_up(self, host: str) -> SourceUnavailable | None:
        """The error for a host that is not asked again in this run, or None."""
        name = self.name or host
        lost = self.lost.total(name)
        if lost < self.seconds:
            return None
        return SourceUnavailable(
            f"{name} was given up after {lost:.0f} s of failed requests",
            hint="check the network, the proxy and the host name, then run flux-upgrade again",
        )
