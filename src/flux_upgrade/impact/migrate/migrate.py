"""A file's uses of versions that a release does not serve: moved, or left with the reason."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter

from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile, FluxObject, UsePlace, encloses
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.fields import faults_of, fields_of
from flux_upgrade.impact.migrate.result import HARMLESS, NO_METRICS, Left, Migrated, Move, Reason
from flux_upgrade.manifests.nodes import MappingNode
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import TextEdit, capitalized, edited
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.yaml_places import Object, documents_of

_METADATA = "sops"
_MADE = "The file is a template, and its rendered output is unknown."
_HELM = re.compile(
    rb"\{\{(?:(?!\{\{)[^}\n])*(?:\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|\b(?:include|template) )"
)
"""https://helm.sh/docs/chart_template_guide/builtin_objects/"""
_TEMPLATES = "templates"  # The folder of a chart: https://helm.sh/docs/topics/charts/#the-chart-file-structure
_BY_SOPS = "The file is encrypted by SOPS, whose MAC covers this value."
_MEND = "Fix the file: it cannot be applied as it is."
_BY_HAND = "Edit it yourself, or change what generates it."
_INVALID = "A change to only this part would make the file invalid."
_MOST_TRIES = 50  # Each reads the whole file
_identity = attrgetter("group", "kind", "name", "namespace")


def migrate(file: FluxFile, apis: Apis) -> Migrated | None:
    """What becomes of a file's uses; None: it has none that the target does not serve."""
    removed = [use for use in file.uses if apis.is_removed(use)]
    if not removed:
        return None
    sealed = seals(file.content)
    found = [_unless_sealed(_moved(file, use, apis), sealed) for use in removed]
    possible = [each for each in found if isinstance(each, Move)]
    moves = verified_moves(file, possible, apis)
    kept = {move.use for move in moves}
    lefts = [each for each in found if isinstance(each, Left)]
    lefts += (Left(each.use, Reason.NEEDS_HAND, _INVALID, _BY_HAND) for each in possible if each.use not in kept)
    lefts = [_of_metric(left, apis) if left.use.place is UsePlace.METRIC else left for left in lefts]
    lefts.sort(key=lambda left: left.use.start)
    return Migrated(
        file.path,
        file.content,
        tuple(_known_today(each, file, apis) for each in moves),
        tuple(_as_of_today(each, apis) for each in lefts),
    )


_TEXTS: dict[UsePlace, tuple[Reason, str, str]] = {
    UsePlace.TEXT: (Reason.TEXT, "It is part of a text that is not applied from here.", ""),
    UsePlace.SCRIPT: (Reason.UNCHECKED, "A script or a program may apply it.", "Change it there if it is applied."),
}


def _moved(file: FluxFile, use: ApiUse, apis: Apis) -> Move | Left:
    if use.place in _TEXTS:
        return Left(use, *_TEXTS[use.place])
    if use.place is UsePlace.TEMPLATE:
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
    version = TextEdit(use.start, use.end, use.version, goal)
    return Move(use, goal, (version, *fields.edits), fields.sentences, kept_by=apis.kept_by(use, goal))


def _of_metric(left: Left, apis: Apis) -> Left:
    """Return a metric that cannot be migrated, as a reason to act and not to wait."""
    served = apis.newest(left.use)
    hint = f"Change it to {served} right after the upgrade." if served else "Remove it."
    return left._replace(reason=Reason.METRIC, detail=f"{NO_METRICS} {left.detail}", hint=hint)


def _sentence(clause: str) -> str:
    return f"{capitalized(clause)}." if clause else ""


def _known_today(move: Move, file: FluxFile, apis: Apis) -> Move:
    """With what the clusters make of it."""
    if apis.not_serving(move.use):
        return move._replace(was_served=False)
    resource = file.object_of(move.use) if move.use.place is UsePlace.RESOURCE else None
    if resource is None:
        return move
    with suppress(Unreadable):  # what is no plain YAML is not applied as it stands
        return move._replace(undeclared=apis.undeclared(move.use, move.to, resource.data()))
    return move


def _as_of_today(left: Left, apis: Apis) -> Left:
    """With what the clusters make of it: what they do not serve either, the upgrade does not break."""
    tags = apis.not_serving(left.use)
    if left.reason in HARMLESS or not tags:
        return left
    do = "does" if len(tags) == 1 else "do"
    detail = f"{left.detail} {' and '.join(tags)} {do} not serve it either."
    return left._replace(detail=detail, is_broken_already=True)


