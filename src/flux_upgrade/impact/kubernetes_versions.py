"""Which versions of Kubernetes each minor of Flux is for.

Sources: fluxcd/flux2 ``cmd/flux/check.go``, the constraint of ``flux check --pre`` at each minor's last
tag; fluxcd.io, "Installation", Prerequisites, the versions that each minor is tested with. The two
disagree: what the code refuses is an error, what was not tested is a warning.
"""

from __future__ import annotations

import re

from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

Minor = tuple[int, int]
_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")


class Support(NamedTuple):
    least: Minor  # what its code refuses to go below
    tested: tuple[Minor, Minor] | None = None  # The first and the last that it was tested with; None: not known


SUPPORT: dict[Minor, Support] = {
    (2, 0): Support((1, 24)),
    (2, 1): Support((1, 25), ((1, 25), (1, 28))),
    (2, 2): Support((1, 26)),
    (2, 3): Support((1, 28), ((1, 28), (1, 30))),
    (2, 4): Support((1, 28), ((1, 29), (1, 31))),
    (2, 5): Support((1, 30), ((1, 30), (1, 32))),
    (2, 6): Support((1, 31), ((1, 31), (1, 33))),
    (2, 7): Support((1, 32), ((1, 32), (1, 34))),
    (2, 8): Support((1, 33), ((1, 33), (1, 35))),
    (2, 9): Support((1, 33), ((1, 34), (1, 36))),
}


def minor_of(version: str) -> Minor | None:
    """``v1.34.1-gke.100`` → (1, 34); None where it is no version."""
    match = _NUMBERS.match(version)
    return (int(match[1]), int(match[2])) if match else None


def support(tag: str) -> Support:
    """What a release of Flux says; one newer than the table needs what the last one in it needs, or more."""
    version = Version.parse(tag)
    minor = version.numbers[:2] if version is not None else max(SUPPORT)
    return SUPPORT.get(minor) or Support(SUPPORT[max(SUPPORT)].least)


class Fit(NamedTuple):
    """What a release of Flux says of the version that a cluster runs."""

    version: str  # as it was declared: `1.32`
    support: Support

    @property
    def is_too_old(self) -> bool:
        minor = minor_of(self.version)
        return minor is not None and minor < self.support.least

    @property
    def is_untested(self) -> bool:
        """Whether Flux's documentation does not list it, although the code takes it."""
        minor, tested = minor_of(self.version), self.support.tested
        return not self.is_too_old and minor is not None and tested is not None and not tested[0] <= minor <= tested[1]


UNDECLARED = Unknown("the config file does not have the version of Kubernetes")


def fit(declared: str, tag: str) -> Fit | Unknown:
    """``declared``: as in the config; empty: it is not declared."""
    return Fit(declared, support(tag)) if declared else UNDECLARED
