"""Two versions of any object → its changes by path, or by what its fields mean, each as a phrase.

``residue`` finds what must be carried: by leaves, an image by its parts, a list in another
order as one value. Here whatever was added as a whole is one thing, another order is one thing
beside what else changed, and labels that merely state a version are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from flux_upgrade.impact.diff.changes import Changes, ObjectChange, quoted
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.nodes import MappingNode, Node, SequenceNode, construct, same
from flux_upgrade.manifests.residue import Edit, Op, Path, children, is_version_label, labelled, reordered, spelled
from flux_upgrade.policy.decision import ChangeKind

LABELS, LAYOUT = "version labels", "order and layout"
_GENERATOR, _FILLED_IN = "controller-gen annotations", "fields that the API server fills in"
# Kubernetes merges these by key and looks at no order. `args` are flags wherever they have labels.
_ANY_ORDER = frozenset({"args", "containers", "imagePullSecrets", "ports", "volumeMounts", "volumes"})
_DONE = {Op.ADD: "added", Op.REMOVE: "removed"}

Noise = Counter[str]  # What is counted, and how often there is some
LeftOut = tuple[Path, frozenset[str]]  # The path of a list, and the fields of its items that are not compared
Meaning = tuple[ChangeKind | None, str]  # The kind of a change, None where no policy can name it, and its phrase


def edits(before: Document, after: Document, left_out: LeftOut = ((), frozenset())) -> tuple[list[Edit], Noise]:
    """What differs, and what of that says nothing. Raises Unreadable."""
    found: list[Edit] = []
    noise: Noise = Counter()
    for edit, node in _walk(after.key, (), before.node, after.node, left_out):
        kind = _noise(edit, node)
        if kind:
            noise[kind] += 1
        else:
            found.append(edit)
    return found, noise


def _noise(edit: Edit, node: Node) -> str:
    if edit.path[-2:-1] == ("labels",) and is_version_label(edit.path, node):
        return LABELS
    if edit.path[-2:] == ("annotations", "controller-gen.kubebuilder.io/version"):
        return _GENERATOR
    # Old generators wrote both; nothing reads them from a manifest.
    if edit.path[0] == "status" or edit.path == ("metadata", "creationTimestamp"):
        return _FILLED_IN
    if not _is_order(edit) or edit.path[-1] not in _ANY_ORDER:
        return ""
    have_keys = all(isinstance(item, dict) or str(item).startswith("-") for item in edit.new)
    return LAYOUT if have_keys else ""


def _is_order(edit: Edit) -> bool:
    """Whether the items of a list stand in another order, whatever else became of them."""
    return edit.op is Op.REPLACE and isinstance(edit.old, list) and isinstance(edit.new, list)


def _walk(
    key: ObjectKey, path: Path, before: Node | None, after: Node | None, left_out: LeftOut
) -> Iterator[tuple[Edit, Node]]:
    """Each edit with the node that is there now, or was there before."""
    items, fields = left_out
    if path[-1:] and path[-1] in fields and path[:-2] == items:
        return
    if before is None or after is None:
        if after is not None:
            yield Edit(key, path, Op.ADD, None, construct(after)), after
        elif before is not None:
            yield Edit(key, path, Op.REMOVE, construct(before), None), before
        return
    ours: dict[str, Node] = {}
    theirs: dict[str, Node] = {}
    is_other_order = False
    match before, after:
        case MappingNode(), MappingNode():
            ours, theirs = children(before), children(after)
        case SequenceNode(), SequenceNode():
            ours, theirs = labelled(before, after)
            is_other_order = reordered(ours, theirs)
    for name in dict.fromkeys([*ours, *theirs]):
        yield from _walk(key, (*path, name), ours.get(name), theirs.get(name), left_out)
    if is_other_order or (not ours and not theirs and not same(before, after)):
        yield Edit(key, path, Op.REPLACE, construct(before), construct(after)), after


def object_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one object that no policy can name. Raises Unreadable."""
    if before is None or after is None:
        return added_or_removed(key, before)
    return by_path(key, *edits(before, after))


def added_or_removed(key: ObjectKey, before: Document | None, content: ChangeKind | None = None) -> Changes:
    state = "added" if before is None else "removed"
    return Changes(others=(ObjectChange(content, str(key), "", state),))


