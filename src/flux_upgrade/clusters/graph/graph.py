"""Which cluster reads which file, and what no cluster reads."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from flux_upgrade.clusters.graph.artifact_files import ArtifactFiles
from flux_upgrade.clusters.graph.builds import Builds
from flux_upgrade.clusters.graph.flux_objects import is_of_flux
from flux_upgrade.clusters.graph.pushed import PushedArtifacts
from flux_upgrade.clusters.graph.walk import ClusterReads, Root, Walk, normalized
from flux_upgrade.model.text import is_below
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES
from flux_upgrade.snapshot.snapshot import Snapshot


class ClusterGraph:
    """The clusters of one repository, each with the files that Flux reads for it.

    ``roots``: name of a cluster → where Flux begins to read for it. ``urls``: the addresses of the repository.
    ``is_all``: whether they are all clusters of the repository.
    """

    def __init__(
        self, tree: Snapshot, roots: Mapping[str, Sequence[Root]], urls: Iterable[str] = (), *, is_all: bool = True
    ) -> None:
        self._is_all = is_all
        self._tree, files = tree, ArtifactFiles(tree)
        builds, here = Builds(files), frozenset(map(normalized, urls))
        pushed = PushedArtifacts(tree, here)
        self.clusters: tuple[ClusterReads, ...] = tuple(
            Walk(files, builds, here, pushed).reads(name, found) if found else ClusterReads(name)
            for name, found in roots.items()
        )

    def readers(self, path: str) -> tuple[str, ...]:
        """The clusters that read a file; those of which nobody knows read every file."""
        return tuple(each.name for each in self.clusters if not each.is_known or path in each.files)

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """YAML files that name an API of Flux and that no cluster reads; none where a cluster may read everything."""
        files = filter(None, map(self._tree.at, self.not_read(self._tree.candidates())))
        return tuple(file.path for file in files if is_of_flux(file.content))

    def not_read(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of some files that no cluster reads; none where a cluster may read everything.

        What Terraform applies is for any cluster.
        """
        if not self._is_all or not self.clusters or not all(each.is_known for each in self.clusters):
            return ()
        return tuple(path for path in paths if path not in self._read and not path.endswith(TERRAFORM_FILES))

    @cached_property
    def _read(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.files for each in self.clusters))

    def ignore_patterns(self, paths: Iterable[str]) -> list[str]:
        """Entries for ``ignore`` in the config file that leave out files which no cluster reads, and no other.

        A directory where nothing is read stands for all that is in it.
        """
        found: dict[str, None] = {}
        for path in paths:
            folder = posixpath.dirname(path)
            if not folder or any(is_below(each, folder) for each in self._read):
                found[f"/{path}"] = None
                continue
            above = posixpath.dirname(folder)
            while above and not any(is_below(each, above) for each in self._read):
                folder, above = above, posixpath.dirname(above)
            found[f"/{folder}/"] = None
        return list(found)
