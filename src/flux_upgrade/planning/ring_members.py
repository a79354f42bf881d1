"""The clusters of groups that come before or after others, and their releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.pin import PinState, Role

_SETTLED = (PinState.EXACT, PinState.UNKNOWN)  # What is a range or floats says nothing of the release that runs


def watched(update_groups: Sequence[UpdateGroup]) -> tuple[str, ...]:
    """The files of the groups whose health and age matter now: another group is behind them, and comes after."""
    by_name = {each.group.name: each for each in update_groups if each.group.name}
    paths: dict[str, None] = {}
    for group in update_groups:
        for before in filter(None, map(by_name.get, group.group.ring.after)):
            ahead, behind = [*versions_of(before)], [*versions_of(group)]
            if ahead and (not behind or max(ahead) > min(behind)):
                paths |= dict.fromkeys(member.path for cluster in before.clusters for member in installing(cluster))
    return tuple(sorted(paths))


def installing(cluster: Cluster) -> list[Member]:
    return [each for each in cluster.members if each.pin.role is Role.INSTALLS and each.pin.state in _SETTLED]


def version_of(cluster: Cluster) -> str:
    """The release of a cluster; empty where it has none, or more than one."""
    versions = {member.pin.version for member in installing(cluster)}
    version = versions.pop() if len(versions) == 1 else ""
    return version if is_tag(version) else ""


def versions_of(group: UpdateGroup) -> Iterator[Version]:
    found = (version_of(cluster) for cluster in group.clusters if not cluster.is_tools)
    return (Version(each) for each in found if each)
