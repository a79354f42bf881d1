"""How a run ends: classes of errors. The name of an error, in brackets after its message, tells the rest."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """The members are in order of precedence: if a run meets several errors, the first class is its exit code."""

    DEFECT = 1
    """A bug in flux-upgrade."""
    USAGE = 2
    """A flag, a setting or the config file must be corrected."""
    REFUSED = 5
    """The Git host or the registry refuses the action."""
    SOURCE = 4
    """A server is unreachable, or a release source does not have the right content."""
    API_REMOVED = 7
    """`check`, `migrate` or `upgrade` found API versions that the release no longer serves."""
    NEEDS_YOU = 3
    """A file, the machine or the cluster needs a change that only you can make."""
    NOTHING_FOUND = 6
    """There is no Flux installation, or no report."""
    DONE = 0
    """The run succeeded, or there was nothing to do."""

    @classmethod
    def of_run(cls, codes: Iterable[int]) -> int:
        """Return the code that takes precedence, or 0 without any. The code of a signal precedes all classes."""
        order: list[int] = [*cls]
        return min(codes, key=lambda code: order.index(code) if code in order else -1, default=cls.DONE)
