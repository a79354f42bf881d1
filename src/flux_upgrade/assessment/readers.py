"""Who reads which file: the cluster that an upgrade is for, and the others of its repository.

Where the root of a cluster is known, the graph says what it reads. Where it is not, it may read everything but the
own folders of other clusters.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flux_upgrade.assessment.running import UnverifiedInstallation, home_of, running
from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.model.text import is_below
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES

Files = frozenset[str]
_NO_ROOT = Unknown("no file of the repository tells where Flux begins to read for the cluster")


class Reader(NamedTuple):
    """A cluster, what it runs, and the files that it reads."""

    name: str
    lead: Member
    files: Files
    beyond: Unknown | None  # The reason to count other files as read, too; None: it reads no others
    releases: tuple[str, ...]  # Tags that its lead comes to
    unverified: tuple[UnverifiedInstallation, ...]

    def reads(self, path: str, *, is_elsewhere: bool) -> bool:
        """Whether it reads a file. ``is_elsewhere``: the answer if that is unknown."""
        return path in self.files or (self.beyond is not None and is_elsewhere)


@dataclass(frozen=True, eq=False)
class OtherClusters:
    """What is in the repository of one cluster besides it."""

    home: str  # The folder that is its own; empty for the repository's root, which everybody shares
    files: Files  # What it reads itself
    beyond: Unknown | None  # As `Reader.beyond`
    others: tuple[Reader, ...]
    every: Installations

    @property
    def releases(self) -> tuple[str, ...]:
        """Tags that other clusters are at, oldest first."""
        return _releases(self.others)

    def is_theirs(self, path: str) -> bool:
        """Whether the cluster does not read a file, as far as that is known."""
        if path in self.files or self.beyond is None:
            return path not in self.files
        # Of one whose folder contains this one's, Flux may apply both to the outer cluster.
        return not is_below(self.home, self.every.owner(path))

    def may_apply(self, path: str) -> bool:
        """Whether the cluster may get what is in a file: Terraform may apply its files to any cluster."""
        is_terraform = self.beyond is None and path.endswith(TERRAFORM_FILES)
        return is_terraform or not self.is_theirs(path)

    def is_unread(self, path: str) -> bool:
        """Whether no cluster gets what is in a file; False where that is not known of each of them."""
        read = self.every.read
        return not isinstance(read, Unknown) and path not in read and not path.endswith(TERRAFORM_FILES)

    def releases_reading(self, path: str, before: Callable[[Member], str] | None = None) -> tuple[str, ...]:
        """Return the tags that the other clusters are at that read a file, oldest first.

        ``before``: from a cluster's lead to the tag that it runs as well, or an empty one; None: only files count.
        """
        is_inside = bool(self.home) and is_below(path, self.home) and is_below(self.home, self.every.owner(path))
        readers = [reader for reader in self.others if reader.reads(path, is_elsewhere=not is_inside)]
        return _releases(readers, () if before is None else [before(reader.lead) for reader in readers])

    def unverified_reading(self, path: str) -> tuple[UnverifiedInstallation, ...]:
        """Return the unverified installations, the cluster's own included, that read a file."""
        known = (each for files, each in self.every.unverified if path in files)
        return tuple(dict.fromkeys((*known, *self.every.everywhere.readers(path))))


class Installations:
    """What installs Flux in a repository; looked at once, whatever the number of clusters.

    ``clusters``: all of them. ``elsewhere``: what installs those that the run is not about. ``reads``: name of a
    cluster → what it reads, where its root is known. ``unknown``: what is read by clusters of which the sync alone is
    in the repository, with the file that has it. ``beyond``: name of a cluster, or that file → why other files may be
    read, too.
    """

    def __init__(
        self,
        clusters: Sequence[Cluster],
        elsewhere: Sequence[Cluster] = (),
        reads: Mapping[str, Files] | None = None,
        unknown: Sequence[tuple[Files, str]] = (),
        beyond: Mapping[str, Unknown] | None = None,
    ) -> None:
        planned = [each for each in clusters if not each.is_tools]
        everyone = [*planned, *(each for each in elsewhere if not each.is_tools)]
        leads = [each.members[0] for each in everyone]
        self._folders = frozenset(home_of(each.path) for each in leads if each.pin.is_manifest) - {""}
        self._owners: dict[str, str] = {}
        self._reads, self._beyond, self._planned = reads or {}, beyond or {}, len(planned)
        self._readers = tuple(map(self._reader, everyone))
        syncs = [(files, UnverifiedInstallation(path, "", None, is_sync=True)) for files, path in unknown]
        self.unverified = (*((each.files, one) for each in self._readers for one in each.unverified), *syncs)
        """Of each cluster, with what it reads for certain."""
        read = Files().union(*(each.files for each in self._readers), *(files for files, _ in unknown))
        anywhere = [each.beyond for each in self._readers if each.beyond is not None]
        open_syncs = [each for _, each in syncs if each.path in self._beyond]
        anywhere += [self._beyond[each.path] for each in open_syncs]
        self.read: Files | Unknown = anywhere[0] if anywhere else read
        """What any cluster reads."""
        runs = running(member for each in everyone for member in each.members)
        bounded = {each for reader in self._readers if reader.beyond is None for each in reader.unverified}
        others = (each for each in runs.unverified if each not in bounded)
        self.everywhere = runs._replace(unverified=(*others, *open_syncs))
        """Installations of clusters that may read other files than those that are known."""
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
            reader = self._reader(cluster)
            self._besides[key] = OtherClusters(home, reader.files, reader.beyond, tuple(others), self)
        return self._besides[key]

    def _reader(self, cluster: Cluster) -> Reader:
        beyond = self._beyond.get(cluster.name, None if cluster.name in self._reads else _NO_ROOT)
        files, unverified = self._reads.get(cluster.name, Files()), running(cluster.members).unverified
        lead = cluster.members[0]
        return Reader(cluster.name, lead, files, beyond, running([lead]).releases, unverified)


def _releases(readers: Iterable[Reader], more: Iterable[str] = ()) -> tuple[str, ...]:
    releases = {release for reader in readers for release in reader.releases}
    return tuple(sorted(releases.union(filter(None, more)), key=Version))
