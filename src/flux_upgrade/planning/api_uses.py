"""How the repository uses Flux's APIs: which files, what an upgrade moves in them, and what it orphans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.config.config import ALL, Config, is_scanned
from flux_upgrade.model.errors import ReleaseNotFound, Unreadable
from flux_upgrade.model.file_history import FileHistory
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Pin
from flux_upgrade.planning.plan import Terms, Upgrade

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.clusters.graph.graph import ClusterGraph
    from flux_upgrade.clusters.graph.walk import ClusterReads
    from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile
    from flux_upgrade.impact.broken_today import BrokenToday
    from flux_upgrade.impact.diff.changes import Changes
    from flux_upgrade.impact.migrate.linked import Reach
    from flux_upgrade.impact.migrate.result import Migrated
    from flux_upgrade.impact.readership import Installations, OtherClusters, SearchedFiles
    from flux_upgrade.impact.served_apis import ServedApis
    from flux_upgrade.manifests.crds import ReleaseApis
    from flux_upgrade.model.ports import Builder
    from flux_upgrade.snapshot.snapshot import Snapshot

_RESOURCE = re.compile(rb"\.toolkit\.fluxcd\.io\\?/v")


class Sources(NamedTuple):
    pin_context: PinContext  # Of the whole repository
    config: Config
    history: FileHistory
    builder: Builder | None = None  # What builds kustomizations on this machine; None: nothing does
    planned: frozenset[str] = frozenset()  # Paths of the pins that something is planned for
    members: Sequence[Member] | None = ()  # All pins of the repository; None: they are looked for once they are needed
    urls: tuple[str, ...] = ()  # Addresses of the repository

    @property
    def tree(self) -> Snapshot:
        return self.pin_context.tree


class Transition(NamedTuple):
    path: str  # Of the installation, relative to the repository's root
    found: Pin
    upgrade: Upgrade
    terms: Terms
    cluster: Cluster
    lacking: frozenset[tuple[str, str]] = frozenset()
    """API group and kind of what the cluster does not have, before or after: what uses them is none of its concern."""

    @property
    def crosses_minor(self) -> bool:
        """Whether versions of APIs may go."""
        return self.found.version.numbers[:2] != self.upgrade.target.numbers[:2]


class ApiUses:
    """Reads each file, and the APIs of each release, once for all transitions."""

    def __init__(self, sources: Sources, clusters: Sequence[Cluster]) -> None:
        """``clusters``: all that are planned for."""
        self._sources, self._clusters = sources, clusters
        self._files: dict[tuple[tuple[str, ...], frozenset[str]], SearchedFiles | None] = {}
        self._reach: Reach | None = None
        self._broken: dict[tuple[str, tuple[str, ...]], list[BrokenToday]] = {}
        self._migrated: dict[tuple[Any, ...], tuple[Migrated, ...]] = {}

    @cached_property
    def apis(self) -> ServedApis:
        from flux_upgrade.impact.served_apis import ServedApis

        return ServedApis(self._sources.pin_context.regenerator)

    def known(self, *tags: str) -> tuple[ReleaseApis, ...]:
        """What releases serve, as far as the source has them: a mirror need not have what a pin says."""
        found = []
        for tag in tags:
            with suppress(ReleaseNotFound):
                found.append(self.apis.at(tag))
        return tuple(found)

    def files(self, transition: Transition) -> list[FluxFile]:
        """Every file that is searched and speaks of Flux's APIs, but for those of another cluster alone."""
        searched, scan = self._searched(transition), transition.terms.governance.include
        found = searched.of(self.others(transition.cluster), is_all=scan == ALL) if searched is not None else []
        return [own for file in found if (own := file.without(transition.lacking)).uses]

    def unread(self, transition: Transition) -> tuple[str, ...]:
        """Files with resources that the target does not serve, and that no cluster reads, as far as that is known."""
        searched, target = self._searched(transition), self.apis.at(transition.upgrade.target)
        if searched is None or transition.terms.governance.include == ALL:
            return ()
        unread = searched.unread(self.others(transition.cluster))
        removed = (use for file in unread for use in file.uses if use.is_applied and not use.why)
        gone = (use.path for use in removed if not target.serves(use.group, use.version, use.kind))
        return tuple(dict.fromkeys(gone))

    def _searched(self, transition: Transition) -> SearchedFiles | None:
        """None: there is nothing that speaks of them."""
        known = [self.apis.at(transition.upgrade.target), *self.known(transition.found.version)]
        groups: frozenset[str] = frozenset().union(*[each.groups for each in known])
        scan = transition.terms.governance.include
        key = scan, groups
        if key not in self._files:
            from flux_upgrade.impact.api_uses.scan import SUFFIXES, files

            tree = self._sources.tree
            paths = [path for path in tree.named(SUFFIXES) if self.is_searched(path, scan)]
            found = tuple(files(tree, groups, paths))
            self._files[key] = None
            # Who reads what is asked only if there is something to read.
            if found:
                from flux_upgrade.impact.readership import SearchedFiles

                self._files[key] = SearchedFiles(found, self.others(transition.cluster))
        return self._files[key]

    def others(self, cluster: Cluster) -> OtherClusters:
        """What is in the repository besides a cluster."""
        return self._installations.besides(cluster)

    def reads(self, cluster: Cluster) -> tuple[ClusterReads, ...]:
        """What the graph says of a cluster."""
        return tuple(each for each in self._graph.clusters if each.name == cluster.name)

    @cached_property
    def _elsewhere(self) -> tuple[Cluster, ...]:
        """Clusters of the repository that nothing is planned for."""
        from flux_upgrade.impact.running import installs

        pins = self._sources.members
        if pins is None:
            pins = [Member(each, each.path) for each in discover(self._sources.pin_context)]
        # Those that are ignored, or outside of what the user named.
        unplanned = [each for each in pins if each.path not in self._sources.planned]
        return clusters_of(filter(installs, unplanned), self._sources.tree)

    @cached_property
    def _graph(self) -> ClusterGraph:
        from flux_upgrade.clusters.roots import graph_of

        return graph_of((*self._clusters, *self._elsewhere), self._sources.tree, self._sources.urls)

    @cached_property
    def _installations(self) -> Installations:
        from flux_upgrade.impact.readership import Installations

        clusters, elsewhere, graph = self._clusters, self._elsewhere, self._graph
        reads = {each.name: each.files for each in graph.clusters if each.is_known}
        named = {each.name for each in (*clusters, *elsewhere)}
        syncs = [each for each in graph.clusters if each.name not in named]
        unknown = [(each.files, root.place) for each in syncs for root in each.roots]
        return Installations(clusters, elsewhere, reads, unknown)

    def broken_today(self, version: Version, scan: tuple[str, ...], cluster: Cluster) -> tuple[BrokenToday, ...]:
        """What a cluster reads, and the release that it is at refuses. ``include``: as ``is_searched`` takes it.

        Raises SourceUnavailable, UntrustedArchive, Unreadable.
        """
        key = version, scan
        if key not in self._broken:
            using = dict(self._using(scan))
            self._broken[key] = list(self._broken_at(version, using)) if using else []
        found = self._broken[key]
        if not found:
            return ()
        others = self.others(cluster)
        return tuple(each for each in found if not others.is_theirs(each.path))

    def _using(self, scan: tuple[str, ...]) -> Iterable[tuple[str, bytes]]:
        """Files that may have resources of Flux, and no mere CRDs. What cannot be read is said where it matters."""
        for path in self._sources.tree.candidates():
            with suppress(Unreadable):
                if self.is_searched(path, scan) and _RESOURCE.search(content := self._sources.tree.read(path)):
                    yield path, content

    def _broken_at(self, version: Version, using: Mapping[str, bytes]) -> Iterable[BrokenToday]:
        from flux_upgrade.impact.api_uses.prefilter import Prefilter

        for served in self.known(version):
            prefilter = Prefilter(served)
            suspects = [path for path, content in using.items() if prefilter.may_be_broken(content)]
            if suspects:
                from flux_upgrade.impact.api_uses.scan import files
                from flux_upgrade.impact.broken_today import broken_today

                yield from broken_today(files(self._sources.tree, served.groups, suspects), served, self.apis.schema)

    def is_searched(self, path: str, patterns: tuple[str, ...]) -> bool:
        """``patterns``: of the setting `include`; empty: all files."""
        return not self._sources.config.is_ignored(path) and is_scanned(patterns, path)

    def migrated(self, transition: Transition, files: Sequence[FluxFile]) -> tuple[Migrated, ...]:
        """What is moved, and what is left. The same for all that go from one release to another."""
        key = (
            transition.found.version,
            transition.upgrade.target,
            self.others(transition.cluster),
            transition.terms.governance.include,
            transition.lacking,
        )
        if key not in self._migrated:
            self._migrated[key] = tuple(self._moving(transition, files))
        return self._migrated[key]

    def _moving(self, transition: Transition, files: Iterable[FluxFile]) -> Iterable[Migrated]:
        from flux_upgrade.impact.migrate.apis import Apis
        from flux_upgrade.impact.migrate.linked import Reach, settle_linked
        from flux_upgrade.impact.migrate.migrate import migrate
        from flux_upgrade.impact.running import suited

        shared = Apis(
            next(iter(self.known(transition.found.version)), None),
            self.apis.at(transition.upgrade.target),
            (),
            self.apis.schema,
            lambda: self.apis.between(transition.found.version, transition.upgrade.target),
        )
        others = self.others(transition.cluster)
        of_readers: dict[tuple[str, ...], Apis] = {}
        found = []
        for file in files:
            releases = others.releases_reading(file.path)
            if releases not in of_readers:
                of_readers[releases] = replace(shared, others=self.known(*releases))
            unverified = others.unverified_reading(file.path)
            found.append(migrate(file, suited(of_readers[releases], unverified)))
        self._reach = self._reach or Reach(self._sources.tree)
        return settle_linked([each for each in found if each is not None], self._reach)

    def orphaned(self, transition: Transition, changes: Changes | None, files: Iterable[FluxFile]) -> Iterable[ApiUse]:
        """Resources whose CRD goes away with a controller."""
        gone = set(changes.crds_removed) if changes is not None else set()
        if not gone:
            return
        crds = (crd for served in self.known(transition.found.version) for crd in served.crds.values())
        kinds = {(crd.group, crd.kind) for crd in crds if crd.name in gone}
        for file in files:
            for use in file.uses:
                if (use.group, use.kind) in kinds and use.is_applied:
                    yield use
