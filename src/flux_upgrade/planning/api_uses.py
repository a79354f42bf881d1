"""How the repository uses Flux's APIs: which files, what an upgrade moves in them, and what it orphans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.config.config import Config, match
from flux_upgrade.model.errors import ReleaseNotFound
from flux_upgrade.model.files import FileHistory, Tree
from flux_upgrade.model.ports import Builder
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.pin import Pin
from flux_upgrade.planning.plan import Terms, Upgrade

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile
    from flux_upgrade.impact.diff.changes import Changes
    from flux_upgrade.impact.migrate.linked import Reach
    from flux_upgrade.impact.migrate.result import Migrated
    from flux_upgrade.impact.readership import OtherClusters
    from flux_upgrade.impact.served_apis import ServedApis
    from flux_upgrade.manifests.crds import ReleaseApis


class Sources(NamedTuple):
    pin_context: PinContext  # Of the whole repository
    config: Config
    history: FileHistory
    builder: Builder | None = None  # What builds kustomizations on this machine; None: nothing does
    planned: frozenset[str] = frozenset()  # Paths of the pins that something is planned for
    members: Sequence[Member] | None = ()  # All pins of the repository; None: they are looked for once they are needed
    urls: tuple[str, ...] = ()  # Addresses of the repository

    @property
    def tree(self) -> Tree:
        return self.pin_context.tree


class Transition(NamedTuple):
    path: str  # Of the installation, relative to the repository's root
    found: Pin
    upgrade: Upgrade
    terms: Terms
    other_clusters: OtherClusters

    @property
    def crosses_minor(self) -> bool:
        """Whether versions of APIs may go."""
        return self.found.version.numbers[:2] != self.upgrade.target.numbers[:2]


class SearchedFiles:
    """Files that speak of Flux's APIs, in their order, so that those of a cluster are found without all others.

    ``others``: of any cluster; the folders of clusters count.
    """

    def __init__(self, files: Sequence[FluxFile], others: OtherClusters) -> None:
        self._files = {file.path: (index, file) for index, file in enumerate(files)}
        self._by_owner: dict[str, list[str]] = {}
        for path in self._files:
            self._by_owner.setdefault(others.owner(path), []).append(path)

    def of(self, others: OtherClusters) -> list[FluxFile]:
        """What a cluster reads; if that is unknown, all but what is another cluster's alone."""
        if others.files is not None:
            paths: Iterable[str] = self._files.keys() & others.files
        else:
            paths = (path for folder in others.around for path in self._by_owner.get(folder, ()))
        return [file for _, file in sorted((self._files[path] for path in paths), key=lambda pair: pair[0])]


class ApiUses:
    """Reads each file, and the APIs of each release, once for all transitions."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._files: dict[tuple[tuple[str, ...], frozenset[str], frozenset[str]], SearchedFiles] = {}
        self._reach: Reach | None = None
        self._migrated: dict[tuple[str, str, OtherClusters, tuple[str, ...]], tuple[Migrated, ...]] = {}

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
        known = [self.apis.at(transition.upgrade.target), *self.known(transition.found.version)]
        groups: frozenset[str] = frozenset().union(*(each.groups for each in known))
        others, scan = transition.other_clusters, transition.terms.governance.scan
        key = scan, groups, others.folders
        if key not in self._files:
            from flux_upgrade.impact.api_uses.scan import SUFFIXES, files

            tree = self._sources.tree
            paths = [path for path in tree.named(SUFFIXES) if self.is_searched(path, scan)]
            self._files[key] = SearchedFiles(tuple(files(tree, groups, paths)), others)
        return self._files[key].of(others)

    def is_searched(self, path: str, patterns: tuple[str, ...]) -> bool:
        """``patterns``: of the setting `scan`; empty: all files."""
        return not self._sources.config.is_ignored(path) and (not patterns or match(patterns, path))

    def migrated(self, transition: Transition, files: Sequence[FluxFile]) -> tuple[Migrated, ...]:
        """What is moved, and what is left. The same for all that go from one release to another."""
        key = (
            transition.found.version,
            transition.upgrade.target,
            transition.other_clusters,
            transition.terms.governance.scan,
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
        of_readers: dict[tuple[str, ...], Apis] = {}
        found = []
        for file in files:
            releases = transition.other_clusters.releases_reading(file.path)
            if releases not in of_readers:
                of_readers[releases] = replace(shared, others=self.known(*releases))
            unverified = transition.other_clusters.unverified_reading(file.path)
            found.append(migrate(file, suited(of_readers[releases], unverified)))
        self._reach = self._reach or Reach(self._sources.tree)
        return settle_linked([each for each in found if each is not None], self._reach)

    def orphaned(self, transition: Transition, changes: Changes | None, files: Iterable[FluxFile]) -> Iterable[ApiUse]:
        """Resources whose CRD goes away with a controller."""
        from flux_upgrade.impact.api_uses.flux_file import UsePlace

        gone = set(changes.crds_removed) if changes is not None else set()
        if not gone:
            return
        crds = (crd for served in self.known(transition.found.version) for crd in served.crds.values())
        kinds = {(crd.group, crd.kind) for crd in crds if crd.name in gone}
        for file in files:
            for use in file.uses:
                if (use.group, use.kind) in kinds and use.place in (UsePlace.RESOURCE, UsePlace.EMBEDDED):
                    yield use
