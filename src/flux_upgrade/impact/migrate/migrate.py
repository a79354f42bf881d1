"""A file's uses of versions that a release does not serve: moved, or left with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.migration.apis import Apis
from flux_upgrade.migration.fields import fields_of
from flux_upgrade.migration.proof import proved
from flux_upgrade.migration.sops import Seal, seals
from flux_upgrade.migration.template import in_template
from flux_upgrade.migration.values import HARMLESS, Left, Migrated, Move, Reason
from flux_upgrade.resources.flux_file import FluxFile
from flux_upgrade.resources.use import Place, Use
from flux_upgrade.textedit import Replacement

_AS_TEXT = "It is part of a text: nothing applies it from here."
_BY_SOPS = "The file is encrypted by SOPS, whose MAC covers this value."
_EDIT = "Use `sops edit`."
_MEND = "Mend the file: nothing can apply it as it is."
_BY_HAND = "Change it by hand, or where it is made."


def migrate(file: FluxFile, apis: Apis) -> Migrated | None:
    """What becomes of a file's uses; None: it has none that the target does not serve."""
    removed = [use for use in file.uses if apis.is_removed(use)]
    if not removed:
        return None
    sealed = seals(file.content)
    found = [_unless_sealed(_moved(file, use, apis), sealed) for use in removed]
    moves = proved(file, [each for each in found if isinstance(each, Move)], apis)
    kept = {move.use for move in moves}
    lefts = [each for each in found if isinstance(each, Left)]
    lefts += [_unproved(each) for each in found if isinstance(each, Move) and each.use not in kept]
    lefts.sort(key=lambda left: left.use.start)
    return Migrated(
        file.path,
        file.content,
        tuple(each._replace(was_served=not apis.not_serving(each.use)) for each in moves),
        tuple(_as_of_today(each, apis) for each in lefts),
    )


def _as_of_today(left: Left, apis: Apis) -> Left:
    """With what the clusters make of it: what they do not serve either, the upgrade does not break."""
    tags = apis.not_serving(left.use)
    if left.reason in HARMLESS or not tags:
        return left
    do = "does" if len(tags) == 1 else "do"
    told = f"{left.detail} {' and '.join(tags)} {do} not serve it either."
    return left._replace(detail=told, is_broken_already=True)


def _unless_sealed(found: Move | Left, sealed: Sequence[Seal]) -> Move | Left:
    """What is encrypted stays, where a change would be taken for a forgery."""
    if isinstance(found, Left):
        return found
    seal = next((each for each in sealed if each.begin <= found.use.start < each.end), None)
    # The path of an encrypted value is sealed with it, so that no field is moved or taken out either.
    if seal is None or (seal.is_of_secrets_alone and len(found.edits) == 1):
        return found
    return Left(found.use, Reason.NEEDS_HAND, _BY_SOPS, _EDIT)


def _moved(file: FluxFile, use: Use, apis: Apis) -> Move | Left:
    if use.place is Place.TEXT:
        return Left(use, Reason.TEXT, _AS_TEXT)
    if use.place is Place.TEMPLATE:
        is_odd = use.is_unreadable
        return Left(use, Reason.UNREADABLE, _sentence(use.why), _MEND) if is_odd else in_template(file, use)
    if use.why:
        return Left(use, Reason.SPELLING, _sentence(use.why), _BY_HAND)
    goal = apis.goal(use)
    if isinstance(goal, Left):
        return goal
    fields = fields_of(file, use, goal, apis)
    if isinstance(fields, Left):
        return fields
    version = Replacement(use.start, use.end, use.version, goal)
    return Move(use, goal, (version, *fields.edits), fields.told, kept_by=apis.kept_by(use, goal))


def _unproved(move: Move) -> Left:
    detail = "It cannot be changed by itself: with the rest of the file that would be no valid manifest."
    return Left(move.use, Reason.NEEDS_HAND, detail, _BY_HAND)


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}." if clause else ""
