"""Labels of list items, by which an edit finds its item again.

An index is no address: a release that adds an argument moves all others. Items
are named as Kubernetes merges them (``name``, ``mountPath``, ``key`` …),
arguments by their flag, anything else by its value.
"""

from __future__ import annotations

import json

from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, construct

_KEYS = ("name", "mountPath", "key", "containerPort", "port")


def child(mapping: MappingNode, key: str) -> Node | None:
    """The value at ``key``; None where the mapping has no such key."""
    return next((value for name, value in mapping.value if name.value == key), None)


def children(node: Node) -> dict[str, Node]:
    """The entries of a mapping by key, the items of a list by label; none for a scalar."""
    if isinstance(node, MappingNode):
        return {name.value: value for name, value in node.value}
    return labelled(node)[0] if isinstance(node, SequenceNode) else {}


def reordered(*sequences: SequenceNode) -> bool:
    """Whether the items that the first two lists share stand in another order; then the list is one value."""
    first, second, *_ = labelled(*sequences)
    return [label for label in first if label in second] != [label for label in second if label in first]


def labelled(*sequences: SequenceNode) -> list[dict[str, Node]]:
    """For each sequence its items by label, in order; all are named by the same scheme."""
    items = [item for sequence in sequences for item in sequence.value]
    key = next((key for key in _KEYS if all(_names(sequence, key) for sequence in sequences)), None)
    arguments = bool(items) and all(
        isinstance(item, ScalarNode) and item.value.startswith("-") for item in items
    )
    return [_label(sequence, key, arguments) for sequence in sequences]


def _names(sequence: SequenceNode, key: str) -> bool:
    """Whether every item is a mapping with a scalar at ``key``, no two of them alike."""
    values = [
        value.value
        for item in sequence.value
        if isinstance(item, MappingNode) and isinstance(value := child(item, key), ScalarNode)
    ]
    return len(values) == len(sequence.value) == len(set(values))


def _label(sequence: SequenceNode, key: str | None, arguments: bool) -> dict[str, Node]:  # noqa: FBT001 private
    labels: dict[str, Node] = {}
    for item in sequence.value:
        if key is not None:
            name = f"[{key}={getattr(child(item, key), 'value', '')}]"
        elif arguments:
            name = f"[{item.value.partition('=')[0]}]"
        elif isinstance(item, ScalarNode):
            name = f"[{item.value}]"
        else:
            name = f"[{json.dumps(construct(item), default=str, sort_keys=True, separators=(',', ':'))}]"
        count, plain = 1, name
        while name in labels:
            count += 1
            name = f"{plain}#{count}"
        labels[name] = item
    return labels
