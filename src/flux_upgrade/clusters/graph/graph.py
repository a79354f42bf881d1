"""Which cluster reads which file, and what no cluster reads."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from flux_upgrade.clusters.graph.artifact_files import ArtifactFiles
from flux_upgrade.clusters.graph.builds import Builds
from flux_upgrade.clusters.graph.flux_objects import is_of_flux
from flux_upgrade.clusters.graph.origins import Origins
from flux_upgrade.clusters.graph.pushed import PushedArtifacts
from flux_upgrade.clusters.graph.reads import ClusterReads, Root
from flux_upgrade.clusters.graph.walk import Walk, normalized
from flux_upgrade.config.config import Known
from flux_upgrade.model.text import is_below
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES
from flux_upgrade.snapshot.snapshot import Snapshot


class ClusterGraph:
    """The clusters of one repository, each with the files that Flux reads for it.

    ``roots``: name of a cluster → where Flux begins to read for it. ``urls``: the addresses of the repository.
    ``is_all``: whether they are all clusters of the repository. ``kept``: the
    installations and their syncs, which no pattern leaves out. ``known``: name of a cluster → what the config file
    says of it.
    """

    def __init__(  # noqa: PLR0913 (the repository, and what is known of it)
        self,
        tree: Snapshot,
        roots: Mapping[str, Sequence[Root]],
        urls: Iterable[str] = (),
        known: Mapping[str, Sequence[Known]] = {},
        *,
        is_all: bool = True,
        kept: Collection[str] = (),
    ) -> None:
        self._is_all = is_all
        self.kept = frozenset(kept)
        self._tree, files = tree, ArtifactFiles(tree)
        self.builds, here = Builds(files), frozenset(map(normalized, urls))
        pushed = PushedArtifacts(tree, here)
        origins = Origins(tree, pushed)
        reads = (
            Walk(files, self.builds, here, pushed, origins).reads(name, found, known.get(name, ()))
            if found
            else ClusterReads(name)
            for name, found in roots.items()
        )
        self.clusters: tuple[ClusterReads, ...] = tuple(
            each.bounded(known.get(each.name, ()), tree.candidates()) for each in reads
        )

    def readers(self, path: str) -> tuple[str, ...]:
        """The clusters that read a file; those of which nobody knows read every file."""
        return tuple(each.name for each in self.clusters if each.beyond is not None or path in each.files)

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """YAML files that name an API of Flux and that no cluster reads; none where a cluster may read everything."""
        files = filter(None, map(self._tree.at, self.not_read(self._tree.candidates())))
        return tuple(file.path for file in files if is_of_flux(file.content))

    def not_read(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of some files that no cluster reads; none where a cluster may read everything.

        What Terraform applies is for any cluster.
        """
        if not self._is_all or not self.clusters or any(each.beyond is not None for each in self.clusters):
            return ()
        return tuple(path for path in paths if path not in self._read and not path.endswith(TERRAFORM_FILES))

    @cached_property
    def _read(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.files for each in self.clusters))

    def ignore_patterns(self, paths: Iterable[str]) -> list[str]:
        """Entries for ``ignore`` in the config file that leave out files which no cluster reads, and no other.

        A directory where nothing is read is listed in place of its files. No pattern matches what is kept.
        """
        found: dict[str, None] = {}
        stays = self._read | self.kept
        for path in (each for each in paths if each not in self.kept):
            folder = posixpath.dirname(path)
            if not folder or any(is_below(each, folder) for each in stays):
                found[f"/{path}"] = None
                continue
            above = posixpath.dirname(folder)
            while above and not any(is_below(each, above) for each in stays):
                folder, above = above, posixpath.dirname(above)
            found[f"/{folder}/"] = None
        return list(found)
