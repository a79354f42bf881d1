"""Two versions of any object → its changes by path, each as a phrase; with Secrets and Namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from flux_upgrade.impact.diff.changes import Changes, ObjectChange, quoted
from flux_upgrade.impact.diff.walk import LAYOUT, Noise, OtherShape, edits, is_order
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Edit, Op
from flux_upgrade.policy.decision import ChangeKind

_LABELS = ("metadata", "labels")
_DONE = {Op.ADD: "added", Op.REMOVE: "removed"}


def object_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one object that no policy can name. Raises Unreadable."""
    if before is None or after is None:
        return Changes(others=(added_or_removed(key, before),))
    return by_path(key, *edits(before, after))


def secret_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of a Secret: where something changed, and never what. Raises Unreadable."""
    found = object_changes(key, before, after)
    hidden = (each._replace(phrase=_where(each), old=None, new=None) for each in found.others)
    return found._replace(others=tuple(hidden))


def _where(change: ObjectChange) -> str:
    return f"{quoted(change.path)} changed" if change.path else change.phrase


def namespace_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of a Namespace; Pod Security goes by its labels. Raises Unreadable."""
    if before is None or after is None:
        return Changes(others=(added_or_removed(key, before, ChangeKind.NAMESPACE),))
    return by_path(key, *edits(before, after), _namespace_content, _namespace_phrase)


def _namespace_content(edit: Edit) -> ChangeKind | None:
    return ChangeKind.NAMESPACE if edit.path[:2] == _LABELS else None


def _namespace_phrase(edit: Edit) -> str:
    is_label = edit.path[:2] == _LABELS and len(edit.path) > len(_LABELS)
    return phrase_of(edit, f"label {quoted(edit.path[-1])}") if is_label else path_phrase(edit)


def added_or_removed(
    key: ObjectKey, before: Document | None, content: ChangeKind | None = None
) -> ObjectChange:
    """An object that is new, or gone."""
    return ObjectChange(content, str(key), "", _DONE[Op.ADD if before is None else Op.REMOVE])


def path_phrase(edit: Edit) -> str:
    """A phrase for an edit that has no known meaning."""
    match edit.path:
        case ("metadata", "labels" | "annotations" as what, name):
            return phrase_of(edit, f"{what.removesuffix('s')} {quoted(name)}", is_enough=True)
    return phrase_of(edit, quoted(shown_path(edit)))


def shown_path(edit: Edit, below: int = 0) -> str:
    """The path without its first ``below`` segments; for an item without a name that of its list."""
    path = edit.path[below:]
    if len(path) > 1 and _is_unnamed(edit):
        path = path[:-1]
    return Edit(edit.object, path, edit.op).where


def _is_unnamed(edit: Edit) -> bool:
    """Whether this is an item of a list that has no other name than what it holds."""
    value = edit.old if edit.new is None else edit.new
    return edit.path[-1].startswith(("[{", "[[")) or edit.path[-1] == f"[{value}]"


def phrase_of(edit: Edit, name: str, *, is_enough: bool = False) -> str:
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


def by_meaning(
    sides: tuple[ObjectKey, Document | None, Document | None],
    kind: ChangeKind,
    is_compared: Callable[[Edit], bool],
    compared: Callable[[], Changes],
) -> Changes:
    """Changes by what the fields mean, and by path the rest; all by path if they have another shape.

    ``is_compared``: whether ``compared``, which raises OtherShape, speaks of an edit. Raises Unreadable.
    """
    key, before, after = sides
    found, noise = edits(before, after) if before and after else ([], Counter[str]())
    try:
        meant = compared()
    except OtherShape:
        if before is None or after is None:
            return Changes(others=(added_or_removed(key, before, kind),))
        return by_path(key, found, noise, lambda edit: kind if is_compared(edit) else None)
    rest = [each for each in found if not is_compared(each)]
    # What was split, merged, spelled out or said twice comes to the same.
    noise[LAYOUT] += meant == Changes() and len(rest) < len(found)
    others = by_path(key, rest, +noise)
    return others._replace(rules=meant.rules, others=meant.others + others.others)


def by_path(
    key: ObjectKey,
    found: Iterable[Edit],
    noise: Noise,
    content: Callable[[Edit], ChangeKind | None] = lambda _: None,
    phrase: Callable[[Edit], str] = path_phrase,
) -> Changes:
    """Edits of one object, each a change."""
    return Changes(
        others=tuple(
            ObjectChange(content(each), str(key), each.where, phrase(each), each.old, each.new)
            for each in found
        ),
        noise=tuple(noise.items()),
    )
