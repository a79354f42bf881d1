"""Which kustomizations of a tree take in which files, and each other."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from functools import cache, cached_property

from flux_upgrade.model.values import NamedTuple
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
    paths: Sequence[str]


class KustomizeTree:
    """The kustomizations of a tree by their directories, read when they are first asked about, and once."""

    def __init__(self, tree: Snapshot) -> None:
        self._tree = tree
        self.roots, self.built, self.files = cache(self._roots), cache(self._built), cache(self._files)

    @cached_property
    def takers(self) -> Mapping[str, Taker]:
        """By directory; the root is empty."""
        found: dict[str, Taker] = {}
        for file, each in self._tree.kustomizations():
            directory = posixpath.dirname(file.path)
            if directory not in found and each.text_at("kind") in _KINDS:
                values = [value.text for field in _TAKES_IN for value in each.scalars(field)]
                found[directory] = Taker(file, each, [joined(directory, path) for path in values if "://" not in path])
        return found

    def _roots(self, path: str) -> list[str]:
        """Directories of the outermost kustomizations that take in a file, directly or not."""
        found, seen, waiting = [], {path}, [path]
        while waiting:
            each = waiting.pop()
            above = self.above.get(each, ())
            if not above and each != path:
                found.append(each)
            waiting += [one for one in above if one not in seen]
            seen.update(above)
        return sorted(found)

    def _built(self, root: str) -> Mapping[str, str]:
        """Directory → the one that takes it in, for all that a kustomization is built from: itself first."""
        taken, waiting = {root: root}, [root]
        for each in waiting:
            new = [path for path in self.takers[each].paths if path in self.takers and path not in taken]
            taken.update(dict.fromkeys(new, each))
            waiting += dict.fromkeys(new)
        return taken

    def _files(self, root: str) -> frozenset[str]:
        """Paths of all that a kustomization is built from."""
        return frozenset(path for each in self.built(root) for path in self.takers[each].paths)

    @cached_property
    def above(self) -> Mapping[str, list[str]]:
        """Path → directories of the kustomizations that take it in."""
        found: dict[str, list[str]] = {}
        for directory, taker in self.takers.items():
            for path in dict.fromkeys(taker.paths):
                if path != directory:
                    found.setdefault(path, []).append(directory)
        return found
