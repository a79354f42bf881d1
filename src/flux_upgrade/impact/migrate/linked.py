"""Resources and what patches them go to another version together, or not at all.

kustomize finds what a patch is for by its version as well (tried with 5.5): a strategic merge
patch of another version ends the build, a target of another version selects nothing, in silence.
Where two versions become one, a target selects what was of either.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace, encloses
from flux_upgrade.impact.api_uses.scan import files as files_using
from flux_upgrade.impact.migrate.result import Left, Migrated, Move, Reason
from flux_upgrade.model.patterns import BadPattern, is_whole
from flux_upgrade.model.text import is_below, joined_path, repository_path
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import NAMES, patches_in
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, is_variable

_TEXTS = (UsePlace.TEXT, UsePlace.SCRIPT)
_PATCHING = (UsePlace.PATCH, UsePlace.TARGET)
_NAME = "Give the target a name."
_ONE_NAME = re.compile(r"[\w.-]+")
_TAKEN = ("resources", "bases", "components")


def settle_linked(files: Sequence[Migrated], reach: Reach) -> tuple[Migrated, ...]:
    """Files of one repository, without the moves of what would lose its counterpart in a file of them."""
    return _Settling(files, reach).settled()


class Reach:
    """From which files the patches of a tree select; it is read when something is first asked.

    Those below the patch's folder, and what is taken up there from elsewhere.
    """

    def __init__(self, tree: Snapshot) -> None:
        self._tree = tree
        self._known: dict[tuple[str, int], frozenset[str] | None] = {}
        self._resources: dict[str, tuple[ApiUse, ...]] = {}

    @cached_property
    def _kustomizations(self) -> tuple[tuple[File, Object], ...]:
        return tuple(self._tree.kustomizations())

    def covers(self, patch: ApiUse, path: str) -> bool:
        """Whether a patch can be for a resource in a file; where that is unknown, it can."""
        key = (patch.path, patch.start)
        if key not in self._known:
            self._known[key] = self._roots(patch)
        roots = self._known[key]
        return roots is None or any(is_below(path, root) for root in roots)

    def resources(self, group: str) -> tuple[ApiUse, ...]:
        if group not in self._resources:
            found = files_using(self._tree, (group,))
            self._resources[group] = tuple(use for file in found for use in file.uses if use.place is UsePlace.RESOURCE)
        return self._resources[group]

    def _roots(self, patch: ApiUse) -> frozenset[str] | None:
        """Folders and files; None: not known."""
        is_inside = posixpath.basename(patch.path) in NAMES
        if patch.at and not is_inside:
            return self._of_flux(patch)
        known = [(posixpath.dirname(file.path), file.path, each) for file, each in self._kustomizations]
        users = [(folder, each) for folder, path, each in known if is_inside and path == patch.path]
        if not is_inside:
            users = [(folder, each) for folder, _, each in known if patch.path in patches_in(folder, each)]
        # What a component patches is whatever its users have.
        if not users or any(each.text_at("kind") == "Component" for _, each in users):
            return None
        return self._with_taken({folder for folder, _ in users})

    def _of_flux(self, patch: ApiUse) -> frozenset[str] | None:
        """Of a patch in a Flux Kustomization.

        https://fluxcd.io/flux/components/kustomize/kustomizations/#path
        """
        file = self._tree.at(patch.path)
        owners = [each for each in file.readable if encloses(each, patch.start)] if file is not None else []
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
                for file, each in self._kustomizations
                if any(is_below(file.path, root) for root in roots)
                for taken in _taken(file.path, each)
            } - roots
            if not more:
                return frozenset(roots)
            roots |= more


def _taken(path: str, each: Object) -> set[str]:
    """What a kustomization names outside of its folder."""
    folder = posixpath.dirname(path)
    taken = {joined_path(folder, each.text_at(*entry)) for key in _TAKEN for entry in each.entries(key)}
    return {place for place in taken if not is_below(place, folder)}


class _Settling:
    """Of all files at once: what stays takes with it what belongs to it, and so on."""

    def __init__(self, files: Sequence[Migrated], reach: Reach) -> None:
        self._files = files
        self._reach = reach
        self._moves = {move.use: move for file in files for move in file.moves}
        # Those that move: resources, which patches may be for, and patches.
        self._counterparts = {
            True: {use: None for use in self._moves if use.place is UsePlace.RESOURCE},
            False: {use: None for use in self._moves if use.place in _PATCHING},
        }
        self._taken: dict[ApiUse, Left] = {}

    def settled(self) -> tuple[Migrated, ...]:
        """The files again, those that stay as they were being the same."""
        lefts = [left for file in self._files for left in file.lefts if left.use.place not in _TEXTS]
        # Of what is left for another's sake, the other is reported.
        staying = [(left.use, left) for left in lefts]
        staying += [(move.use, self._take(move, detail, _NAME)) for move, detail in [*self._widened()]]
        while staying:
            staying = [*self._following(staying)]
        return tuple(map(self._without_taken, self._files))

    def _widened(self) -> Iterator[tuple[Move, str]]:
        """Targets that would select more than today, and why: their version alone keeps something apart."""
        for use, move in self._moves.items():
            if use.place is not UsePlace.TARGET or _ONE_NAME.fullmatch(use.name):
                continue
            for other in self._reach.resources(use.group):
                if other.version == use.version or not self._belong(use, other):
                    continue
                then = self._moves[other].to if other in self._moves else other.version
                if then == move.to:
                    detail = (
                        f"Only its version separates it from {_who(other)} ({_where(other)}), "
                        f"which is or becomes {then} as well."
                    )
                    yield move, detail
                    break

    def _following(self, staying: Sequence[tuple[ApiUse, Left]]) -> Iterator[tuple[ApiUse, Left]]:
        """What belongs to what stays, with the reason at the beginning of it all."""
        for other, root in staying:
            is_patch = other.place in _PATCHING
            for use in [*self._counterparts[is_patch]]:
                pair = (other, use) if is_patch else (use, other)
                if use.version == other.version and self._belong(*pair):
                    stays = f"{_who(root.use)} stays at {root.use.version} ({_where(root.use)})"
                    why = "kustomize would no longer match the two"
                    detail = f"{stays}, and {why}. There: {root.detail}"
                    self._take(self._moves[use], detail, "Change that yourself first, or change both together.")
                    yield use, root

    def _take(self, move: Move, detail: str, hint: str) -> Left:
        left = Left(move.use, Reason.NEEDS_HAND, detail, hint, is_broken_already=not move.was_served)
        self._taken[left.use] = left
        del self._moves[left.use]
        for each in self._counterparts.values():
            each.pop(left.use, None)
        return left

    def _without_taken(self, file: Migrated) -> Migrated:
        taken = [self._taken[move.use] for move in file.moves if move.use in self._taken]
        if not taken:
            return file
        return file._replace(
            moves=tuple(move for move in file.moves if move.use not in self._taken),
            lefts=tuple(sorted([*file.lefts, *taken], key=lambda left: left.use.start)),
        )

    def _belong(self, patch: ApiUse, resource: ApiUse) -> bool:
        """Whether one may be a patch of the other, as far as anything but their versions shows."""
        return (
            patch.place in _PATCHING
            and resource.place is UsePlace.RESOURCE
            and patch.group == resource.group
            and _names(patch, patch.kind, resource.kind)
            and _names(patch, patch.name, resource.name)
            and _names(patch, patch.namespace, resource.namespace)
            and self._reach.covers(patch, resource.path)
        )


def _names(patch: ApiUse, said: str, name: str) -> bool:
    """A target is a regular expression, and may leave out what it does not mind."""
    if not said or not name or said == name:
        return True
    try:
        return patch.place is UsePlace.TARGET and is_whole(said, name)
    except BadPattern:
        return True


def _who(use: ApiUse) -> str:
    return "/".join(filter(None, (use.kind, use.name))) or use.group


def _where(use: ApiUse) -> str:
    return f"{use.path}:{use.line}"
