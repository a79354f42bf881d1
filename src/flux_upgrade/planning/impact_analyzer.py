"""What upgrades mean for the repository and its clusters, analyzed once, when it is needed.

Nearly every run finds nothing to do, and imports none of what reads manifests and resources.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.config.config import Migrate
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.file_history import FileRevisions, Mentions
from flux_upgrade.model.versions import NO_VERSION, Version, is_tag
from flux_upgrade.pins.pin import PinState, Role
from flux_upgrade.planning.api_uses import ApiUses, Sources, Transition
from flux_upgrade.planning.plan import PlannedTarget
from flux_upgrade.planning.transition_ends import crd_list, ends_of, lacking_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.api_uses.flux_file import FluxFile
    from flux_upgrade.impact.broken_today import BrokenToday
    from flux_upgrade.impact.diff.changes import Changes
    from flux_upgrade.impact.impact import Detour, Impact, Managed, Stored, TurnedOffUse
    from flux_upgrade.impact.migrate.result import Migrated, Move
    from flux_upgrade.impact.overlay.result import TurnedOff


class ImpactAnalyzer:
    """Analyzes one transition after the other; what it has read once holds for all."""

    def __init__(self, sources: Sources, clusters: Sequence[Cluster]) -> None:
        """``clusters``: all that are planned for."""
        self._sources, self._uses = sources, ApiUses(sources, clusters)
        self._changes: dict[tuple[bytes, bytes], Changes] = {}
        self._pasts: dict[str, FileRevisions] = {}

    def impact(self, transition: Transition) -> Impact:
        """What the transition means, without the releases that ran before: those are in ``looked_back``.

        Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive, Unreadable.
        """
        from flux_upgrade.impact.impact import Impact

        found = Impact(migrated=transition.terms.feedback.migrated)
        declared = transition.terms.governance.kubernetes_version
        if declared:
            from flux_upgrade.impact.kubernetes_versions import fit

            found = found._replace(kubernetes=fit(declared, transition.upgrade.target))
        others = self._uses.others
        ends = ends_of(transition, self._sources, lambda path: not others(transition.cluster).is_theirs(path))
        if ends is not None:
            found = found._replace(
                changes=self._compared(ends.old, ends.new),
                overlay=ends.overlay,
                identical_to=self._identical(transition),
            )
        may_break = self._may_break(transition, found.changes)
        if may_break and ends is not None:
            target = self._uses.apis.at(transition.upgrade.target)
            lacking = lacking_kinds(transition.path, transition.cluster, (ends.old, ends.new), target)
            transition = transition._replace(lacking=lacking)
        turned_off = found.overlay.turned_off if found.overlay is not None else ()
        files = self._uses.files(transition) if may_break or turned_off else []
        if may_break and files:
            found = self._in_files(transition, found, files)
        if turned_off:
            found = found._replace(turned_off=tuple(_in_use(turned_off, files, found.moves)))
        if not may_break:
            return found
        found = found._replace(unread=self._uses.unread(transition))
        found = found._replace(stored=self._stored(transition, found.changes, FileRevisions()))
        path = self._upgrade_path(transition, found.files, found.stored)
        return found._replace(upgrade_path=path, detour=_detour(transition, found) if path else None)

    def broken_today(self, target: PlannedTarget, cluster: Cluster) -> tuple[BrokenToday, ...]:
        """What a cluster reads, and the release that it is known to be at refuses. Raises as ``impact``."""
        pin = target.pin
        is_known = (
            pin.proof.options is not None if pin.is_manifest else pin.state is PinState.EXACT and bool(pin.version)
        )
        if pin.role is not Role.INSTALLS or not is_known:
            return ()
        found = self._uses.broken_today(pin.version, target.terms.governance.include, cluster)
        if not found or not pin.is_manifest:
            return found
        lacking = lacking_kinds(target.path, cluster, (pin.content,), self._uses.apis.at(pin.version))
        return tuple(each for each in found if each.kind not in {kind for _, kind in lacking})

    def _in_files(self, transition: Transition, found: Impact, files: Sequence[FluxFile]) -> Impact:
        """With what the transition means for the files that speak of Flux's APIs."""
        from flux_upgrade.impact.behaviour.find import find_breaks, gates_in
        from flux_upgrade.impact.behaviour.variables import by_variable

        current, target = transition.found.version, transition.upgrade.target
        hits = find_breaks(files, current, target, gates_in([*self._beside(transition.path)]))
        reads = self._uses.reads(transition.cluster) if hits else ()
        moving = self._uses.migrated(transition, files)
        used = {(use.group, use.kind, use.version) for file in files for use in file.uses}
        used |= {(move.use.group, move.use.kind, move.to) for file in moving for move in file.moves}
        return found._replace(
            files=moving,
            used=frozenset(used),
            orphaned=tuple(self._uses.orphaned(transition, found.changes, files)),
            breaks=by_variable(hits, reads, self._sources.tree),
        )

    def looked_back(self, transition: Transition, impact: Impact) -> Impact:
        """With what the histories of the installation and of API uses show.

        The first is not read if an earlier run has written it down.
        """
        if transition.found.is_manifest and self._takes_away(impact.changes):
            impact = impact._replace(stored=self._stored_before(transition, impact))
        if not self._may_break(transition, impact.changes):
            return impact
        return impact._replace(managed=self._managed(transition, impact))

    def _stored_before(self, transition: Transition, impact: Impact) -> Stored:
        from flux_upgrade.impact.stored_versions.history import HistoryQuery, read

        feedback = transition.terms.feedback
        asked = HistoryQuery(
            transition.path,
            transition.found.content,
            transition.found.version,
            transition.upgrade.target,
            feedback.migrated,
        )
        found = read(feedback.stored, asked)
        if found is None:
            found = self._stored(transition, impact.changes, self._past(transition.path))
        return found

    def _past(self, path: str) -> FileRevisions:
        if path not in self._pasts:
            self._pasts[path] = self._sources.history.of(path)
        return self._pasts[path]

    def with_earlier_tries(self, transition: Transition, impact: Impact) -> Impact:
        """With what the history of a manifest tells of earlier upgrades, should that cost no requests."""
        if not transition.found.is_manifest or not self._sources.history.is_local:
            return impact
        from flux_upgrade.impact.stored_versions.history import earlier_tries

        return impact._replace(earlier=earlier_tries(self._past(transition.path), transition.upgrade.target))

    def _managed(self, transition: Transition, impact: Impact) -> Managed | None:
        """Why `flux migrate` has to run because of managed fields, as far as nothing else says so."""
        from flux_upgrade.impact.impact import Evidence
        from flux_upgrade.impact.stored_versions.history import DroppedVersions, managed, versions_dropped

        changed = None if impact.changes is None else {each.name for each in impact.changes.crds}
        target = self._uses.apis.at(transition.upgrade.target)
        known = self._uses.known(transition.found.version)
        dropped = frozenset().union(*[versions_dropped(each, target, changed) for each in known])
        used = {f"{use.group}/{use.version}" for use in impact.in_use}
        current, feedback = transition.found.version, transition.terms.feedback
        asked = DroppedVersions(
            dropped,
            dropped & used,
            any(tag > current for tag in feedback.moved_for if is_tag(tag)),
            transition.terms.governance.migrate is Migrate.WITH_UPGRADE,
            current,
            transition.upgrade.target,
        )
        mentions = Mentions()
        if asked.needs_history:
            mentions = self._sources.history.mentions(tuple(sorted(dropped)))
            # Of files that are searched today and not another cluster's.
            scan = transition.terms.governance.include
            searched = [each for each in mentions.paths if self._uses.is_searched(each, scan)]
            mine = [each for each in searched if not self._uses.others(transition.cluster).is_theirs(each)]
            mentions = mentions._replace(paths=tuple(mine))
        found = managed(asked, feedback.migrated_since, mentions)
        if found is None or found.is_after or found.evidence is not Evidence.UNKNOWN:
            return found
        return None if impact.stored.unknown else found

    def _beside(self, path: str) -> Iterable[bytes]:
        """The files of an installation's folder: what patches the controllers' arguments stands there."""
        for each in self._folders.get(posixpath.dirname(path), ()):
            with suppress(Unreadable):  # what cannot be read is said where it matters
                yield self._sources.tree.read(each)

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """The YAML files of each folder."""
        found: dict[str, list[str]] = {}
        for path in self._sources.tree.candidates():
            found.setdefault(posixpath.dirname(path), []).append(path)
        return found

    def _may_break(self, transition: Transition, changes: Changes | None) -> bool:
        """Whether anything of the tree can be affected: nothing is by a patch that takes nothing away."""
        if transition.crosses_minor:
            return True
        return changes is not None and bool(
            changes.crds_removed or any(each.removed or each.unserved for each in changes.crds)
        )

    def _identical(self, transition: Transition) -> Version:
        """The release in use, if the target has the same files; empty if it has others.

        Of a release in use that was withdrawn, the release that proved the manifest is compared.
        """
        target, base = transition.upgrade.target, transition.found.proof.base
        in_use = [transition.found.version, *([Version(base.options.version)] if base is not None else [])]
        regenerator = self._sources.pin_context.regenerator
        same = (tag for tag in in_use if tag != target and regenerator.are_identical(tag, target))
        return next(same, NO_VERSION)

    def _compared(self, old: bytes, new: bytes) -> Changes:
        from flux_upgrade.impact.diff.compare import manifest_changes

        if (old, new) not in self._changes:
            self._changes[old, new] = manifest_changes(parse(old).documents, parse(new).documents)
        return self._changes[old, new]

    @staticmethod
    def _takes_away(changes: Changes | None) -> bool:
        """Whether a version of an API goes that the cluster may have stored."""
        return changes is not None and any(each.removed for each in changes.crds)

    def _stored(self, transition: Transition, changes: Changes | None, pasts: FileRevisions) -> Stored:
        """What the API server would refuse."""
        from flux_upgrade.impact.impact import Stored

        manifest = transition.upgrade.change.manifest
        if manifest is None or not self._takes_away(changes):
            return Stored()
        from flux_upgrade.impact.stored_versions.refused import stored

        ran = transition.terms.feedback.migrated
        return stored(pasts, transition.found.content, crd_list(manifest.new), ran, transition.found.version)

    def _upgrade_path(self, transition: Transition, files: Iterable[Migrated], stored: Stored) -> tuple[Version, ...]:
        """The steps to take where one is not enough; empty if one is enough, or if there is no such path."""
        from flux_upgrade.impact.migrate.result import Reason

        lefts = [left for file in files for left in file.lefts]
        unbridged = [left for left in lefts if left.reason is Reason.NO_BRIDGE and left.blocks]
        if not stored.after_migrate and not unbridged:
            return ()
        uses = [*(left.use for left in lefts), *(move.use for file in files for move in file.moves)]
        from flux_upgrade.impact.served_apis import upgrade_path

        crds = {each.crd for each in stored.after_migrate}
        if transition.found.is_manifest:
            crds |= {each.name for each in crd_list(transition.found.content)}
        tags = self._sources.pin_context.regenerator.stable_tags()
        return (
            upgrade_path(transition.found.version, transition.upgrade.target, tags, self._uses.apis.at, crds, uses)
            or ()
        )


def _detour(transition: Transition, impact: Impact) -> Detour:
    """Why one step is not enough."""
    from flux_upgrade.impact.impact import Detour  # late, as all of impact/
    from flux_upgrade.impact.migrate.result import Reason

    return Detour(
        transition.upgrade.target,
        tuple(sorted({(each.kind, each.version) for each in impact.stored.after_migrate})),
        sum(left.reason is Reason.NO_BRIDGE and left.blocks for left in impact.lefts),
    )


def _in_use(
    turned_off: Sequence[TurnedOff], files: Iterable[FluxFile], moves: Iterable[Move]
) -> Iterator[TurnedOffUse]:
    """Uses of versions that patches over the manifest take away; those included that manifests are moved to."""
    from flux_upgrade.impact.impact import TurnedOffUse

    patches = {(each.group, each.kind, each.version): each for each in turned_off}
    moved = {(move.use.path, move.use.start): move.to for move in moves}
    for use in (use for file in files for use in file.uses if use.is_applied):
        patch = patches.get((use.group, use.kind, moved.get((use.path, use.start), use.version)))
        if patch is not None:
            yield TurnedOffUse(use, patch)
