"""Which cluster reads which file, and what no cluster reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from flux_upgrade.clusters.graph.artifact_files import ArtifactFiles
from flux_upgrade.clusters.graph.builds import Builds
from flux_upgrade.clusters.graph.flux_objects import is_of_flux
from flux_upgrade.clusters.graph.walk import ClusterReads, Root, Walk, normalized
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree


class ClusterGraph:
    """The clusters of one repository, each with the files that Flux reads for it.

    ``roots``: name of a cluster → where Flux begins to read for it. ``urls``: the addresses of the repository.
    ``is_all``: whether they are all clusters of the repository.
    """

    def __init__(
        self, tree: Tree, roots: Mapping[str, Sequence[Root]], urls: Iterable[str] = (), *, is_all: bool = True
    ) -> None:
        self._is_all = is_all
        self._tree, self._files = tree, ArtifactFiles(tree)
        builds, here = Builds(self._files), frozenset(map(normalized, urls))
        self.clusters: tuple[ClusterReads, ...] = tuple(
            Walk(self._files, builds, here).reads(name, found) if found else ClusterReads(name)
            for name, found in roots.items()
        )

    def readers(self, path: str) -> tuple[str, ...]:
        """The clusters that read a file; those of which nobody knows read every file."""
        return tuple(each.name for each in self.clusters if not each.is_known or path in each.files)

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """YAML files that name an API of Flux and that no cluster reads; none where a cluster may read everything."""
        if not self._is_all or not self.clusters or not all(each.is_known for each in self.clusters):
            return ()
        read = frozenset[str]().union(*(each.files for each in self.clusters))
        return tuple(path for path in self._files.yaml if path not in read and self._is_of_flux(path))

    def _is_of_flux(self, path: str) -> bool:
        try:
            return is_of_flux(self._tree.read(path))
        except Unreadable:
            return False
