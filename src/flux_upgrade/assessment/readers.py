"""Who reads which file: the cluster that an upgrade is for, and the others of its repository.

Where the root of a cluster is known, the graph says what it reads. Where it is not, it may read everything but the
own folders of other clusters.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flux_upgrade.assessment.running import UnverifiedInstallation, home_of, running
from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.model.text import is_below
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES

Files = frozenset[str]
_NO_ROOT = Unknown("no file of the repository tells where Flux begins to read for the cluster")


class Reader(NamedTuple):
    """A cluster, what it runs, and the files that it reads."""

    name: str
    files: Files | Unknown
    releases: tuple[str, ...]  # Tags that its first pin comes to
    unverified: tuple[UnverifiedInstallation, ...]

    def reads(self, path: str, *, is_elsewhere: bool) -> bool:
        """Whether it reads a file. ``is_elsewhere``: the answer if it is unknown what it reads."""
        return is_elsewhere if isinstance(self.files, Unknown) else path in self.files


@dataclass(frozen=True, eq=False)
class OtherClusters:
    """What is in the repository of one cluster besides it."""

    home: str  # The folder that is its own; empty for the repository's root, which everybody shares
    files: Files | Unknown  # What it reads itself
    others: tuple[Reader, ...]
    every: Installations

    @property
    def releases(self) -> tuple[str, ...]:
        """Tags that other clusters are at, oldest first."""
        return _releases(self.others)

    def is_theirs(self, path: str) -> bool:
        """Whether the cluster does not read a file, as far as that is known."""
        if not isinstance(self.files, Unknown):
            return path not in self.files
        # Of one whose folder contains this one's, Flux may apply both to the outer cluster.
        return not is_below(self.home, self.every.owner(path))

    def may_apply(self, path: str) -> bool:
        """Whether the cluster may get what is in a file: Terraform may apply its files to any cluster."""
        is_terraform = not isinstance(self.files, Unknown) and path.endswith(TERRAFORM_FILES)
        return is_terraform or not self.is_theirs(path)

    def is_unread(self, path: str) -> bool:
        """Whether no cluster gets what is in a file; False where that is not known of each of them."""
        read = self.every.read
        return not isinstance(read, Unknown) and path not in read and not path.endswith(TERRAFORM_FILES)

    def releases_reading(self, path: str) -> tuple[str, ...]:
        """Return the tags that the other clusters are at that read a file, oldest first."""
        is_inside = bool(self.home) and is_below(path, self.home) and is_below(self.home, self.every.owner(path))
        return _releases(each for each in self.others if each.reads(path, is_elsewhere=not is_inside))

    def unverified_reading(self, path: str) -> tuple[UnverifiedInstallation, ...]:
        """Return the unverified installations, the cluster's own included, that read a file."""
        known = (each for files, each in self.every.unverified if path in files)
        return (*known, *self.every.everywhere.readers(path))


class Installations:
    """What installs Flux in a repository; looked at once, whatever the number of clusters.

    ``clusters``: all of them. ``elsewhere``: what installs those that the run is not about. ``reads``: name of a
    cluster → what it reads, where that is known. ``unknown``: what is read by clusters of which the sync alone is in
    the repository, with the file that has it.
    """

    def __init__(
        self,
        clusters: Sequence[Cluster],
        elsewhere: Sequence[Cluster] = (),
        reads: Mapping[str, Files] | None = None,
        unknown: Sequence[tuple[Files, str]] = (),
    ) -> None:
        planned = [each for each in clusters if not each.is_tools]
        everyone = [*planned, *(each for each in elsewhere if not each.is_tools)]
        leads = [each.members[0] for each in everyone]
        self._folders = frozenset(home_of(each.path) for each in leads if each.pin.is_manifest) - {""}
        self._owners: dict[str, str] = {}
        self._reads, self._planned = reads or {}, len(planned)
        self._readers = tuple(map(self._reader, everyone))
        placed = [(files, some) for _, files, _, some in self._readers if not isinstance(files, Unknown)]
        known = [(files, each) for files, some in placed for each in some]
        syncs = [(files, UnverifiedInstallation(path, "", None, is_sync=True)) for files, path in unknown]
        self.unverified = (*known, *syncs)
        """Of clusters of which it is known what they read."""
        read = Files().union(*(files for files, _ in (*placed, *unknown)))
        self.read: Files | Unknown = read if len(placed) == len(self._readers) else _NO_ROOT
        """What any cluster reads."""
        runs = running(member for each in everyone for member in each.members)
        others = set(runs.unverified) - {each for _, each in known}
        self.everywhere = runs._replace(unverified=tuple(each for each in runs.unverified if each in others))
        """What runs in clusters of which it is unknown what they read."""
        self._besides: dict[tuple[str, str], OtherClusters] = {}

    def owner(self, path: str) -> str:
        """Return the nearest folder of a cluster that a file is in; empty where it is in none."""
        if path and path not in self._owners:
            self._owners[path] = path if path in self._folders else self.owner(posixpath.dirname(path))
        return self._owners[path] if path else ""

    def besides(self, cluster: Cluster) -> OtherClusters:
        lead = cluster.members[0]
        # A cluster whose pins are in several groups is there once for each.
        key = cluster.name, lead.path
        if key not in self._besides:
            # A pin may be in a folder that several clusters share; a manifest is in its cluster's own.
            home = home_of(cluster.path) if lead.pin.is_manifest else ""
            others = [*self._readers[self._planned :]]
            others[:0] = [each for each in self._readers[: self._planned] if each.name != cluster.name]
            self._besides[key] = OtherClusters(home, self._reader(cluster).files, tuple(others), self)
        return self._besides[key]

    def _reader(self, cluster: Cluster) -> Reader:
        files, unverified = self._reads.get(cluster.name, _NO_ROOT), running(cluster.members).unverified
        return Reader(cluster.name, files, running(cluster.members[:1]).releases, unverified)


def _releases(readers: Iterable[Reader]) -> tuple[str, ...]:
    return tuple(sorted({release for each in readers for release in each.releases}, key=Version))