class Seal(NamedTuple):
    """The SOPS MAC of a document."""

    begin: int  # offset in the file
    end: int
    is_of_secrets_alone: bool  # whether what is not encrypted may be changed: `mac_only_encrypted`


def seals(content: bytes) -> tuple[Seal, ...]:
    """The seals of a file; nearly every file has none."""
    if _METADATA.encode() not in content:
        return ()
    found = []
    for document in documents_of(content):
        try:
            root = document.root
        except Unreadable:  # none of its uses is moved
            continue
        each = Object(document, root) if isinstance(root, MappingNode) else None
        if each is not None and each.has(_METADATA, "mac"):
            alone = each.text_at(_METADATA, "mac_only_encrypted").lower() == "true"
            found.append(Seal(document.offset(0), document.offset(len(document.text)), alone))
    return tuple(found)


def _unless_sealed(found: Move | Left, sealed: Sequence[Seal]) -> Move | Left:
    """What is encrypted stays, where a change would be taken for a forgery."""
    if isinstance(found, Left):
        return found
    seal = next((each for each in sealed if each.begin <= found.use.start < each.end), None)
    # The path of an encrypted value is sealed with it, so that no field is moved or taken out either.
    if seal is None or (seal.is_of_secrets_alone and len(found.edits) == 1):
        return found
    return Left(found.use, Reason.NEEDS_HAND, _BY_SOPS, "Use `sops edit`.")


def in_template(file: FluxFile, use: ApiUse) -> Left:
    """What to do about it, in words of its own: those of a parser would lead astray."""
    if b"{{" not in file.content:
        return Left(use, Reason.TEMPLATE, _sentence(use.why) or _MADE, _BY_HAND)
    outside = f"exclude it with {_scan(use.path)}."
    if _is_helm(file.content):
        return Left(use, Reason.TEMPLATE, "It is a Helm template.", f"Change the version in the chart, or {outside}")
    return Left(use, Reason.TEMPLATE, _MADE, f"Change the version there, or {outside}")


_is_helm = lru_cache(maxsize=8)(_HELM.search)  # Each use in a file asks it


def _scan(path: str) -> str:
    """The key of the config file that leaves out the chart, or else the folder, or the file at the root."""
    *folders, _ = path.split("/")
    if _TEMPLATES in folders:
        index = len(folders) - 1 - folders[::-1].index(_TEMPLATES)
        folders = folders[:index] or folders[: index + 1]
    pattern = posixpath.join(*folders, "**") if folders else path
    return "`include: ['**', '!{}']`".format(pattern.replace("'", "''"))


def verified_moves(file: FluxFile, moves: list[Move], apis: Apis) -> list[Move]:
    """Those that can be made together. A version alone changes within a line: it needs no verification."""
    if not any(move.fields for move in moves):
        return moves
    # With the documents that nobody asked for, too.
    file = find(file.path, file.content, {use.group for use in file.uses}) or file
    if _holds(file, moves, apis):
        return moves
    is_tried = sum(bool(move.fields) for move in moves) <= _MOST_TRIES
    kept = [move for move in moves if not move.fields or (is_tried and _holds(file, [move], apis))]
    while any(move.fields for move in kept) and not _holds(file, kept, apis):
        # One resource stands in another, and both would be changed: both are left, so that the next
        # run finds what this one found.
        outer = next(move for move in kept if move.fields)
        each = file.object_of(outer.use)
        kept = [move for move in kept if move is not outer and not (each and encloses(each, move.use.start))]
    return kept


def _holds(file: FluxFile, moves: list[Move], apis: Apis) -> bool:
    try:
        content = edited(file.content, (edit for move in moves for edit in move.edits))
        after = find(file.path, content, {use.group for use in file.uses})
        asked = {move.use.start: move for move in moves}
        return (
            after is not None
            and len(after.objects) == len(file.objects)
            and all(
                _is_meant(old, new, asked.get(old.start), apis)
                for old, new in zip(file.objects, after.objects, strict=True)
            )
        )
    except (Unreadable, ValueError):
        return False


def _is_meant(old: FluxObject, new: FluxObject, move: Move | None, apis: Apis) -> bool:
    """Whether it is the same object, in the version that it was to have, and valid if it was."""
    version = old.version if move is None else move.to
    if _identity(old) != _identity(new) or new.version != version:
        return False
    if move is None or not move.fields:
        return True
    before = faults_of(move.use, old.data(), apis.known(move.use) or {})
    after = faults_of(move.use, new.data(), apis.wanted(move.use, move.to))
    return {each.identity for each in after} <= {each.identity for each in before}
