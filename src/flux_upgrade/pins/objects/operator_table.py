"""Which release of the flux-operator is the lowest that includes a release of Flux.

Source: the directories ``config/data/flux/vX.Y.Z`` of github.com/controlplaneio-fluxcd/flux-operator at each
tag, which are in the operator's image and in its manifests. ``make operator-releases`` adds rows, and
docs/reference/flux-operator.md prints them. What is newer than ``NEWEST`` is looked up in the registry.
"""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.model.versions import Version

OLDEST = "v0.10.0"  # The first flux-operator release that was looked at: its rows may be in an older one, too
NEWEST = "v0.59.0"  # The last one
LOWEST: Mapping[str, str] = {
    "v2.2.3": "v0.10.0",
    "v2.3.0": "v0.10.0",
    "v2.4.0": "v0.10.0",
    "v2.5.0": "v0.15.0",
    "v2.5.1": "v0.16.0",
    "v2.6.0": "v0.21.0",
    "v2.6.1": "v0.22.0",
    "v2.6.2": "v0.23.0",
    "v2.6.3": "v0.24.0",
    "v2.6.4": "v0.24.0",
    "v2.7.0": "v0.30.0",
    "v2.7.1": "v0.31.0",
    "v2.7.2": "v0.32.0",
    "v2.7.3": "v0.33.0",
    "v2.7.4": "v0.34.0",
    "v2.7.5": "v0.35.0",
    "v2.8.0": "v0.42.0",
    "v2.8.1": "v0.43.0",
    "v2.8.2": "v0.44.0",
    "v2.8.3": "v0.45.0",
    "v2.8.5": "v0.46.0",
    "v2.8.6": "v0.48.0",
    "v2.8.7": "v0.49.0",
    "v2.8.8": "v0.50.0",
    "v2.9.0": "v0.53.0",
    "v2.9.1": "v0.54.0",
    "v2.9.2": "v0.55.0",
    "v2.9.3": "v0.57.0",
    "v2.9.4": "v0.58.0",
    "v2.9.5": "v0.59.0",
}
"""Flux → flux-operator, lowest first. v2.8.4 has no row: the releases after it do not include it."""
UNCONFIRMED = frozenset({"v2.2.3", "v2.3.0", "v2.4.0", "v2.5.0", "v2.6.3", "v2.7.0", "v2.8.3"})
"""Rows whose flux-operator release was not looked into: it follows from release dates, or from ``OLDEST``.

`tests/update_operator_releases.py --check` confirms them, or shows what differs.
"""


def source(flux: str) -> str:
    return f"https://github.com/controlplaneio-fluxcd/flux-operator/tree/{LOWEST[flux]}/config/data/flux/{flux}"


def included(operator: str) -> tuple[Version, ...]:
    """The releases of Flux in a flux-operator release, a tag, lowest first; empty where the table does not say."""
    release = Version.parse(operator)
    if release is None or release.is_prerelease or not Version(OLDEST) <= release <= Version(NEWEST):
        return ()
    return tuple(Version(flux) for flux, lowest in LOWEST.items() if Version(lowest) <= release)


def needed(flux: str) -> str:
    """The flux-operator releases that include a release of Flux, in words; empty where the table does not say."""
    if flux in LOWEST:
        return f"{LOWEST[flux]} or later"
    return f"a release later than {NEWEST}" if Version(flux) > max(map(Version, LOWEST)) else ""
