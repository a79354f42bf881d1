"""What upgrades mean for the repository and its clusters, looked up once and only when it is asked for.

Nearly every run finds nothing to do, and imports none of what reads manifests and resources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from flux_upgrade.impact.running import Neighbours
from flux_upgrade.model.errors import ReleaseNotFound, Unreadable
from flux_upgrade.model.ports import Builder, FileHistory, Mentions, Pasts, Tree
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import is_tag, precedence
from flux_upgrade.pins.pin import Change, Found, Installation
from flux_upgrade.planning.plan import Terms, Upgrade

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.api_uses.flux_file import FluxFile, Use
    from flux_upgrade.impact.diff.changes import Changes
    from flux_upgrade.impact.impact import Impact, Managed, Stored
    from flux_upgrade.impact.migrate.result import Migrated
    from flux_upgrade.impact.overlay.result import Overlay
    from flux_upgrade.impact.running import ManifestApis
    from flux_upgrade.impact.served_apis import ServedApis
    from flux_upgrade.manifests.crds import Crd, Served
    from flux_upgrade.manifests.regenerate import Regenerator


class Sources(NamedTuple):
    """Where the answers come from; what costs something is made when it is asked for."""

    tree: Tree
    """The whole repository."""
    regenerator: Regenerator
    history: Callable[[], FileHistory]
    builder: Callable[[], Builder | None]
    is_ignored: Callable[[str], bool] = lambda _: False
    """Path → whether the user said that it is left alone."""


class Transition(NamedTuple):
    """One upgrade of one installation."""

    path: str
    """Of the installation, relative to the repository's root."""
    found: Found
    upgrade: Upgrade
    terms: Terms
    around: Neighbours = Neighbours()

    @property
    def crosses_minor(self) -> bool:
        """Whether versions of APIs may go."""
        return precedence(self.found.version)[:2] != precedence(self.upgrade.target)[:2]


