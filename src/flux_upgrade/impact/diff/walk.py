"""What differs between two versions of an object, path by path, as a reader wants to see it.

``residue`` finds what must be carried: by leaves, an image by its parts, a list in another
order as one value. Here whatever was added as a whole is one thing, another order is one thing
beside what else changed, and labels that merely state a version are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.nodes import MappingNode, Node, SequenceNode, construct, same
from flux_upgrade.manifests.residue import (
    VERSION_LABEL,
    Edit,
    Op,
    Path,
    children,
    is_version_label,
    labelled,
    reordered,
)

LABELS, LAYOUT = "version labels", "order and layout"
GENERATOR, FILLED_IN = "controller-gen annotations", "fields that the API server fills in"
_GENERATOR = "controller-gen.kubebuilder.io/version"
# Kubernetes merges these by key and looks at no order. `args` are flags wherever they have labels.
_ANY_ORDER = frozenset({"args", "containers", "imagePullSecrets", "ports", "volumeMounts", "volumes"})
_VERSION_LINE = re.compile(
    rf"^ +{re.escape(VERSION_LABEL)}: (?:v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*|latest)$", re.MULTILINE
)

Noise = Counter[str]
"""What is counted, and how often there is some."""


def only_labels(before: Document, after: Document) -> bool:
    """Whether two texts differ in nothing but version labels, so that neither needs to be read."""
    return _VERSION_LINE.sub("", before.text) == _VERSION_LINE.sub("", after.text)


def edits(
    before: Document, after: Document, is_left_out: Callable[[Path], bool] = lambda _: False
) -> tuple[list[Edit], Noise]:
    """What differs, and what of that says nothing. Raises Unreadable."""
    found: list[Edit] = []
    noise: Noise = Counter()
    for edit, node in _walk(after.key, (), before.node, after.node, is_left_out):
        kind = _noise(edit, node)
        if kind:
            noise[kind] += 1
        else:
            found.append(edit)
    return found, noise


def _noise(edit: Edit, node: Node) -> str:
    if edit.path[-2:-1] == ("labels",) and is_version_label(edit.path, node):
        return LABELS
    if edit.path[-2:] == ("annotations", _GENERATOR):
        return GENERATOR
    # Old generators wrote both; nothing reads them from a manifest.
    if edit.path[0] == "status" or edit.path == ("metadata", "creationTimestamp"):
        return FILLED_IN
    return LAYOUT if is_order(edit) and edit.path[-1] in _ANY_ORDER and _by_key(edit.new) else ""


def is_order(edit: Edit) -> bool:
    """Whether the items of a list stand in another order, whatever else became of them."""
    return edit.op is Op.REPLACE and isinstance(edit.old, list) and isinstance(edit.new, list)


def _by_key(items: list[Any]) -> bool:
    return all(isinstance(item, dict) or str(item).startswith("-") for item in items)


def _walk(
    key: ObjectKey,
    path: Path,
    before: Node | None,
    after: Node | None,
    is_left_out: Callable[[Path], bool],
) -> Iterator[tuple[Edit, Node]]:
    """Each edit with the node that is there now, or was there before."""
    if is_left_out(path):
        return
    if before is None or after is None:
        op = Op.ADD if before is None else Op.REMOVE
        node = after if before is None else before
        if node is not None:
            yield Edit(key, path, op, _value(before), _value(after)), node
        return
    pairs, is_other_order = _pairs(before, after)
    for label, old, new in pairs:
        yield from _walk(key, (*path, label), old, new, is_left_out)
    if is_other_order or (not pairs and not same(before, after)):
        yield Edit(key, path, Op.REPLACE, construct(before), construct(after)), after


def _pairs(before: Node, after: Node) -> tuple[list[tuple[str, Node | None, Node | None]], bool]:
    """What stands under the same name on both sides, and whether it stands there in another order."""
    is_other_order = False
    match before, after:
        case MappingNode(), MappingNode():
            ours, theirs = children(before), children(after)
        case SequenceNode(), SequenceNode():
            ours, theirs = labelled(before, after)
            is_other_order = reordered(before, after)
        case _:
            return [], False
    names = dict.fromkeys([*ours, *theirs])
    return [(name, ours.get(name), theirs.get(name)) for name in names], is_other_order


def _value(node: Node | None) -> Any:
    return None if node is None else construct(node)


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
    return ",".join(sorted([*(f"{key}={label}" for key, label in labels.items()), *expressions]))


def _expression(value: Any) -> str:
    match value:
        case {"key": str(key), "operator": "Exists"}:
            return key
        case {"key": str(key), "operator": "DoesNotExist"}:
            return f"!{key}"
        case {"key": str(key), "operator": "In" | "NotIn" as operator, "values": [*values]}:
            return f"{key} {operator.lower()} ({','.join(sorted(map(str, values)))})"
    raise OtherShape
