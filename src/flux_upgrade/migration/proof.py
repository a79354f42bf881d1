"""The moves of a file, made and read again: what they come to is what was meant, and nothing else changed."""

from __future__ import annotations

from flux_upgrade.errors import Unreadable
from flux_upgrade.migration.apis import Apis
from flux_upgrade.migration.fields import faults_of
from flux_upgrade.migration.values import Move
from flux_upgrade.resources.flux_file import FluxFile, FluxObject
from flux_upgrade.resources.scan import find
from flux_upgrade.textedit import edited


def proved(file: FluxFile, moves: list[Move], apis: Apis) -> list[Move]:
    """Those that can be made together. A version alone is changed within a line, and needs no proof."""
    kept = [move for move in moves if not move.fields or _holds(file, [move], apis)]
    while any(move.fields for move in kept) and not _holds(file, kept, apis):
        # One resource stands in another, and both would be changed: both are left, so that the next
        # run finds what this one found.
        outer = next(move for move in kept if move.fields)
        each = file.object_of(outer.use)
        kept = [move for move in kept if move is not outer and not _is_in(move, each)]
    return kept


def _is_in(move: Move, each: FluxObject | None) -> bool:
    if each is None:
        return False
    start, end = (each.document.offset(mark.index) for mark in (each.node.start_mark, each.node.end_mark))
    return start <= move.use.start < end


def _holds(file: FluxFile, moves: list[Move], apis: Apis) -> bool:
    try:
        content = edited(file.content, (edit for move in moves for edit in move.edits))
        after = find(file.path, content, {use.group for use in file.uses})
        return (
            after is not None
            and len(after.objects) == len(file.objects)
            and all(
                _is_meant(old, new, moves, apis) for old, new in zip(file.objects, after.objects, strict=True)
            )
        )
    except (Unreadable, ValueError):
        return False


def _is_meant(old: FluxObject, new: FluxObject, moves: list[Move], apis: Apis) -> bool:
    """Whether it is the same object, in the version that it was to have, and valid if it was."""
    move = next((each for each in moves if each.use.start == old.start), None)
    version = old.version if move is None else move.to
    if (old.group, old.kind, old.name, old.namespace, version) != (
        new.group,
        new.kind,
        new.name,
        new.namespace,
        new.version,
    ):
        return False
    if move is None or not move.fields:
        return True
    before = faults_of(move.use, old.data(), apis.known(move.use) or {})
    after = faults_of(move.use, new.data(), apis.wanted(move.use, move.to))
    return {each.identity for each in after} <= {each.identity for each in before}
