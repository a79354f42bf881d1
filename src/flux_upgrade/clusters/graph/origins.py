"""Directories of the repository that a source may contain, if it is not known to be another repository."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, cached_property

from flux_upgrade.clusters.graph.flux_objects import SOURCES, FluxSource, SourceKey, may_lead, source_of
from flux_upgrade.clusters.graph.pushed import ARTIFACT, PushedArtifacts
from flux_upgrade.clusters.graph.substitution import unknown_in
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import YAML
from flux_upgrade.model.text import is_below
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.snapshot import Snapshot


class Origin(NamedTuple):
    """Directories that a source may contain."""

    bases: tuple[str, ...] = ()  # Empty: it is another repository
    doubt: str = ""  # The reason not to be certain, a relative clause


class Origins:
    """Origins of the sources that are not known to be this repository."""

    def __init__(self, tree: Snapshot, pushed: PushedArtifacts) -> None:
        self._tree, self._pushed = tree, pushed
        self._directories_in = cache(self._beside)

    def origin(self, key: SourceKey, seen: FluxSource | None, bases: tuple[str, ...], *, is_addressed: bool) -> Origin:
        """Return where a source may begin.

        ``seen``: as the cluster has it. ``bases``: directories that the cluster's own sources contain.
        ``is_addressed``: whether an address of this repository is known.
        """
        sources = [seen] if seen is not None else self._defined.get((key.kind, key.name), [])
        if not sources:
            return Origin(self._anywhere(bases), "which is not in Git")
        if any(not each.url or unknown_in(each.url) for each in sources):
            return Origin(self._anywhere(bases), "whose address is not in Git")
        if key.kind == ARTIFACT:
            pushed = {base for each in sources for base in self._pushed.may_be(each.url)}
            return Origin(tuple(sorted(pushed)), "which workflows or scripts here may push" if pushed else "")
        if not is_addressed:
            return Origin(self._anywhere(bases), "and no address of this repository is known")
        # If one repository is checked in to a directory of another, others may be next to it.
        above = [posixpath.dirname(base) for base in bases if base]
        beside = {posixpath.join(folder, _name(each.url)) for folder in above for each in sources}
        return Origin(tuple(sorted(beside)), "which may be checked in here" if beside else "")

    def _anywhere(self, bases: tuple[str, ...]) -> tuple[str, ...]:
        """Return the directories that any source may contain: also those that are pushed, or checked in here."""
        beside = self._directories_in(tuple({posixpath.dirname(base) for base in bases if base}))
        return tuple(dict.fromkeys((*bases, *sorted(self._pushed.folders | beside))))

    def _beside(self, above: tuple[str, ...]) -> frozenset[str]:
        """Return the directories in others, as paths from the repository's root."""
        yaml = list(self._tree.named(YAML)) if above else []  # Also those that are too large to read
        paths = ((folder, path) for folder in above for path in yaml if is_below(path, folder))
        inner = ((folder, path[len(folder) :].lstrip("/").partition("/")) for folder, path in paths)
        return frozenset(posixpath.join(folder, name) for folder, (name, slash, _) in inner if slash)

    @cached_property
    def _defined(self) -> Mapping[tuple[str, str], list[FluxSource]]:
        """Kind and name → sources; their namespaces may be set by kustomizations."""
        defined: dict[tuple[str, str], list[FluxSource]] = {}
        for file in filter(None, map(self._tree.at, self._tree.candidates())):
            if may_lead(file.content) and any(kind.encode() in file.content for kind in SOURCES):
                for item in file.readable:
                    with suppress(Unreadable):  # a value that Flux rejects: no source comes of it
                        data = item.data()
                        source = source_of(data) if isinstance(data, dict) else None
                        if source is not None:
                            defined.setdefault((source.key.kind, source.key.name), []).append(source)
        return defined


def _name(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2].removesuffix(".git")
