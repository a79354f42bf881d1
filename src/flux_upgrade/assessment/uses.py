"""How the repository uses Flux's APIs: which files, what an upgrade moves in them, and what it orphans."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.assessment.cluster_base import release_before
from flux_upgrade.assessment.evidence import Evidence, Transition
from flux_upgrade.assessment.running import suited
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.graph.builds import Trouble
from flux_upgrade.clusters.known import known_of
from flux_upgrade.config.config import ALL, Known, Migrate
from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile, UsePlace
from flux_upgrade.impact.api_uses.scan import SUFFIXES, files
from flux_upgrade.impact.behaviour.find import by_variable, find_breaks, gates_in
from flux_upgrade.impact.impact import TurnedOffUse
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.linked import Reach, settle_linked
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated, Move
from flux_upgrade.impact.overlay.result import TurnedOff
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.text import grouped
from flux_upgrade.model.unknown import known_or
from flux_upgrade.model.versions import Version


def files_of(transition: Transition, evidence: Evidence) -> list[FluxFile]:
    """Return every file that is searched and names Flux's APIs, but for those of another cluster alone."""
    searched, is_all = _searched(transition, evidence), transition.governance.include == ALL
    if not searched:
        return []  # Who reads what is asked only if there is something to read.
    others = evidence.others(transition.cluster)
    found = [file for file in searched if others.may_apply(file.path)]
    if is_all and others.beyond is None:
        found += (file for file in searched if others.is_unread(file.path))
    return [own for file in found if (own := file.without(transition.lacking)).uses]


def unread(transition: Transition, evidence: Evidence) -> tuple[str, ...]:
    """Return files with resources that the target does not serve, and that no cluster reads, as far as is known."""
    searched, target = _searched(transition, evidence), evidence.apis.at(transition.target)
    if not searched or transition.governance.include == ALL:
        return ()
    others = evidence.others(transition.cluster)
    not_read = (file for file in searched if others.is_unread(file.path))
    removed = (use for file in not_read for use in file.uses if use.is_applied and not use.why)
    gone = (use.path for use in removed if not target.serves(use.group, use.version, use.kind))
    return tuple(path for path in dict.fromkeys(gone) if path not in evidence.graph.kept)


def unfollowed(transition: Transition, evidence: Evidence) -> tuple[Trouble, ...]:
    """Return the steps from the cluster's root that could not be followed, if a file names Flux's APIs."""
    reads = evidence.reads(transition.cluster) if _searched(transition, evidence) else ()
    return tuple(dict.fromkeys(trouble for each in reads for trouble in each.troubles))


def known_facts(transition: Transition, evidence: Evidence) -> tuple[Known, ...]:
    """Return the entries of the config file that count for the cluster."""
    entries = known_of(transition.cluster, evidence.config.known)
    if not entries:
        return ()
    counting = {entry.place for reads in evidence.reads(transition.cluster) for entry in reads.known}
    return tuple(entry for entry in entries if entry.migrated or entry.place in counting)


def _searched(transition: Transition, evidence: Evidence) -> tuple[FluxFile, ...]:
    """Return every file of the repository that is searched and names Flux's APIs."""
    target, current = evidence.apis.at(transition.target), known_or(evidence.served(transition.pin.version), None)
    groups = target.groups | (current.groups if current is not None else frozenset())
    scan = transition.governance.include
    paths = (path for path in evidence.tree.named(SUFFIXES) if evidence.is_searched(path, scan))
    return evidence.once(("searched", scan, groups), lambda: tuple(files(evidence.tree, groups, paths)))


def apis_between(current: ReleaseApis | None, target: ReleaseApis, evidence: Evidence) -> Apis:
    """Return what releases serve, for files that a cluster at ``current`` alone reads."""
    apis = evidence.apis
    if current is None:
        return Apis(None, target, (), apis.schema)
    return Apis(current, target, (), apis.schema, lambda: apis.between(current.tag, target.tag))