class ImpactAnalyzer:
    """Asked about one jump after the other; what it has read once holds for all."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._files: dict[tuple[tuple[str, ...], frozenset[str]], tuple[FluxFile, ...]] = {}
        self._changes: dict[tuple[bytes, bytes], Changes] = {}
        self._pasts: dict[str, Pasts] = {}
        self._moved: dict[tuple[str, str, Neighbours, tuple[str, ...]], tuple[Migrated, ...]] = {}

    def impact(self, jump: Transition) -> Impact:
        """What the jump means, but for what ran before, see ``looked_back``.

        Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive, Unreadable.
        """
        from flux_upgrade.impact.impact import Impact
        from flux_upgrade.impact.kubernetes_versions import fit

        found = Impact(
            kubernetes=fit(jump.terms.kubernetes, jump.upgrade.target),
            migrated=jump.terms.feedback.migrated,
        )
        if isinstance(jump.found, Installation) and isinstance(jump.upgrade.change, Change):
            old, new = jump.found.content, jump.upgrade.change.new
            found = found._replace(changes=self._compared(old, new), overlay=self._overlay(jump, old, new))
        if not self._may_break(jump, found.changes):
            return found
        from flux_upgrade.impact.behaviour.find import find, gates_in

        files = [each for each in self._flux_files(jump) if not jump.around.is_theirs(each.path)]
        migrated = self._migrated(jump, files)
        stored = self._stored(jump, found.changes, Pasts())
        current, target = jump.found.version, jump.upgrade.target
        return found._replace(
            files=migrated,
            orphaned=tuple(self._orphaned(jump, found.changes, files)),
            breaks=find(files, current, target, gates_in(self._beside(jump.path))),
            stored=stored,
            hops=self._hops(jump, migrated, stored),
        )

    def looked_back(self, jump: Transition, impact: Impact) -> Impact:
        """With what the history of the installation tells, and that of uses.

        The first is not asked if an earlier run has written it down.
        """
        if self._takes_away(impact.changes):
            impact = impact._replace(stored=self._stored_before(jump, impact))
        if not self._may_break(jump, impact.changes):
            return impact
        return impact._replace(managed=self._managed(jump, impact))

    def _stored_before(self, jump: Transition, impact: Impact) -> Stored:
        from flux_upgrade.impact.stored_versions.memory import Question, read

        answers = jump.terms.feedback
        asked = Question(
            jump.path, jump.found.content, jump.found.version, jump.upgrade.target, answers.migrated
        )
        found = read(answers.stored, asked)
        if found is None:
            if jump.path not in self._pasts:
                self._pasts[jump.path] = self._history.of(jump.path)
            found = self._stored(jump, impact.changes, self._pasts[jump.path])
        return found

    def _managed(self, jump: Transition, impact: Impact) -> Managed | None:
        """Why `flux migrate` has to run because of managed fields, as far as nothing else says so."""
        from flux_upgrade.config.values import Migrate
        from flux_upgrade.impact.impact import Evidence
        from flux_upgrade.impact.stored_versions.managed_fields import Asked, managed, versions_dropped

        changed = None if impact.changes is None else {each.name for each in impact.changes.crds}
        target = self._apis.at(jump.upgrade.target)
        known = self._known(jump.found.version)
        dropped = frozenset().union(*(versions_dropped(each, target, changed) for each in known))
        used = {f"{use.group}/{use.version}" for use in impact.in_use}
        current, answers = jump.found.version, jump.terms.feedback
        asked = Asked(
            dropped,
            dropped & used,
            any(precedence(tag) > precedence(current) for tag in answers.moved_for if is_tag(tag)),
            jump.terms.migrate is Migrate.WITH_UPGRADE,
            current,
            jump.upgrade.target,
        )
        found = managed(asked, answers.migrated, lambda versions: self._mentions(jump, versions))
        if found is None or found.is_after or found.evidence is not Evidence.UNKNOWN:
            return found
        return None if impact.stored.unknown else found

    def _mentions(self, jump: Transition, versions: tuple[str, ...]) -> Mentions:
        """What the history tells, of files that are searched today and not another cluster's."""
        found, is_wanted = self._history.mentions(versions), self._wanted(jump.terms.scan)
        paths = (each for each in found.paths if is_wanted(each) and not jump.around.is_theirs(each))
        return found._replace(paths=tuple(paths))

    def _beside(self, path: str) -> Iterable[bytes]:
        """The files of an installation's folder: what patches the controllers' arguments stands there."""
        folder = path.rpartition("/")[0]
        for each in self._sources.tree.candidates():
            if each.rpartition("/")[0] == folder:
                with suppress(Unreadable):  # what cannot be read is said where it matters
                    yield self._sources.tree.read(each)

    def _may_break(self, jump: Transition, changes: Changes | None) -> bool:
        """Whether anything of the tree can be affected: nothing is by a patch that takes nothing away."""
        if jump.crosses_minor:
            return True
        return changes is not None and bool(
            changes.crds_removed or any(each.removed or each.unserved for each in changes.crds)
        )

    def _compared(self, old: bytes, new: bytes) -> Changes:
        from flux_upgrade.impact.diff.compare import changes
        from flux_upgrade.manifests.documents import parse

        if (old, new) not in self._changes:
            self._changes[old, new] = changes(parse(old).documents, parse(new).documents)
        return self._changes[old, new]

    def _overlay(self, jump: Transition, old: bytes, new: bytes) -> Overlay | None:
        from flux_upgrade.impact.overlay.proof import proof

        return proof(self._sources.tree, jump.path, old, new, self._builder)

    @cached_property
    def _apis(self) -> ServedApis:
        from flux_upgrade.impact.served_apis import ServedApis

        return ServedApis(self._sources.regenerator)

    @cached_property
    def _manifests(self) -> ManifestApis:
        from flux_upgrade.impact.running import ManifestApis

        return ManifestApis()

    @cached_property
    def _builder(self) -> Builder | None:
        return self._sources.builder()

    def _flux_files(self, jump: Transition) -> tuple[FluxFile, ...]:
        """Every file of the repository that is searched, and that speaks of Flux's APIs."""
        known = [self._apis.at(jump.upgrade.target), *self._known(jump.found.version)]
        key = jump.terms.scan, frozenset().union(*(each.groups for each in known))
        if key not in self._files:
            from flux_upgrade.impact.api_uses.scan import files

            self._files[key] = tuple(files(self._sources.tree, key[1], self._wanted(key[0])))
        return self._files[key]

    def _wanted(self, patterns: tuple[str, ...]) -> Callable[[str], bool]:
        def is_wanted(path: str) -> bool:
            if self._sources.is_ignored(path):
                return False
            if not patterns:
                return True
            from flux_upgrade.config.patterns import match

            return match(patterns, path)

        return is_wanted

    def _known(self, *tags: str) -> tuple[Served, ...]:
        """What releases serve, as far as the source has them: a mirror need not have what a pin says."""
        found = []
        for tag in tags:
            with suppress(ReleaseNotFound):
                found.append(self._apis.at(tag))
        return tuple(found)

    def _migrated(self, jump: Transition, files: Sequence[FluxFile]) -> tuple[Migrated, ...]:
        """What is moved, and what is left. The same for all that go from one release to another."""
        key = (jump.found.version, jump.upgrade.target, jump.around, jump.terms.scan)
        if key not in self._moved:
            self._moved[key] = tuple(self._moving(jump, files))
        return self._moved[key]

    def _moving(self, jump: Transition, files: Iterable[FluxFile]) -> Iterable[Migrated]:
        from flux_upgrade.impact.migrate.apis import Apis
        from flux_upgrade.impact.migrate.linked import together
        from flux_upgrade.impact.migrate.migrate import migrate

        shared = Apis(
            next(iter(self._known(jump.found.version)), None),
            self._apis.at(jump.upgrade.target),
            self._known(*jump.around.releases),
            self._apis.schema,
            self._apis.between(jump.found.version, jump.upgrade.target),
        )
        own = replace(shared, others=())
        found = []
        for file in files:
            apis = own if jump.around.is_own(file.path) else shared
            found.append(migrate(file, self._manifests.suited(apis, jump.around.readers(file.path))))
        return together([each for each in found if each is not None], self._sources.tree)

    def _orphaned(
        self, jump: Transition, changes: Changes | None, files: Iterable[FluxFile]
    ) -> Iterable[Use]:
        """Resources whose CRD goes away with a controller."""
        from flux_upgrade.impact.api_uses.flux_file import Place

        gone = set(changes.crds_removed) if changes is not None else set()
        if not gone:
            return
        crds = (crd for served in self._known(jump.found.version) for crd in served.crds.values())
        kinds = {(crd.group, crd.kind) for crd in crds if crd.name in gone}
        for file in files:
            for use in file.uses:
                if (use.group, use.kind) in kinds and use.place in (Place.RESOURCE, Place.EMBEDDED):
                    yield use

    @staticmethod
    def _takes_away(changes: Changes | None) -> bool:
        """Whether a version of an API goes that the cluster may have stored."""
        return changes is not None and any(each.removed for each in changes.crds)

    def _stored(self, jump: Transition, changes: Changes | None, pasts: Pasts) -> Stored:
        """What the API server would refuse."""
        from flux_upgrade.impact.impact import Stored

        change = jump.upgrade.change
        if not isinstance(change, Change) or not self._takes_away(changes):
            return Stored()
        from flux_upgrade.impact.stored_versions.refused import stored

        ran = jump.terms.feedback.migrated
        return stored(pasts, jump.found.content, self._crds(change.new), ran, jump.found.version)

    def _hops(self, jump: Transition, files: Iterable[Migrated], stored: Stored) -> tuple[str, ...]:
        """The way around what one step cannot do; empty where it can, or where there is none."""
        from flux_upgrade.impact.migrate.result import Reason

        lefts = [left for file in files for left in file.lefts]
        if not stored.after_migrate and not any(
            left.reason is Reason.NO_BRIDGE and left.blocks for left in lefts
        ):
            return ()
        uses = [*(left.use for left in lefts), *(move.use for file in files for move in file.moves)]
        from flux_upgrade.impact.upgrade_path import hops

        crds = {each.crd for each in stored.after_migrate}
        if isinstance(jump.upgrade.change, Change):
            crds |= {each.name for each in self._crds(jump.found.content)}
        tags = self._sources.regenerator.stable_tags()
        return hops(jump.found.version, jump.upgrade.target, tags, self._apis.at, crds, uses) or ()

    @cached_property
    def _history(self) -> FileHistory:
        return self._sources.history()

    @staticmethod
    def _crds(manifest: bytes) -> Iterable[Crd]:
        from flux_upgrade.manifests.crds import crds_of
        from flux_upgrade.manifests.documents import parse

        return crds_of(parse(manifest).documents).values()
