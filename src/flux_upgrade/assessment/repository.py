"""What a release means for all that is in a repository, from whatever its clusters run today."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.assessment.coverage import Coverage
from flux_upgrade.assessment.evidence import Evidence, Kinds, lacking_kinds
from flux_upgrade.assessment.file_readers import FileReaders, members_in
from flux_upgrade.assessment.running import UnverifiedInstallation, suited
from flux_upgrade.assessment.running import running as find_running
from flux_upgrade.assessment.search import Searched, in_use, searched, suspects
from flux_upgrade.assessment.uses import apis_between
from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.clusters.graph.builds import Trouble
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.config.config import ALL, Known
from flux_upgrade.impact.api_uses.scan import files as find_files
from flux_upgrade.impact.behaviour.find import by_variable, find_breaks, gates_in
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.impact import Hit
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import FluxUpgradeError, Unread, Unreadable
from flux_upgrade.model.text import first_few, is_below
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.discover import discover, looked_at
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.kustomize_files import NAMES

_FEW = 3
_NO_RELEASE = Unknown("no release was found that the clusters run")
_NO_MANIFEST = Unknown("no manifest of the cluster is in the repository")


class Question(NamedTuple):
    target: str  # A release, a tag
    running: tuple[str, ...] = ()  # Releases that clusters run today; empty: those that the repository installs
    below: str = ""  # The directory that it is about, `deploy/`; empty: the whole repository
    files: frozenset[str] | None = None  # The files that it is about; None: the directory
    changes_behaviour: bool = False  # Whether known changes of behaviour are looked for, too


class RepositoryAssessment(NamedTuple):
    target: str
    running: tuple[str, ...]  # What the clusters run, oldest first; empty: that is unknown
    is_given: bool  # Whether the question had these releases
    unknown: tuple[str, ...]  # Releases that run, and that the source does not have
    unverified: tuple[UnverifiedInstallation, ...]
    unasked: tuple[str, ...]  # Version references that only a host in the repository could tell the release of
    uses: Assessment  # What the target does not serve, of all that is known of the step to it
    failures: Mapping[str, FluxUpgradeError]
    unread: tuple[str, ...] = ()  # Patterns for `ignore` that leave out the files which no cluster reads
    by_text: Mapping[str, int | Unknown] = {}
    """Path → uses in a file, or in a part of it, that is not read, counted in its text."""
    coverage: Coverage = Coverage()
    unfollowed: tuple[Trouble, ...] = ()  # Steps from the clusters' roots that could not be followed
    known: tuple[Known, ...] = ()  # Entries of the config file that count for a cluster
    outside: tuple[Trouble, ...] = ()  # Steps that lead to where nothing was looked at
    behaviour: Unknown | None = None  # The reason that known changes of behaviour were not looked for
    ignored: int = 0  # Files that name Flux's APIs, and that the config file wants to be left alone


def assess_repository(question: Question, evidence: Evidence) -> RepositoryAssessment:
    """Assess what is there to migrate. Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive, Unreadable."""
    tree, apis = evidence.tree, evidence.apis
    target = apis.at(question.target)
    running = [apis.at(tag) for tag in question.running]
    pinning = frozenset(() if running else looked_at(tree))
    looked_for = _searched(question, evidence)
    suspected = suspects(tree, looked_for, pinning, target)
    # What is below the directory may run in any cluster, and one whose manifest is left alone runs all the same.
    pins = discover(evidence.pin_context, suspected.pins)
    found = find_running(Member(pin, pin.path) for pin in pins)
    served = {tag: evidence.served(tag) for tag in found.releases}
    running += (release for release in served.values() if not isinstance(release, Unknown))
    running.sort(key=lambda each: Version(each.tag))
    oldest = running[0] if running else None
    parts = {part.path: part for part in suspected.parts}
    readers = FileReaders(evidence, pins, running, is_given=bool(question.running))

    @cache
    def apis_for(releases: tuple[str, ...], unverified: tuple[UnverifiedInstallation, ...]) -> Apis:
        return suited(_between(releases, target, evidence), unverified)

    files = in_use(
        tree,
        suspected.uses,
        tree.patch_files,
        target,
        lambda path: apis_for(readers.releases(path), found.readers(path)),
    )
    files = tuple(parts[file.path].without(file) if file.path in parts else file for file in files)
    hits = _behaviour(evidence, looked_for, oldest, target) if question.changes_behaviour and oldest else ()
    patterns: tuple[str, ...] = ()
    is_whole = not question.below and question.files is None
    is_asked = bool(files or hits) and is_whole and evidence.config.default.governance.include != ALL
    may_be_part = bool(tree.location.root) and not tree.location.is_checkout and question.files is None
    troubles: tuple[Trouble, ...] = ()
    known: dict[str, Known] = {}
    if is_asked or may_be_part:
        graph = readers.graph
        troubles = tuple(dict.fromkeys(trouble for each in graph.clusters for trouble in each.troubles))
        known = {entry.place: entry for reads in graph.clusters for entry in reads.known}
    if is_asked:
        lacking = _lacking(readers.clusters, graph, target)
        not_read = graph.not_read([file.path for file in files])
        kept = (file.without(lacking(file.path)) for file in files)
        files = tuple(file.unread() if file.path in not_read else file for file in kept if file.uses)
        there = (hit for hit in hits if hit.kind not in {kind for _, kind in lacking(hit.path)})
        read = [hit for hit in there if not graph.not_read([hit.path])]
        hits = by_variable(read, graph.clusters, tree)
        patterns = tuple(graph.ignore_patterns(not_read))
    return RepositoryAssessment(
        target.tag,
        tuple(sorted(readers.all, key=Version)) if files else tuple(release.tag for release in running),
        bool(question.running),
        tuple(tag for tag, release in served.items() if isinstance(release, Unknown)),
        found.unverified,
        tuple(pin.place(pin.path) for pin in pins if pin.held and pin.held.reason is HoldReason.HOST_NOT_ALLOWED),
        Assessment(files=files, breaks=hits),
        {**dict(suspected.unread), **{path: part.error for path, part in parts.items()}, **dict(_cut(pins))},
        patterns,
        {path: part.uses for path, part in parts.items()},
        suspected.coverage,
        troubles,
        tuple(known.values()),
        tuple(each for each in troubles if each.is_outside and may_be_part),
        _without_release(question, pins, running) if suspected.coverage.of_flux else None,
        len(suspected.ignored),
    )


def _between(running: Sequence[str], target: ReleaseApis, evidence: Evidence) -> Apis:
    """Return what releases serve, from those that run, the first in particular, to the target."""
    served = [evidence.apis.at(tag) for tag in running]
    apis = apis_between(served[0] if served else None, target, evidence)
    return replace(apis, others=served[1:], is_of_one=len(served) <= 1)


def _searched(question: Question, evidence: Evidence) -> Searched:
    """Return the files to search: a file that was named itself, whatever it is called, and whatever is left alone.

    With a directory, all is that the clusters in it read, wherever it lies.
    """
    if question.files is not None:
        return Searched(question.files, question.files)
    everything = searched(evidence.tree, "", evidence.config)
    if not question.below:
        return everything
    folder = question.below.rstrip("/")
    below = frozenset(path for path in looked_at(evidence.tree) if is_below(path, folder))
    pins = discover(replace(evidence.pin_context, also=()), below)
    graph = evidence.graph_of(clusters_of(members_in(pins), evidence.tree), folder)
    read = frozenset[str]().union(*(each.files for each in graph.clusters))
    return everything.only(lambda path: path.startswith(question.below) or path in read)


def _lacking(clusters: Sequence[Cluster], graph: ClusterGraph, target: ReleaseApis) -> Callable[[str], Kinds]:
    """Return what says which kinds no cluster has that reads a file: what uses them is none of their concern."""
    by_cluster = {each.name: lacking_kinds("", each, (), target) for each in clusters if not each.is_tools}

    def kinds_at(path: str) -> Kinds:
        lacking = [known_or(by_cluster.get(name, _NO_MANIFEST), Kinds()) for name in graph.readers(path)]
        return lacking[0].intersection(*lacking) if lacking else frozenset()

    return kinds_at


def _without_release(question: Question, pins: Iterable[Pin], running: Sequence[ReleaseApis]) -> Unknown | None:
    """Return the reason not to know from which release a cluster goes to the target."""
    if not question.changes_behaviour or question.running:
        return None
    places = [pin.place(pin.path) for pin in pins if pin.role is Role.INSTALLS and not pin.version]
    if places:
        return Unknown(f"the release of {first_few(places, _FEW)} is unknown")
    return None if running else _NO_RELEASE


def _behaviour(evidence: Evidence, searched: Searched, oldest: ReleaseApis, target: ReleaseApis) -> tuple[Hit, ...]:
    """Return whom changes concern that no schema shows, on the way from the oldest release that runs."""
    if not any(rule.entered(oldest.tag, target.tag) for rule in BREAK_RULES):
        return ()
    paths = sorted(searched.manifests)
    kustomizations = (path for path in paths if posixpath.basename(path) in NAMES)
    gates = gates_in(filter(None, map(evidence.tree.content, kustomizations)))
    return find_breaks(find_files(evidence.tree, target.groups, paths), oldest.tag, target.tag, gates)


def _cut(pins: Iterable[Pin]) -> Iterator[tuple[str, Unreadable]]:
    """Yield the version references whose release is unknown because too much may set it."""
    for pin in pins:
        if pin.is_cut and pin.role is not Role.REPORTED:
            message = f"{pin.place(pin.path)}: the release of this {pin.kind} is unknown: {pin.reason}"
            yield pin.path, Unreadable(message, hint=pin.hint, why=Unread.TOO_LARGE)
