"""Clusters that read a file, and the releases that they run: without an upgrade, all clusters are alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from flux_upgrade.assessment.cluster_base import release_before
from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Pin, Role


class FileReaders:
    """The releases of the clusters that read a file: in their files, and in the commit that Flux follows.

    ``running``: releases in files, oldest first. ``is_given``: the user named them, and no others count.
    """

    def __init__(
        self, evidence: Evidence, pins: Sequence[Pin], running: Sequence[ReleaseApis], *, is_given: bool
    ) -> None:
        self._evidence, self._pins, self._is_given = evidence, pins, is_given
        self._in_files = tuple(release.tag for release in running)

    @cached_property
    def clusters(self) -> Sequence[Cluster]:
        pins = self._pins
        if self._is_given:  # Then version references were not searched for
            pins = discover(self._evidence.pin_context)
        return clusters_of(members_in(pins), self._evidence.tree)

    @cached_property
    def graph(self) -> ClusterGraph:
        return self._evidence.graph_of(self.clusters)

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Releases of all clusters, oldest first: those in files, then those that are only in the commit."""
        more = {*self._before.values()} - {*self._in_files}
        return (*self._in_files, *sorted(more, key=Version))

    def releases(self, path: str) -> tuple[str, ...]:
        """Return the releases of the clusters that read a file, or may; of all, if no cluster is known to."""
        if len(self.all) <= 1 or self._is_given:
            return self.all
        releases = [self._releases.get(name, frozenset()) for name in self.graph.readers(path)]
        if not releases or not all(releases):
            return self.all
        return tuple(tag for tag in self.all if any(tag in tags for tags in releases))

    @cached_property
    def _before(self) -> Mapping[str, str]:
        """Name of each cluster → the release in the commit that Flux follows, if the source has that release."""
        if self._is_given:
            return {}
        leads = {cluster.name: cluster.members[0] for cluster in self.clusters}
        tags = {name: release_before(lead, self._evidence) for name, lead in leads.items()}
        return {name: tag for name, tag in tags.items() if tag and not isinstance(self._evidence.served(tag), Unknown)}

    @cached_property
    def _releases(self) -> Mapping[str, frozenset[str]]:
        """Name of each cluster → the releases that its version references install; none if one is not known."""
        releases = {}
        for cluster in self.clusters:
            tags = {member.pin.version for member in cluster.members if member.pin.role is Role.INSTALLS}
            before = {self._before[cluster.name]} if cluster.name in self._before else set()
            releases[cluster.name] = frozenset(tags | before if tags <= {*self.all} else ())
        return releases


def members_in(pins: Iterable[Pin]) -> list[Member]:
    """Return the members of clusters among the version references of a whole repository."""
    return [Member(pin, pin.path) for pin in pins if pin.role is not Role.REPORTED]
