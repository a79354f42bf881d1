"""Which kustomizations of a tree take in which files, and each other."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object

_TAKES_IN = ("resources", "bases", "components")
_KINDS = ("", "Kustomization", "Component")


class Taker(NamedTuple):
    """A kustomization, and the paths that it takes in."""

    file: File
    object: Object
    paths: tuple[str, ...]


class KustomizeTree:
    """The kustomizations of a tree by their directories, read when they are first asked about, and once."""

    def __init__(self, tree: Snapshot) -> None:
        self._tree = tree
        self._built: dict[str, Mapping[str, str]] = {}
        self._files: dict[str, frozenset[str]] = {}
        self._roots: dict[str, list[str]] = {}

    @cached_property
    def takers(self) -> Mapping[str, Taker]:
        """By directory; the root is empty."""
        found: dict[str, Taker] = {}
        for file, each in self._tree.kustomizations:
            directory = posixpath.dirname(file.path)
            if directory not in found and each.text_at("kind") in _KINDS:
                found[directory] = Taker(file, each, tuple(_taken(directory, each)))
        return found

    def roots(self, path: str) -> list[str]:
        """Directories of the outermost kustomizations that take in a file, directly or not."""
        if path not in self._roots:
            self._roots[path] = sorted(self._outermost(path))
        return self._roots[path]

    def _outermost(self, path: str) -> list[str]:
        found, seen, waiting = [], {path}, [path]
        while waiting:
            each = waiting.pop()
            above = self._above.get(each, ())
            if not above and each != path:
                found.append(each)
            waiting += [one for one in above if one not in seen]
            seen.update(above)
        return found

    def built(self, root: str) -> Mapping[str, str]:
        """Directory → the one that takes it in, for all that a kustomization is built from: itself first."""
        if root not in self._built:
            taken, waiting = {root: root}, [root]
            for each in waiting:
                new = [path for path in self.takers[each].paths if path in self.takers and path not in taken]
                taken.update(dict.fromkeys(new, each))
                waiting += dict.fromkeys(new)
            self._built[root] = taken
        return self._built[root]

    def files(self, root: str) -> frozenset[str]:
        """Paths of all that a kustomization is built from."""
        if root not in self._files:
            self._files[root] = frozenset(path for each in self.built(root) for path in self.takers[each].paths)
        return self._files[root]

    @cached_property
    def _above(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for directory, taker in self.takers.items():
            for path in dict.fromkeys(taker.paths):
                if path != directory:
                    found.setdefault(path, []).append(directory)
        return found


def _taken(directory: str, each: Object) -> Iterator[str]:
    for field in _TAKES_IN:
        for value in each.scalars(field):
            if "://" not in value.text:
                yield joined(directory, value.text)
