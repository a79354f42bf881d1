"""What is known of a repository, of its clusters and of Flux's releases.

Nearly every run finds nothing to do, and imports none of what reads manifests and resources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.config.config import Config, Governance, is_scanned
from flux_upgrade.manifests.crds import Crd, ReleaseApis, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import ReleaseNotFound, Unreadable
from flux_upgrade.model.file_history import FileHistory, FileRevisions, FollowedFiles, Mentions
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Pin, PinState, Role
from flux_upgrade.policy.decision import Feedback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.readers import Installations, OtherClusters
    from flux_upgrade.clusters.graph.graph import ClusterGraph
    from flux_upgrade.clusters.graph.reads import ClusterReads
    from flux_upgrade.impact.broken_today import BrokenToday
    from flux_upgrade.impact.served_apis import ServedApis
    from flux_upgrade.model.ports import Builder
    from flux_upgrade.snapshot.snapshot import Snapshot

T = TypeVar("T")
Kinds = frozenset[tuple[str, str]]
"""Of resources, each with its API group."""
_MORE_INSTALLED = Unknown("CRDs of the cluster come from something else than its manifests")
_NO_HISTORY = Unknown("the history of an artifact is not searched")
_RESOURCE = re.compile(rb"\.toolkit\.fluxcd\.io\\?/v")


class Transition(NamedTuple):
    path: str  # Of the installation, relative to the repository's root
    pin: Pin
    target: Version
    new: bytes | None  # The manifest afterwards; None: the version is written without a manifest
    cluster: Cluster
    governance: Governance
    feedback: Feedback
    lacking: Kinds = frozenset()
    """Kinds that the cluster does not have, before or after: what uses them is none of its concern."""

    by_operator: bool = False  # The flux-operator migrates the stored objects of the cluster
    doubt: Unknown | None = None  # The reason that the cluster may run another release than the pin's

    @property
    def migrated(self) -> tuple[str, ...]:
        """Return the tags of the releases at which the cluster's stored objects were migrated."""
        done = self.feedback.migrated
        return (*done, self.pin.version) if self.by_operator else done

    @property
    def crosses_minor(self) -> bool:
        """Whether versions of APIs may go."""
        return self.pin.version.numbers[:2] != self.target.numbers[:2]


@dataclass(eq=False)
class Evidence:
    """The sources of an assessment. Each is asked once, when the answer is needed."""

    pin_context: PinContext  # Of the whole repository
    config: Config
    clusters: Sequence[Cluster] = ()  # All that something is planned for
    history: FileHistory | Unknown = _NO_HISTORY
    builder: Builder | None = None  # What builds kustomizations on this machine; None: nothing does
    planned: frozenset[str] = frozenset()  # Paths of the pins that something is planned for
    members: Sequence[Member] | None = ()  # All pins of the repository; None: they are looked for once they are needed
    urls: Sequence[str] = ()  # Addresses of the repository
    followed: Callable[[], FollowedFiles] | None = None
    """Reader of the commit that Flux follows, if changes go into a checkout; None: they go to its branch."""
    _answers: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def tree(self) -> Snapshot:
        return self.pin_context.tree

    def once(self, question: Hashable, ask: Callable[[], T]) -> T:
        """Return what ``ask`` returned when ``question`` came up first."""
        if question not in self._answers:
            self._answers[question] = ask()
        answer: T = self._answers[question]
        return answer

    @cached_property
    def followed_files(self) -> FollowedFiles | None:
        return self.followed() if self.followed is not None else None

    def is_this_repository(self, url: str) -> bool:
        """Return whether ``url`` is an address of this repository."""
        from flux_upgrade.clusters.graph.walk import normalized  # late: few sources are in other files

        return normalized(url) in map(normalized, self.urls)

    @cached_property
    def apis(self) -> ServedApis:
        from flux_upgrade.impact.served_apis import ServedApis  # late, as all of impact/

        return ServedApis(self.pin_context.regenerator)

    def served(self, tag: str) -> ReleaseApis | Unknown:
        """Return what a release serves: a mirror need not have what a pin says. Raises what else ``at`` raises."""
        try:
            return self.apis.at(tag)
        except ReleaseNotFound as error:
            return Unknown(error.message)

    def past(self, path: str) -> FileRevisions:
        """Return what a file was in earlier commits."""
        history = self.history
        if isinstance(history, Unknown):
            return FileRevisions(missing=history)
        return self.once(("past", path), lambda: history.of(path))

    def mentions(self, versions: Sequence[str]) -> Mentions:
        """Return which manifests named one of some API versions, in any commit."""
        history = self.history
        return Mentions(missing=history) if isinstance(history, Unknown) else history.mentions(versions)

    def is_searched(self, path: str, patterns: tuple[str, ...]) -> bool:
        """Whether a file is searched for API versions. ``patterns``: of the setting `include`; empty: all files."""
        return not self.config.is_ignored(path) and is_scanned(patterns, path)

    def others(self, cluster: Cluster) -> OtherClusters:
        """Return what is in the repository besides a cluster."""
        return self._installations.besides(cluster)

    def reads(self, cluster: Cluster) -> tuple[ClusterReads, ...]:
        """Return what the graph says of a cluster."""
        return tuple(each for each in self.graph.clusters if each.name == cluster.name)

    def graph_of(self, clusters: Sequence[Cluster], below: str = "") -> ClusterGraph:
        """Return which of ``clusters`` reads which file. ``below``: as ``roots_of`` takes it."""
        from flux_upgrade.clusters.roots import graph_of  # late: only resources of Flux need it

        return graph_of(clusters, self.tree, self.urls, below, self.config.known)

    @cached_property
    def _elsewhere(self) -> tuple[Cluster, ...]:
        """Clusters of the repository that nothing is planned for."""
        from flux_upgrade.assessment.running import installs  # late, as above

        pins = self.members
        if pins is None:
            pins = [Member(each, each.path) for each in discover(self.pin_context)]
        # Those that are ignored, or outside of what the user named.
        unplanned = [each for each in pins if each.path not in self.planned]
        return clusters_of(filter(installs, unplanned), self.tree)

    @cached_property
    def graph(self) -> ClusterGraph:
        return self.graph_of((*self.clusters, *self._elsewhere))

    @cached_property
    def _installations(self) -> Installations:
        from flux_upgrade.assessment.readers import Installations  # late, as above

        reads = {each.name: each.files for each in self.graph.clusters if each.is_known}
        named = {each.name for each in (*self.clusters, *self._elsewhere)}
        syncs = [each for each in self.graph.clusters if each.name not in named]
        # A sync that does not show its root is the name of its cluster.
        places = [(each, place) for each in syncs for place in [root.place for root in each.roots] or [each.name]]
        unknown = [(each.files, place) for each, place in places]
        beyond = {each.name: each.beyond for each in self.graph.clusters if each.is_known and each.beyond is not None}
        beyond |= {place: each.beyond for each, place in places if each.beyond is not None}
        return Installations(self.clusters, self._elsewhere, reads, unknown, beyond)