def migrated(transition: Transition, files: Sequence[FluxFile], evidence: Evidence) -> tuple[Migrated, ...]:
    """Return what is moved, and what is left. The same for all that go from one release to another."""
    others, current, target = evidence.others(transition.cluster), transition.pin.version, transition.target
    question = "migrated", current, target, others, transition.governance.include, transition.lacking

    def running_before(lead: Member) -> Version:
        return evidence.once(
            ("before", lead.place, lead.pin.kind, lead.pin.version), lambda: release_before(lead, evidence)
        )

    def migrate_all() -> tuple[Migrated, ...]:
        shared = apis_between(known_or(evidence.served(current), None), evidence.apis.at(target), evidence)

        @cache
        def beside(releases: tuple[str, ...]) -> Apis:
            served = (known_or(evidence.served(release), None) for release in releases)
            return replace(shared, others=[each for each in served if each is not None])

        def apis_of(file: FluxFile) -> Apis:
            # The commit that Flux follows is looked at only for readers of files that may be migrated.
            before = running_before if any(map(shared.may_remove, file.uses)) else None
            return suited(beside(others.releases_reading(file.path, before)), others.unverified_reading(file.path))

        reach = evidence.once("reach", lambda: Reach(evidence.tree))
        return settle_linked([file for file in map(migrate, files, map(apis_of, files)) if file is not None], reach)

    return evidence.once(question, migrate_all)


def orphaned(
    transition: Transition, removed: Collection[str], files: Iterable[FluxFile], evidence: Evidence
) -> Iterator[ApiUse]:
    """Yield resources whose CRD goes away with a controller, or that may be some. ``removed``: names of these CRDs."""
    current = known_or(evidence.served(transition.pin.version), None) if removed else None
    if current is None:
        return
    kinds = {(crd.group, crd.kind) for crd in current.crds.values() if crd.name in removed}
    yield from (use for use in _applied(files) if (use.group, use.kind) in kinds)


def in_files(transition: Transition, found: Assessment, files: Sequence[FluxFile], evidence: Evidence) -> Assessment:
    """Return an assessment with what the transition means for the files that name Flux's APIs."""
    # What patches the controllers' arguments is beside the installation.
    paths = evidence.tree.candidates()
    folders = evidence.once("folders", lambda: grouped((posixpath.dirname(path), path) for path in paths))
    beside = folders.get(posixpath.dirname(transition.path), ())
    gates = gates_in(filter(None, map(evidence.tree.content, beside)))
    hits = find_breaks(files, transition.pin.version, transition.target, gates)
    moving = migrated(transition, files, evidence)
    if transition.governance.migrate is Migrate.OFF:
        moving = tuple(file.with_metrics_left() for file in moving)
    others = evidence.others(transition.cluster)
    broken = {
        use.path: use
        for file in reversed(files)
        for use in reversed(file.uses)
        if use.is_unreadable and not others.is_theirs(use.path)
    }
    used = {(use.group, use.kind, use.version) for file in files for use in file.uses}
    used |= {(move.use.group, move.use.kind, move.to) for file in moving for move in file.moves}
    return found._replace(
        files=moving,
        used=frozenset(used),
        broken_files=tuple(broken[path] for path in sorted(broken)),
        breaks=by_variable(hits, evidence.reads(transition.cluster) if hits else (), evidence.tree),
    )


def turned_off_uses(
    turned_off: Sequence[TurnedOff], files: Iterable[FluxFile], moves: Iterable[Move]
) -> Iterator[TurnedOffUse]:
    """Yield uses of versions that patches over the manifest take away, as they are after the migration."""
    patches = {(each.group, each.kind, each.version): each for each in turned_off}
    moved = {(move.use.path, move.use.start): move.to for move in moves}
    for use in _applied(files):
        patch = patches.get((use.group, use.kind, moved.get((use.path, use.start), use.version)))
        if patch is not None:
            yield TurnedOffUse(use, patch)


def _applied(files: Iterable[FluxFile]) -> Iterator[ApiUse]:
    """Yield uses by resources; in a file that cannot be read, what may be one is one."""
    return (use for file in files for use in file.uses if use.is_applied or use.place is UsePlace.TEMPLATE)
