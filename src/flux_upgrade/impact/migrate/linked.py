"""Resources and what patches them go to another version together, or not at all.

kustomize finds what a patch is for by its version as well (tried with 5.5): a strategic merge
patch of another version ends the build, a target of another version selects nothing, in silence.
Where two versions become one, a target selects what was of either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.migrate.reach import Reach
from flux_upgrade.impact.migrate.result import Left, Migrated, Move, Reason
from flux_upgrade.model.files import Tree

_PATCHING = (UsePlace.PATCH, UsePlace.TARGET)
_HINT = "Change that by hand first, or both together."
_NAME = "Give the target a name."
_ONE_NAME = re.compile(r"[\w.-]+")


def settle_linked(files: Sequence[Migrated], tree: Tree) -> tuple[Migrated, ...]:
    """Files of one repository, without the moves of what would lose its counterpart in a file of them."""
    return _Settling(files, Reach(tree)).settled()


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
        lefts = [left for file in self._files for left in file.lefts if left.use.place is not UsePlace.TEXT]
        # Of what is left for another's sake, the other is reported.
        staying = [(left.use, left) for left in lefts]
        for left in [*self._widened()]:
            self._take(left)
            staying.append((left.use, left))
        while staying:
            staying = [*self._following(staying)]
        return tuple(self._without_taken(file) for file in self._files)

    def _widened(self) -> Iterator[Left]:
        """Targets that would select more than today, since nothing but their version keeps it apart."""
        for use, move in self._moves.items():
            if use.place is not UsePlace.TARGET or _ONE_NAME.fullmatch(use.name):
                continue
            for other in self._reach.resources(use.group):
                if other.version == use.version or not self._belong(use, other):
                    continue
                then = self._moves[other].to if other in self._moves else other.version
                if then == move.to:
                    detail = (
                        f"Its version alone keeps it from {_who(other)} ({_where(other)}), "
                        f"which is or becomes {then} as well."
                    )
                    yield self._left(move, detail, _NAME)
                    break

    def _following(self, staying: Sequence[tuple[ApiUse, Left]]) -> Iterator[tuple[ApiUse, Left]]:
        """What belongs to what stays, with the reason at the beginning of it all."""
        for other, root in staying:
            is_patch = other.place in _PATCHING
            for use in [*self._counterparts[is_patch]]:
                pair = (other, use) if is_patch else (use, other)
                if use.version == other.version and self._belong(*pair):
                    stays = f"{_who(root.use)} stays at {root.use.version} ({_where(root.use)})"
                    why = "kustomize would not find the one by the other any more"
                    detail = f"{stays}, and {why}. There: {root.detail}"
                    self._take(self._left(self._moves[use], detail, _HINT))
                    yield use, root

    def _left(self, move: Move, detail: str, hint: str) -> Left:
        return Left(move.use, Reason.NEEDS_HAND, detail, hint, is_broken_already=not move.was_served)

    def _take(self, left: Left) -> None:
        self._taken[left.use] = left
        del self._moves[left.use]
        for each in self._counterparts.values():
            each.pop(left.use, None)

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
        return patch.place is UsePlace.TARGET and re.fullmatch(said, name) is not None
    except re.error:
        return True


def _who(use: ApiUse) -> str:
    return "/".join(filter(None, (use.kind, use.name))) or use.group


def _where(use: ApiUse) -> str:
    return f"{use.path}:{use.line}"
