"""Any object → its changes by path, each as a phrase."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flux_upgrade.impact.diff.changes import Change, Changes, quoted
from flux_upgrade.impact.diff.walk import Noise, edits, is_order
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Edit, Op
from flux_upgrade.policy.decision import Content

_DONE = {Op.ADD: "added", Op.REMOVE: "removed"}


def changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one object that no policy can name. Raises Unreadable."""
    if before is None or after is None:
        return Changes(others=(whole(key, before),))
    return by_path(key, *edits(before, after))


def secrets(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of a Secret: where something changed, and never what. Raises Unreadable."""
    found = changes(key, before, after)
    hidden = (each._replace(told=_where(each), old=None, new=None) for each in found.others)
    return found._replace(others=tuple(hidden))


def _where(change: Change) -> str:
    return f"{quoted(change.path)} changed" if change.path else change.told


def whole(key: ObjectKey, before: Document | None, content: Content | None = None) -> Change:
    """An object that is new, or gone."""
    return Change(content, str(key), "", _DONE[Op.ADD if before is None else Op.REMOVE])


def said_by_path(edit: Edit) -> str:
    """A phrase for what has no meaning that we know."""
    match edit.path:
        case ("metadata", "labels" | "annotations" as what, name):
            return said(edit, f"{what.removesuffix('s')} {quoted(name)}", is_enough=True)
    return said(edit, quoted(place(edit)))


def place(edit: Edit, below: int = 0) -> str:
    """The path without its first ``below`` segments; for an item without a name that of its list."""
    path = edit.path[below:]
    if len(path) > 1 and _is_unnamed(edit):
        path = path[:-1]
    return Edit(edit.object, path, edit.op).where


def _is_unnamed(edit: Edit) -> bool:
    """Whether this is an item of a list that has no other name than what it holds."""
    value = edit.old if edit.new is None else edit.new
    return edit.path[-1].startswith(("[{", "[[")) or edit.path[-1] == f"[{value}]"


def said(edit: Edit, name: str, *, is_enough: bool = False) -> str:
    """What became of what has a name. ``is_enough``: of what was added or removed the name says it all."""
    if is_order(edit):
        return f"{name} in another order"
    if edit.op is Op.REPLACE:
        return f"{name}: {quoted(edit.old)} → {quoted(edit.new)}"
    value = edit.new if edit.op is Op.ADD else edit.old
    is_shown = _is_unnamed(edit) or not isinstance(value, dict | list)
    return (
        f"{name}: {quoted(value)} {_DONE[edit.op]}"
        if is_shown and not is_enough
        else f"{name} {_DONE[edit.op]}"
    )


def by_path(
    key: ObjectKey,
    found: Iterable[Edit],
    noise: Noise,
    content: Callable[[Edit], Content | None] = lambda _: None,
    phrase: Callable[[Edit], str] = said_by_path,
) -> Changes:
    """Edits of one object, each a change."""
    return Changes(
        others=tuple(
            Change(content(each), str(key), each.where, phrase(each), each.old, each.new) for each in found
        ),
        noise=tuple(noise.items()),
    )
