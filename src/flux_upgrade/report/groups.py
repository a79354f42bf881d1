"""What the groups of the config file match: for ``config check``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from flux_upgrade.clusters import Member
from flux_upgrade.config import Config
from flux_upgrade.groups import Team
from flux_upgrade.report.drift import place_of
from flux_upgrade.report.wording import printable
from flux_upgrade.void_groups import Places, Void, void_patterns


def matches(
    config: Config, teams: Sequence[Team], named: Iterable[Member], places: Places, void: Iterable[Void]
) -> Mapping[str, Sequence[str]]:
    """Group → lines about it; the empty name stands for what is in no group.

    ``named``: what is recognized and never changed.
    """
    unchanged: dict[str, list[Member]] = {}
    for member in named:
        group = config.group_of(member.path)
        unchanged.setdefault(group.name if group is not None else "", []).append(member)
    nothing = {each.name: f"  matches nothing ({each.why})" for each in void}
    found = {}
    for group in (*config.groups, config.default):
        clusters = [each for each in teams if each.group.name == group.name]
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


def _clusters(teams: Iterable[Team]) -> Iterator[str]:
    for team in teams:
        for cluster in team.clusters:
            yield f"    {cluster.name}"
            yield from (f"      {place_of(member)}" for member in cluster.members)


def _unchanged(members: Iterable[Member]) -> Iterator[str]:
    yield from (f"    {place_of(member)} (never changed)" for member in members)
