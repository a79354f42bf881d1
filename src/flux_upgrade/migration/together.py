"""Resources and what patches them go to another version together, or not at all.

kustomize finds what a patch is for by its version as well (tried with 5.5): a strategic merge
patch of another version ends the build, a target of another version selects nothing, in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from flux_upgrade.migration.values import Left, Migrated, Move, Reason
from flux_upgrade.resources.use import Place, Use

_PATCHING = (Place.PATCH, Place.TARGET)
_HINT = "Change that by hand first, or both together."


def together(files: Sequence[Migrated]) -> tuple[Migrated, ...]:
    """Files of one repository, without the moves of what would lose its counterpart in a file of them."""
    while True:
        staying = [left.use for file in files for left in file.lefts if left.use.place is not Place.TEXT]
        settled = tuple(_settled(file, staying) for file in files)
        if settled == tuple(files):
            return settled
        files = settled


def _settled(file: Migrated, staying: Iterable[Use]) -> Migrated:
    taken = {move: left for move in file.moves if (left := _left(move, staying)) is not None}
    if not taken:
        return file
    lefts = sorted([*file.lefts, *taken.values()], key=lambda left: left.use.start)
    return file._replace(moves=tuple(move for move in file.moves if move not in taken), lefts=tuple(lefts))


def _left(move: Move, staying: Iterable[Use]) -> Left | None:
    other = next((each for each in staying if _belong(move.use, each) or _belong(each, move.use)), None)
    if other is None:
        return None
    what = "/".join(filter(None, (other.kind, other.name)))
    where = f"{other.path}:{other.line}"
    detail = f"{what} stays at {other.version} ({where}): kustomize would find neither by the other."
    return Left(move.use, Reason.NEEDS_HAND, detail, _HINT)


def _belong(patch: Use, resource: Use) -> bool:
    """Whether one may be a patch of the other: names are told apart, folders are not."""
    return (
        patch.place in _PATCHING
        and resource.place is Place.RESOURCE
        and (patch.group, patch.version) == (resource.group, resource.version)
        and _names(patch, patch.kind, resource.kind)
        and _names(patch, patch.name, resource.name)
    )


def _names(patch: Use, said: str, name: str) -> bool:
    """A target is a regular expression, and may leave out what it does not mind."""
    if not said or not name or said == name:
        return True
    try:
        return patch.place is Place.TARGET and re.fullmatch(said, name) is not None
    except re.error:
        return True
