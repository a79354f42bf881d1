"""Whether the pins of a cluster agree on a release."""

from __future__ import annotations

from flux_upgrade.clusters import Cluster, Member, role_of
from flux_upgrade.kinds import Pin
from flux_upgrade.kinds.formats.ranges import allows
from flux_upgrade.kinds.pin import Role, Standing
from flux_upgrade.plan import Found
from flux_upgrade.versions import is_tag, precedence


def drift_of(cluster: Cluster) -> dict[str, list[Member]]:
    """Release → the pins at it, oldest first; empty where the pins of the cluster agree.

    A range agrees with every release that it admits.
    """
    places = _places(cluster)
    exact = {
        version: pins
        for version, pins in places.items()
        if not all(_is_range(member.installation) for member in pins)
    }
    agreed = next(iter(exact)) if len(exact) == 1 else ""
    if agreed and all(agrees(member.installation, agreed) for pins in places.values() for member in pins):
        return {}
    return places if len(places) > 1 else {}


def _places(cluster: Cluster) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = {}
    for member in cluster.members:
        if role_of(member.installation) is Role.INSTALLS and is_tag(member.installation.version):
            found.setdefault(member.installation.version, []).append(member)
    return dict(sorted(found.items(), key=lambda each: precedence(each[0])))


def _is_range(found: Found) -> bool:
    return isinstance(found, Pin) and found.standing is Standing.RANGE


def agrees(found: Found, version: str) -> bool:
    """Whether it comes to a release, or is a range that admits it."""
    is_admitted = isinstance(found, Pin) and _is_range(found) and allows(found.written, version)
    return found.version == version or is_admitted
