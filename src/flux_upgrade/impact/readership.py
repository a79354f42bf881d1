"""Who reads which file: the cluster that an upgrade is for, and the others of its repository.

Where the root of a cluster is known, the graph says what it reads. Where it is not, it may read everything but the
own folders of other clusters.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.impact.api_uses.flux_file import FluxFile
from flux_upgrade.impact.running import NOTHING_RUNS, Running, UnverifiedInstallation, home_of, running
from flux_upgrade.model.text import is_below
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES

Files = frozenset[str]


class Reader(NamedTuple):
    """A cluster, what it runs, and the files that it reads."""

    name: str
    files: Files | None  # None: unknown
    releases: tuple[str, ...]  # Tags that its first pin comes to
    unverified: tuple[UnverifiedInstallation, ...]


class OtherClusters(NamedTuple):
    """What is in the repository of one cluster besides it."""

    home: str = ""  # The folder that is its own; empty for the repository's root, which everybody shares
    folders: frozenset[str] = frozenset()  # Those of clusters, its own perhaps among them
    files: Files | None = None  # What it reads itself; None: unknown
    others: tuple[Reader, ...] = ()
    read_by_any: Files | None = None  # What any cluster reads; None: that is not known of each of them
    unverified: tuple[tuple[Files, UnverifiedInstallation], ...] = ()  # Of whom it is known what they read, all of them
    everywhere: Running = NOTHING_RUNS  # What runs in the repository in clusters of which that is unknown

    @property
    def around(self) -> list[str]:
        """The folder that is its own, and those that it is in; the repository's root is the last."""
        return _with_parents(self.home)

    @property
    def releases(self) -> tuple[str, ...]:
        """What other clusters are at, tags, oldest first."""
        return _sorted({release for each in self.others for release in each.releases})

    def owner(self, path: str) -> str:
        """The nearest folder of a cluster that a file is in; empty where it is in none."""
        return next((each for each in _with_parents(path) if each in self.folders), "")

    def is_theirs(self, path: str) -> bool:
        """Whether the cluster does not read a file, as far as that is known."""
        if self.files is not None:
            return path not in self.files
        # Of one whose folder contains this one's, Flux may apply both to the outer cluster.
        return not is_below(self.home, self.owner(path))

    def releases_reading(self, path: str) -> tuple[str, ...]:
        """What the other clusters are at that read a file, tags, oldest first."""
        is_inside = bool(self.home) and is_below(path, self.home) and is_below(self.home, self.owner(path))
        readers = (each for each in self.others if (not is_inside if each.files is None else path in each.files))
        return _sorted({release for each in readers for release in each.releases})

    def unverified_reading(self, path: str) -> tuple[UnverifiedInstallation, ...]:
        """The unverified installations, the cluster's own included, that read a file."""
        known = (each for files, each in self.unverified if path in files)
        return (*known, *self.everywhere.readers(path))


class SearchedFiles:
    """Files that speak of Flux's APIs, in their order, so that those of a cluster are found without all others.

    ``others``: of any cluster; the folders of clusters count.
    """

    def __init__(self, files: Sequence[FluxFile], others: OtherClusters) -> None:
        self._files = {file.path: (index, file) for index, file in enumerate(files)}
        self._by_owner: dict[str, list[str]] = {}
        for path in self._files:
            self._by_owner.setdefault(others.owner(path), []).append(path)

    def of(self, others: OtherClusters, *, is_all: bool = False) -> list[FluxFile]:
        """What a cluster reads; if that is unknown, all but what is another cluster's alone.

        ``is_all``: with what no cluster reads.
        """
        if others.files is None:
            return self._in_order(path for folder in others.around for path in self._by_owner.get(folder, ()))
        paths = (self._files.keys() & others.files) | self._by_terraform
        return self._in_order(paths) + (self.unread(others) if is_all else [])

    def unread(self, others: OtherClusters) -> list[FluxFile]:
        """What no cluster reads; nothing where that is not known of each of them."""
        if others.read_by_any is None:
            return []
        return self._in_order(self._files.keys() - others.read_by_any - self._by_terraform)

    @cached_property
    def _by_terraform(self) -> frozenset[str]:
        """What Terraform may apply to any cluster."""
        return frozenset(path for path in self._files if path.endswith(TERRAFORM_FILES))

    def _in_order(self, paths: Iterable[str]) -> list[FluxFile]:
        return [file for _, file in sorted((self._files[path] for path in paths), key=lambda pair: pair[0])]


class Installations:
    """What installs Flux in a repository; looked at once, whatever the number of clusters.

    ``clusters``: all of them. ``elsewhere``: what installs those that the run is not about. ``reads``: name of a
    cluster → what it reads; of those that are missing, nobody knows. ``unknown``: what is read by clusters of which
    the sync alone is in the repository, with the file that has it.
    """

    def __init__(
        self,
        clusters: Sequence[Cluster],
        elsewhere: Sequence[Cluster] = (),
        reads: Mapping[str, Files] | None = None,
        unknown: Sequence[tuple[Files, str]] = (),
    ) -> None:
        reads = reads or {}
        planned = [each for each in clusters if not each.is_tools]
        everyone = [*planned, *(each for each in elsewhere if not each.is_tools)]
        leads = [each.members[0] for each in everyone]
        self._folders = frozenset(home_of(each.path) for each in leads if each.pin.is_manifest) - {""}
        self._reads, self._planned = reads, len(planned)
        self._readers = tuple(_reader(each, reads.get(each.name)) for each in everyone)
        self._unverified = tuple(
            (each.files, found) for each in self._readers if each.files is not None for found in each.unverified
        )
        known = {found for _, found in self._unverified}
        self._unverified += tuple(
            (files, UnverifiedInstallation(path, "", None, is_sync=True)) for files, path in unknown
        )
        read = [*(each.files for each in self._readers), *(files for files, _ in unknown)]
        self._read = None if None in read else Files().union(*filter(None, read))
        self._besides: dict[tuple[str, str], OtherClusters] = {}
        runs = running(member for each in everyone for member in each.members)
        self._everywhere = runs._replace(unverified=tuple(each for each in runs.unverified if each not in known))

    def besides(self, cluster: Cluster) -> OtherClusters:
        lead = cluster.members[0]
        # A cluster whose pins are in several groups is there once for each.
        key = cluster.name, lead.path
        if key not in self._besides:
            self._besides[key] = self._look(cluster, lead)
        return self._besides[key]

    def _look(self, cluster: Cluster, lead: Member) -> OtherClusters:
        # A pin may stand in a folder that several clusters share; a manifest stands in its cluster's own.
        home = home_of(cluster.path) if lead.pin.is_manifest else ""
        own = _reader(cluster, self._reads.get(cluster.name))
        others = (each for at, each in enumerate(self._readers) if at >= self._planned or each.name != cluster.name)
        return OtherClusters(
            home, self._folders, own.files, tuple(others), self._read, self._unverified, self._everywhere
        )


def _reader(cluster: Cluster, files: Files | None) -> Reader:
    first: Member = cluster.members[0]
    return Reader(cluster.name, files, running([first]).releases, running(each for each in cluster.members).unverified)


def _sorted(releases: set[str]) -> tuple[str, ...]:
    return tuple(sorted(releases, key=Version))


def _with_parents(path: str) -> list[str]:
    """A path and the folders that it is in, from the inside out; the root, which is empty, is the last."""
    found = [path]
    while path:
        path = posixpath.dirname(path)
        found.append(path)
    return found
