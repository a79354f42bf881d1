"""A file's uses of versions that a release does not serve: moved, or left with the reason."""

from __future__ import annotations

from flux_upgrade.migration.apis import Apis
from flux_upgrade.migration.fields import fields_of
from flux_upgrade.migration.proof import proved
from flux_upgrade.migration.values import Left, Migrated, Move, Reason
from flux_upgrade.resources.flux_file import FluxFile
from flux_upgrade.resources.use import Place, Use
from flux_upgrade.textedit import Replacement

_AS_TEXT = "It is part of a text: nothing applies it from here."
_IN_TEMPLATE = "It stands in a template: what that becomes is not known from here."
_BY_HAND = "Change it by hand, or where it is made."


def migrate(file: FluxFile, apis: Apis) -> Migrated | None:
    """What becomes of a file's uses; None: it has none that the target does not serve."""
    removed = [use for use in file.uses if apis.is_removed(use)]
    if not removed:
        return None
    found = [_moved(file, use, apis) for use in removed]
    moves = proved(file, [each for each in found if isinstance(each, Move)], apis)
    kept = {move.use for move in moves}
    lefts = [each for each in found if isinstance(each, Left)]
    lefts += [_unproved(each) for each in found if isinstance(each, Move) and each.use not in kept]
    return Migrated(
        file.path, file.content, tuple(moves), tuple(sorted(lefts, key=lambda left: left.use.start))
    )


def _moved(file: FluxFile, use: Use, apis: Apis) -> Move | Left:
    if use.place is Place.TEXT:
        return Left(use, Reason.TEXT, _AS_TEXT)
    if use.place is Place.TEMPLATE:
        return Left(use, Reason.TEMPLATE, _sentence(use.why) or _IN_TEMPLATE, _BY_HAND)
    if use.why:
        return Left(use, Reason.SPELLING, _sentence(use.why), _BY_HAND)
    goal = apis.goal(use)
    if isinstance(goal, Left):
        return goal
    fields = fields_of(file, use, goal, apis)
    if isinstance(fields, Left):
        return fields
    version = Replacement(use.start, use.end, use.version, goal)
    return Move(use, goal, (version, *fields.edits), fields.told)


def _unproved(move: Move) -> Left:
    detail = "It cannot be changed by itself: with the rest of the file that would be no valid manifest."
    return Left(move.use, Reason.NEEDS_HAND, detail, _BY_HAND)


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}." if clause else ""
