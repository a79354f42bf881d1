"""Clusters whose pins disagree: said first, wherever anything is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup, drift_of
from flux_upgrade.clusters.void_groups import GroupPaths, Void, void_patterns
from flux_upgrade.config.config import Config
from flux_upgrade.model.text import first_few, printable, printable_lines

_FEW = 3


def drift_text(update_groups: Iterable[UpdateGroup]) -> str:
    """A few lines for each cluster whose pins disagree, and a blank one below; empty where all agree."""
    lines = [line for group in update_groups for line in drift_lines(group.clusters)]
    return printable_lines([*lines, ""]) if lines else ""


def drift_lines(clusters: Iterable[Cluster]) -> Iterator[str]:
    """Which cluster, and below it a line for each release: ``  v2.4.0 in a.yaml, b.yaml:6``."""
    for cluster in clusters:
        places = drift_of(cluster)
        if places:
            yield f"drift: {cluster.name}: its pins disagree"
            yield from (f"  {version} in {_few(pins)}" for version, pins in places.items())


def drift_sentences(clusters: Iterable[Cluster]) -> Iterator[tuple[str, str]]:
    """The cluster, and what disagrees in one line."""
    for cluster in clusters:
        places = drift_of(cluster)
        if places:
            yield cluster.name, "; ".join(f"{version} in {_few(pins)}" for version, pins in places.items())


def drift_value(clusters: Iterable[Cluster]) -> list[dict[str, Any]]:
    """The same, as JSON."""
    return [
        {
            "cluster": cluster.name,
            "versions": {version: [pin.place for pin in pins] for version, pins in places.items()},
        }
        for cluster in clusters
        if (places := drift_of(cluster))
    ]


def _few(members: Sequence[Member]) -> str:
    return first_few([member.place for member in members], _FEW)


def matches(
    config: Config,
    update_groups: Sequence[UpdateGroup],
    reported: Iterable[Member],
    places: GroupPaths,
    void: Iterable[Void],
) -> Mapping[str, Sequence[str]]:
    """Group → lines about it; the empty name stands for what is in no group.

    ``reported``: what is recognized and never changed.
    """
    unchanged: dict[str, list[Member]] = {}
    for member in reported:
        group = config.group_of(member.path)
        unchanged.setdefault(group.name if group is not None else "", []).append(member)
    nothing = {each.name: f"  matches nothing ({each.why})" for each in void}
    found = {}
    for group in (*config.groups, config.default):
        clusters = [each for each in update_groups if each.group.name == group.name]
        lines = [*_clusters(clusters), *_unchanged(unchanged.get(group.name, ()))]
        if group.name in nothing:
            lines = [nothing[group.name]]
        elif lines:
            notes = (
                f"  note: {pattern} matches nothing ({why})"
                for pattern, why in void_patterns(group, config, places)
            )
            lines = ["  matches:", *lines, *notes]
        found[group.name] = [printable(line) for line in lines]
    return found


def _clusters(update_groups: Iterable[UpdateGroup]) -> Iterator[str]:
    for group in update_groups:
        for cluster in group.clusters:
            yield f"    {cluster.name}"
            yield from (f"      {member.place}" for member in cluster.members)


def _unchanged(members: Iterable[Member]) -> Iterator[str]:
    yield from (f"    {member.place} (never changed)" for member in members)
