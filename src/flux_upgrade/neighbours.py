"""What else is in the repository of a cluster: manifests that are shared have to suit all of them."""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.clusters import Cluster, Member, is_below
from flux_upgrade.kinds import Installation
from flux_upgrade.running import Running, Unverified, home_of, running
from flux_upgrade.values import NamedTuple


class Neighbours(NamedTuple):
    """Of one cluster."""

    home: str = ""
    """The folder that is its own; empty for the repository's root, which everybody shares."""
    folders: tuple[str, ...] = ()
    """Those of other clusters, as far as they are not around its own."""
    releases: tuple[str, ...] = ()
    """The releases that others are at, tags."""
    everywhere: Running = Running()
    """What runs in the repository, this cluster included."""

    def is_theirs(self, path: str) -> bool:
        """Whether a file is of another cluster alone."""
        return any(is_below(path, folder) for folder in self.folders)

    def is_own(self, path: str) -> bool:
        """Whether a file is of this cluster alone."""
        return bool(self.home) and is_below(path, self.home) and not self.is_theirs(path)

    def readers(self, path: str) -> tuple[Unverified, ...]:
        """Installations without a release that speaks for them, as far as they may read a file."""
        return self.everywhere.readers(path)


def neighbours_of(
    cluster: Cluster, clusters: Iterable[Cluster], elsewhere: Iterable[Member] = ()
) -> Neighbours:
    """``clusters``: all of them. ``elsewhere``: what installs those that nobody asked about."""
    clusters, elsewhere = list(clusters), list(elsewhere)
    others = [each.members[0] for each in clusters if each is not cluster and not each.is_tools]
    others += elsewhere
    # A pin may stand in a folder that several clusters share; a manifest stands in its cluster's own.
    home = home_of(cluster.path) if isinstance(cluster.members[0].installation, Installation) else ""
    manifests = (each for each in others if isinstance(each.installation, Installation))
    folders = {home_of(each.path) for each in manifests} - {home}
    return Neighbours(
        home,
        tuple(sorted(each for each in folders if each and not is_below(home, each))),
        running(others).releases,
        running([*(member for each in clusters for member in each.members), *elsewhere]),
    )