def lacking_kinds(path: str, cluster: Cluster, manifests: Sequence[bytes], release: ReleaseApis) -> Kinds | Unknown:
    """Return the kinds of a release that a cluster has no CRD of.

    ``manifests``: of the installation at ``path``. Others of the cluster may have what they lack.
    """
    others = [each.pin for each in cluster.members if each.pin.role is Role.INSTALLS and each.path != path]
    if not all(each.is_manifest for each in others):
        return _MORE_INSTALLED
    contents = (*manifests, *(each.content for each in others))
    try:
        installed = {crd.name for content in contents for crd in crd_list(content)}
    except Unreadable as error:
        return Unknown(error.message)
    if not installed:
        return _MORE_INSTALLED
    return frozenset((crd.group, crd.kind) for crd in release.crds.values() if crd.name not in installed)


@lru_cache(maxsize=8)  # equal manifests are many
def crd_list(manifest: bytes) -> Sequence[Crd]:
    """Return the CRDs of a manifest."""
    return tuple(crds_of(parse(manifest).documents).values())


def broken_today(
    member: Member, cluster: Cluster, include: tuple[str, ...], evidence: Evidence
) -> tuple[BrokenToday, ...]:
    """Return what is refused today. Raises SourceUnavailable, UntrustedArchive, Unreadable."""
    pin = member.pin
    is_known = pin.proof.options is not None if pin.is_manifest else pin.state is PinState.EXACT and bool(pin.version)
    if pin.role is not Role.INSTALLS or not is_known:
        return ()
    question = "broken", pin.version, include
    found = evidence.once(question, lambda: tuple(_broken_at(pin.version, include, evidence)))
    if not found:
        return ()
    others = evidence.others(cluster)
    theirs = tuple(each for each in found if not others.is_theirs(each.path))
    if not theirs or not pin.is_manifest:
        return theirs
    lacking = known_or(lacking_kinds(member.path, cluster, (pin.content,), evidence.apis.at(pin.version)), Kinds())
    return tuple(each for each in theirs if each.kind not in {kind for _, kind in lacking})


def _broken_at(version: Version, include: tuple[str, ...], evidence: Evidence) -> Iterator[BrokenToday]:
    searched = (path for path in evidence.tree.candidates() if evidence.is_searched(path, include))
    # Files that may have resources of Flux, and no mere CRDs.
    using = [path for path in searched if _RESOURCE.search(evidence.tree.content(path) or b"")]
    served = known_or(evidence.served(version), None) if using else None
    if served is None:
        return
    from flux_upgrade.impact.api_uses.prefilter import Prefilter  # late, as all of impact/

    prefilter = Prefilter(served)
    suspects = [path for path in using if prefilter.may_be_broken(evidence.tree.content(path) or b"")]
    if suspects:
        from flux_upgrade.impact.api_uses.scan import files
        from flux_upgrade.impact.broken_today import broken_today

        yield from broken_today(files(evidence.tree, served.groups, suspects), served, evidence.apis.schema)
