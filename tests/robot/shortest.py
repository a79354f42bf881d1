"""The fewest releases on the way to the newest, found by a search: what the robot is held to.

Nothing of the program is used. A cluster is what its CRDs store; `flux migrate` may run at each release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from robot.releases import Flux, crds
from small_api_server import crds_in

Versions = Mapping[str, tuple[frozenset[str], str]]
"""Name of a CRD → its versions, and the one that is stored."""


@cache
def versions(flux: Flux) -> Versions:
    entries_of = {}
    for crd in crds_in(crds(flux)):
        entries = crd["spec"]["versions"]
        (stored,) = (each["name"] for each in entries if each["storage"])
        entries_of[crd["metadata"]["name"]] = frozenset(each["name"] for each in entries), stored
    return entries_of


def is_taken(stored: Versions, flux: Flux) -> bool:
    """Return whether the API server takes the CRDs of a release from what ``flux migrate`` leaves at another."""
    new = versions(flux)
    return all(storage in new[name][0] for name, (_, storage) in stored.items() if name in new)


def fewest(first: Flux, releases: Sequence[str]) -> int:
    """Return how many upgrades lead to the last of some releases. ``releases``: the newest of each minor, in order."""
    reached, steps = {first.release}, 0
    while releases[-1] not in reached:
        new = {
            release
            for current in reached
            for release in releases
            if releases.index(release) > _place(current, releases)
            and is_taken(versions(first._replace(release=current)), first._replace(release=release))
        }
        assert not new <= reached, f"no way leads from {first.release} to {releases[-1]}"
        reached, steps = new, steps + 1
    return steps


def _place(release: str, releases: Sequence[str]) -> int:
    """Return the place of the release's minor."""
    minors = [each.rpartition(".")[0] for each in releases]
    return minors.index(release.rpartition(".")[0])