def by_path(
    key: ObjectKey, found: Iterable[Edit], noise: Noise, meaning: Callable[[Edit], Meaning] | None = None
) -> Changes:
    """Edits of one object, each a change."""
    others = []
    for each in found:
        content, phrase = meaning(each) if meaning is not None else (None, path_phrase(each))
        others.append(ObjectChange(content, str(key), each.where, phrase, each.old, each.new))
    return Changes(others=tuple(others), noise=tuple(noise.items()))


def path_phrase(edit: Edit) -> str:
    match edit.path:
        case ("metadata", "labels" | "annotations" as what, name):
            return phrase_of(edit, f"{what.removesuffix('s')} {quoted(name)}", is_enough=True)
    return phrase_of(edit, shown_path(edit))


def shown_path(edit: Edit, below: int = 0) -> str:
    """The path without its first ``below`` segments, quoted; for an item without a name that of its list."""
    path = edit.path[below:]
    if len(path) > 1 and _is_unnamed(edit):
        path = path[:-1]
    return quoted(spelled(path))


def _is_unnamed(edit: Edit) -> bool:
    """Whether this is an item of a list that has no other name than what it holds."""
    value = edit.old if edit.new is None else edit.new
    return edit.path[-1].startswith(("[{", "[[")) or edit.path[-1] == f"[{value}]"


def phrase_of(edit: Edit, name: str, *, is_enough: bool = False) -> str:
    """What became of what has a name. ``is_enough``: of what was added or removed the name says it all."""
    if _is_order(edit):
        return f"{name} in another order"
    if edit.op is Op.REPLACE:
        return f"{name}: {quoted(edit.old)} → {quoted(edit.new)}"
    value = edit.new if edit.op is Op.ADD else edit.old
    is_shown = not is_enough and (_is_unnamed(edit) or not isinstance(value, dict | list))
    return f"{name}{f': {quoted(value)}' if is_shown else ''} {_DONE[edit.op]}"


def by_meaning(
    sides: tuple[ObjectKey, Document | None, Document | None],
    kind: ChangeKind,
    is_compared: Callable[[Edit], bool],
    compared: Callable[[ObjectKey, Document | None, Document | None], Changes],
) -> Changes:
    """Changes by what the fields mean, and by path the rest; all by path if they have another shape.

    ``is_compared``: whether ``compared``, which raises OtherShape, speaks of an edit. Raises Unreadable.
    """
    key, before, after = sides
    found, noise = edits(before, after) if before and after else ([], Counter())
    try:
        meant = compared(*sides)
    except OtherShape:
        if before is None or after is None:
            return added_or_removed(key, before, kind)
        return by_path(key, found, noise, lambda edit: (kind if is_compared(edit) else None, path_phrase(edit)))
    rest = [each for each in found if not is_compared(each)]
    # What was split, merged, spelled out or said twice comes to the same.
    noise[LAYOUT] += meant == Changes() and len(rest) < len(found)
    others = by_path(key, rest, +noise)
    return others._replace(rules=meant.rules, others=meant.others + others.others)


class OtherShape(Exception):
    """Not what the API server would take, or more than is ever written: such an object is listed by path."""


def only(value: Any, *fields: str) -> dict[str, Any]:
    """A mapping with no other fields. Raises OtherShape."""
    if not isinstance(value, dict) or value.keys() - set(fields):
        raise OtherShape
    return value


def list_of(value: Any) -> list[Any]:
    """Empty where there is none. Raises OtherShape."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise OtherShape
    return value


def texts(value: Any) -> list[str]:
    """As ``list_of``, of texts. Raises OtherShape."""
    found = list_of(value)
    if not all(isinstance(each, str) for each in found):
        raise OtherShape
    return found


def selector(value: Any) -> str:
    """A label selector as ``kubectl`` spells it, ``app=x,tier in (a,b)``; empty where it selects everything.

    Raises OtherShape.
    """
    if value is None:
        return ""
    labels = only(value, "matchLabels", "matchExpressions").get("matchLabels") or {}
    if not isinstance(labels, dict):
        raise OtherShape
    expressions = map(_expression, list_of(value.get("matchExpressions")))
    return ",".join(sorted([*[f"{key}={label}" for key, label in labels.items()], *expressions]))


def _expression(value: Any) -> str:
    match value:
        case {"key": str(key), "operator": "Exists"}:
            return key
        case {"key": str(key), "operator": "DoesNotExist"}:
            return f"!{key}"
        case {"key": str(key), "operator": "In" | "NotIn" as operator, "values": [*values]}:
            return f"{key} {operator.lower()} ({','.join(sorted(map(str, values)))})"
    raise OtherShape
