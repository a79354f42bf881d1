"""Find what a group waits for that keeps its release until the groups after it run that release, too."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.ring_members import version_of
from flux_upgrade.planning.ring_refusals import Refusals
from flux_upgrade.policy.ring_facts import RingReport, RingState
from flux_upgrade.policy.rings import Obstacle


def behind(
    name: str,
    groups: Mapping[str, UpdateGroup],
    after: Mapping[str, Sequence[RingReport]],
    refusals: Refusals,
    stable: Container[str],
) -> list[Obstacle]:
    """Return a reason for each group after the group ``name`` that does not have its release yet.

    There is none if the release does not go further: Flux reports a failure, not all clusters have it, it is never
    proposed, or another group before has left it. ``after``: the groups after it, with the reports of all groups
    before these. ``stable``: the releases that may be proposed.
    """
    obstacles = []
    for later, reports in after.items():
        report = next(each for each in reports if each.name == name)
        if report.state is RingState.MIXED or (report.state is RingState.FAILING and report.has_lasted):
            return []
        if not report.version:
            obstacles.append(Obstacle(report.detail, report.is_stuck))
            continue
        versions = [version_of(cluster) for cluster in groups[later].clusters if not cluster.is_tools]
        known = sorted(set(filter(None, versions)), key=Version)
        is_there = bool(known) and all(versions) and Version(known[0]) >= report.version
        is_left = any(each.version > report.version for each in reports if each.version)
        if not versions or is_there or is_left or report.version not in stable:
            continue
        refusal = refusals.refusal(later, report.version)
        text = f"{later} runs {', '.join(known) or 'no known version'}"
        is_stuck = bool(refusal) or report.is_stuck or not all(versions)
        obstacles.append(Obstacle(f"{text}, and {refusal}" if refusal else text, is_stuck))
    return obstacles
