"""From which files a patch selects: those below its folder, and what is taken up there from elsewhere."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import cached_property

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.api_uses.scan import files
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.model.text import is_below, joined_path, repository_path
from flux_upgrade.pins.formats.kustomize_files import NAMES, is_kustomization
from flux_upgrade.pins.formats.yaml_places import Object, is_variable, readable

_TAKEN = ("resources", "bases", "components")
_PATCHES = (("patches", ("path",)), ("patchesJson6902", ("path",)), ("patchesStrategicMerge", ()))
_COMPONENT = "Component"


class Reach:
    """Of the patches of a tree; it is read when something is first asked."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[tuple[str, int], frozenset[str] | None] = {}
        self._resources: dict[str, tuple[ApiUse, ...]] = {}

    def covers(self, patch: ApiUse, path: str) -> bool:
        """Whether a patch can be for a resource in a file; where that is unknown, it can."""
        key = (patch.path, patch.start)
        if key not in self._known:
            self._known[key] = self._roots(patch)
        roots = self._known[key]
        return roots is None or any(is_below(path, root) for root in roots)

    def resources(self, group: str) -> tuple[ApiUse, ...]:
        """All resources of a group, whatever their version."""
        if group not in self._resources:
            found = files(self._tree, (group,))
            self._resources[group] = tuple(
                use for file in found for use in file.uses if use.place is UsePlace.RESOURCE
            )
        return self._resources[group]

    def _roots(self, patch: ApiUse) -> frozenset[str] | None:
        """Folders and files; None: not known."""
        if posixpath.basename(patch.path) in NAMES:
            own = [each for each in self._kustomizations if each[0] == patch.path]
            return self._of_kustomizations(own)
        if patch.at:
            return self._of_flux(patch)
        return self._of_kustomizations(
            [each for each in self._kustomizations if patch.path in _patches(*each)]
        )

    def _of_kustomizations(self, some: list[tuple[str, Object]]) -> frozenset[str] | None:
        # What a component patches is whatever its users have.
        if not some or any(each.text_at("kind") == _COMPONENT for _, each in some):
            return None
        return self._with_taken({posixpath.dirname(path) for path, _ in some})

    def _of_flux(self, patch: ApiUse) -> frozenset[str] | None:
        """Of a patch in a Flux Kustomization.

        https://fluxcd.io/flux/components/kustomize/kustomizations/#path
        """
        owners = [each for each in self._objects(patch.path) if _holds(each, patch)]
        if len(owners) != 1 or owners[0].text_at("kind") != "Kustomization" or patch.at[0] != "spec":
            return None
        said = owners[0].text_at("spec", "path")
        folder = repository_path(said)
        if not folder or is_variable(said) or owners[0].has("spec", "components"):
            return None
        is_here = any(is_below(path, folder) for path in self._tree.candidates())
        return self._with_taken({folder}) if is_here else None

    def _with_taken(self, roots: set[str]) -> frozenset[str]:
        """And all that kustomizations among them take up from outside."""
        while True:
            more = {
                taken
                for path, each in self._kustomizations
                if any(is_below(path, root) for root in roots)
                for taken in _taken(path, each)
            } - roots
            if not more:
                return frozenset(roots)
            roots |= more

    @cached_property
    def _kustomizations(self) -> list[tuple[str, Object]]:
        return [
            (path, each)
            for path in self._tree.named(NAMES)
            for each in self._objects(path)
            if is_kustomization(path, each)
        ]

    def _objects(self, path: str) -> list[Object]:
        try:
            return list(readable(self._tree.read(path)))
        except Unreadable:
            return []


def _holds(each: Object, patch: ApiUse) -> bool:
    offset = each.document.offset
    return offset(each.node.start_mark.index) <= patch.start < offset(each.node.end_mark.index)


def _taken(path: str, each: Object) -> Iterator[str]:
    """What a kustomization names outside of its folder."""
    folder = posixpath.dirname(path)
    for key in _TAKEN:
        for index in range(each.count(key)):
            taken = joined_path(folder, each.text_at(key, index))
            if not is_below(taken, folder):
                yield taken


def _patches(path: str, each: Object) -> Iterator[str]:
    for key, inner in _PATCHES:
        for index in range(each.count(key)):
            text = each.text_at(key, index, *inner)
            if text and "\n" not in text:
                yield joined_path(posixpath.dirname(path), text)
