"""Values of the graph: roots, reconciliations, and what Flux reads for a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flux_upgrade.clusters.graph.builds import Trouble
from flux_upgrade.clusters.graph.flux_objects import BuiltObject, SourceKey
from flux_upgrade.config.config import Known, match
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple

_NO_SOURCE = SourceKey("", "", "")
_NO_ROOT = Unknown("no file of the repository tells where Flux begins to read for the cluster")


class Root(NamedTuple):
    """The directory in which Flux begins to read for a cluster."""

    folder: str  # Relative to the repository's root; empty for the root
    source: SourceKey  # The object with this repository in the cluster
    place: str  # What says so: a file, or a line of one
    base: str = ""  # The directory that the source contains, if it is an artifact, or checked in there
    url: str = ""  # The address of the source; empty if only its object has it
    above: str = ""  # The directory of the source that the tree is; empty: it is all of it
    in_sync: str | None = None  # The directory in the sync, if the config file has another; None: `folder`


class Reconciliation(NamedTuple):
    """A Kustomization that the cluster reconciles from this repository."""

    name: str  # `flux-system/apps`; empty for the root itself
    folder: str
    parent: int  # Index of the one that built it; -1 for the root
    files: frozenset[str] = frozenset()
    spec: Mapping[str, Any] = {}  # With patches applied and variables substituted; empty for the root itself
    source: SourceKey = _NO_SOURCE
    path: str = ""  # The file that has it
    line: int = 0  # 1-based, of its first line
    is_suspended: bool = False  # `spec.suspend` of the Kustomization or of its source

    @property
    def post_build(self) -> Mapping[str, Any]:
        return part(self.spec, "postBuild")


class ClusterReads(NamedTuple):
    """What Flux reads for one cluster."""

    name: str
    roots: tuple[Root, ...] = ()  # Empty: unknown, so that it may read the whole repository
    reconciliations: tuple[Reconciliation, ...] = ()
    files: frozenset[str] = frozenset()
    others: tuple[Reconciliation, ...] = ()  # From other sources than this repository, in the order of their names
    troubles: tuple[Trouble, ...] = ()
    installing: tuple[BuiltObject, ...] = ()
    known: tuple[Known, ...] = ()  # Entries of the config file that count
    is_bounded: bool = False  # An entry of the config file has all other files that it may read

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Names of the Kustomizations from other sources."""
        return tuple(each.name for each in self.others)

    @property
    def is_known(self) -> bool:
        return bool(self.roots) or self.is_bounded

    @property
    def beyond(self) -> Unknown | None:
        """The reason to count every other file as read; None: it reads no others."""
        if self.is_bounded:
            return None
        if not self.roots:
            return _NO_ROOT
        return next((Unknown(f"{each.place}: {each.message}") for each in self.troubles if each.is_open), None)

    def bounded(self, entries: Sequence[Known], paths: Iterable[str]) -> ClusterReads:
        """Return it with entries of the config file. ``paths``: of all files that it may read."""
        if not entries:
            return self
        known = [entry for entry in entries if any(root.place == entry.place for root in self.roots)]
        bounds = [entry for entry in entries if entry.reads] if self.beyond is not None else []
        files = frozenset(path for path in paths if any(match(entry.reads, path) for entry in bounds)) if bounds else ()
        if not files:
            bounds, void = [], bounds
            missing = (Trouble(entry.file, entry.line, f"no file matches {', '.join(entry.reads)}") for entry in void)
            troubles = (*self.troubles, *missing)
        else:
            troubles = tuple(trouble._replace(is_open=False, is_outside=False) for trouble in self.troubles)
        counting = {entry.place for entry in (*self.known, *known, *bounds)}
        return self._replace(
            files=self.files.union(files),
            troubles=troubles,
            known=tuple(entry for entry in entries if entry.place in counting),
            is_bounded=bool(bounds),
        )
