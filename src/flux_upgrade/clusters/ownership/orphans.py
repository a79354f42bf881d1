"""Whether something in the tree refers to an installation's file; else it is an orphan.

Nothing is called an orphan wrongly: what cannot be understood counts as referring.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from flux_upgrade.clusters.ownership.mentions import PROGRAMS, mentions
from flux_upgrade.kustomize.kustomization import entries_in, files_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import is_below, joined_path
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.snapshot import Snapshot

_LISTS = ("resources", "bases", "components")
_GENERATORS = ("configMapGenerator", "secretGenerator")

_FLUX = "kustomize.toolkit.fluxcd.io/"
_MAY_BE_FLUX = re.compile(rb"apiVersion[\"']?\s*:\s*[\"']?(?:kustomize\.toolkit\.fluxcd\.io|fluxcd\.controlplane\.io)/")
_PATCHES_PATHS = re.compile(rb"/spec/path\b")
_SETS_A_PATH = re.compile(r"^[^\S\n]*path:", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{|\{\{|<<")


@dataclass
class _Index:
    """What the kustomizations of a tree refer to; paths are relative to its root."""

    is_empty: bool = True  # There is no kustomization of either kind: people apply by other means
    is_open: bool = False  # Something refers to a place that is unknown
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)  # All that is below them counts
    dangling: set[str] = field(default_factory=set)  # Last names of what is not in the listing, such as links
    flux_paths: set[str] = field(default_factory=set)  # `spec.path` of Flux's Kustomizations; empty for the root


class References:
    """What refers to files. Reads little for a usual installation, else every YAML file, once.

    ``tree``: the whole repository.
    """

    def __init__(self, tree: Snapshot) -> None:
        self._tree = tree

    def refers_to(self, path: str) -> bool:
        """Whether a kustomization, Kustomize's or Flux's, leads to the file, or a program names it.

        A kustomization of Kustomize's counts even if nothing refers to itself: it
        may be built by a person, or by another repository's Flux.
        """
        if self._is_listed_beside(path):
            return True
        index = self._index
        folder = posixpath.dirname(path)
        return (
            index.is_empty
            or index.is_open
            or path in index.files
            or any(is_below(folder, each) for each in index.folders)
            or not index.dangling.isdisjoint(path.split("/"))
            or any(self._is_generated(folder, each) for each in index.flux_paths)
            # A program or a pipeline may apply it.
            or any(mentions(self._tree.content(each) or b"", each, path) for each in self._tree.named(PROGRAMS))
        )

    def _is_listed_beside(self, path: str) -> bool:
        """The way of nearly every installation, without a scan."""
        folder = posixpath.dirname(path)
        for name in NAMES:
            entries = self._entries(posixpath.join(folder, name))
            if entries and path in (joined_path(folder, entry) for entry in entries):
                return True
        return False

    def _is_generated(self, folder: str, root: str) -> bool:
        """Whether Flux takes in the folder's files by itself.

        For a ``spec.path`` without a kustomization it generates one of all YAML files
        below; a folder below with a kustomization speaks for itself
        (fluxcd/pkg kustomize/kustomize_generator.go).
        """
        if not is_below(folder, root):
            return False
        while folder not in self._tree.kustomization_folders:
            if folder == root:
                return True
            folder = posixpath.dirname(folder)
        return False

    @cached_property
    def _index(self) -> _Index:
        index = _Index()
        listing = list(self._tree.named(("",)))
        known = {*listing, *chain.from_iterable(map(_above, listing))}
        for path in listing:
            folder, name = posixpath.split(path)
            if name in NAMES:
                self._add_kustomization(index, path, known)
            elif name.lower().startswith("kustomization.") or name == "Chart.yaml":
                # A template of a kustomization, and a chart: what they hold is not known.
                index.folders.add(folder)
        for path in self._tree.candidates():
            self._add_flux(index, path)
        index.is_empty = not (self._tree.kustomization_folders or index.flux_paths)
        return index

    def _add_kustomization(self, index: _Index, path: str, known: set[str]) -> None:
        folder = posixpath.dirname(path)
        entries = self._entries(path)
        if entries is None:
            index.folders.add(folder)
            return
        for entry in entries:
            target = joined_path(folder, entry)
            if target in self._tree.kustomization_folders or "://" in entry:
                continue
            if target not in known:
                index.dangling.add(posixpath.basename(target))
            else:
                # A folder without a kustomization is an error of kustomize's; nobody knows what is meant.
                index.files.add(target)
                index.folders.add(target)

    def _entries(self, path: str) -> tuple[str, ...] | None:
        """What a kustomization lists; None where it cannot be understood, empty where there is none."""
        content = self._tree.content(path)
        if content is None:
            return None if path in self._tree.unread else ()
        try:
            (data,) = [document.data for document in parse(content).documents]
        except (Unreadable, ValueError):
            return None
        if not isinstance(data, dict):
            return None
        version = data.get("apiVersion")  # may be left out
        if version is not None and not str(version).startswith("kustomize.config.k8s.io/"):
            return None
        lists = [data.get(key) or [] for key in _LISTS]
        if not all(isinstance(each, list) for each in lists):
            return None
        # Files of generators are applied by whatever reads the ConfigMap or the Secret.
        generated = (name for key in _GENERATORS for entry in entries_in(data, key) for name in files_of(entry))
        return (*(str(entry) for each in lists for entry in each), *generated)

    def _add_flux(self, index: _Index, path: str) -> None:
        content = self._tree.content(path)
        if content is None or _PATCHES_PATHS.search(content) is not None:
            index.is_open = True
        elif _MAY_BE_FLUX.search(content) is not None:
            for each in _flux_paths(content):
                if each is None or _VARIABLE.search(each) or ".." in each.split("/"):
                    index.is_open = True
                else:
                    index.flux_paths.add(joined_path("", each.lstrip("/")))


def _flux_paths(content: bytes) -> list[str | None]:
    """``spec.path`` of each of Flux's Kustomizations; None for one that is unknown."""
    try:
        return [path for document in parse(content).documents for path in _paths_in(document.data)]
    except Unreadable:
        return [None]


def _paths_in(data: Any) -> Iterator[str | None]:
    """Also of those in lists, in the ResourceSets of flux-operator, and in templates as text."""
    match data:
        case {"apiVersion": str(version), "kind": "Kustomization", "spec": dict(spec)} if version.startswith(_FLUX):
            # Without either it is a patch for one.
            if "path" in spec or "sourceRef" in spec:
                yield str(spec.get("path") or "")
        case {"kind": "FluxInstance", "spec": {"sync": {"path": path}}}:
            yield str(path)
    if isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from _paths_in(each)
    elif isinstance(data, str) and _FLUX in data and "Kustomization" in data and _SETS_A_PATH.search(data):
        yield None


def _above(path: str) -> Iterator[str]:
    """The folders of a path, up to the root."""
    while path:
        path = posixpath.dirname(path)
        yield path
