"""What a user changed by hand: the difference of two manifests, object by object, path by path.

Paths are stable across releases: list items are named, not counted (``labelled``).
A mapping that was added counts by its leaves, so that an addition beside one of
the release's own is the same edit before and after an upgrade.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flux_upgrade.manifests.documents import ObjectKey
from flux_upgrade.manifests.images import Image
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, child, construct, same

Path = tuple[str, ...]
VERSION_LABEL = "app.kubernetes.io/version"
_VERSION = re.compile(r"v?\d+\.\d+\.\d+.*|latest")
_PLAIN_SEGMENT = re.compile(r"[A-Za-z0-9_$-]+")


class Op(StrEnum):
    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    COMMENT = "comment"


@dataclass(frozen=True)
class Edit:
    object: ObjectKey
    path: Path  # Keys and list labels from the object's root; empty for the object as a whole
    op: Op
    old: Any = None  # Plain value in the regeneration; None where there is none
    new: Any = None  # Plain value in the user's file; the text of a comment; None where there is none

    @property
    def identity(self) -> str:
        return json.dumps([self.object, self.path, self.op, self.new], default=str, sort_keys=True)

    @property
    def is_absence(self) -> bool:
        """Whether the file does not have an object of the release: something else may apply it."""
        return self.op is Op.REMOVE and not self.path

    @property
    def where(self) -> str:
        return spelled(self.path)


def spelled(path: Path) -> str:
    """``spec.template.spec.containers[name=manager].args[--log-level]``."""
    text = ""
    for segment in path:
        if segment.startswith("["):
            text += segment
        elif _PLAIN_SEGMENT.fullmatch(segment):
            text += f".{segment}" if text else segment
        else:
            text += f"[{json.dumps(segment)}]"
    return text


def differences(key: ObjectKey, base: Node | None, mine: Node | None) -> Iterator[Edit]:
    """What turns one object of the regeneration (``base``) into the user's (``mine``)."""
    if mine is None:
        yield Edit(key, (), Op.REMOVE, None, None)
    elif base is None:
        yield Edit(key, (), Op.ADD, None, construct(mine))
    else:
        yield from _walk(key, (), base, mine)


def _walk(key: ObjectKey, path: Path, base: Node | None, mine: Node | None) -> Iterator[Edit]:
    if mine is None:
        yield Edit(key, path, Op.REMOVE, value_of(base), None)
    elif base is None:
        yield from _added(key, path, mine)
    elif is_image(path) and isinstance(base, ScalarNode) and isinstance(mine, ScalarNode):
        yield from _image(key, path, Image.parse(base.value), Image.parse(mine.value))
    elif (pairs := _pairs(base, mine)) is not None:
        for label, old, new in pairs:
            yield from _walk(key, (*path, label), old, new)
    elif not same(base, mine) and not is_version_label(path, mine):
        yield Edit(key, path, Op.REPLACE, value_of(base), value_of(mine))


def _added(key: ObjectKey, path: Path, mine: Node) -> Iterator[Edit]:
    """By its leaves; an item that is named by its value is one."""
    named_by_value = bool(path) and path[-1].startswith("[{")
    if isinstance(mine, ScalarNode) or not mine.value or named_by_value:
        yield Edit(key, path, Op.ADD, None, value_of(mine))
    else:
        for label, item in children(mine).items():
            yield from _walk(key, (*path, label), None, item)


def _pairs(base: Node, mine: Node) -> list[tuple[str, Node | None, Node | None]] | None:
    """What stands under the same name on both sides; None where the two are compared as one value."""
    match base, mine:
        case MappingNode(), MappingNode():
            ours, theirs = children(base), children(mine)
        case SequenceNode(), SequenceNode():
            ours, theirs = labelled(base, mine)
            if reordered(ours, theirs):
                return None
        case _:
            return None
    return [(label, ours.get(label), theirs.get(label)) for label in dict.fromkeys([*ours, *theirs])]


def _image(key: ObjectKey, path: Path, base: Image, mine: Image) -> Iterator[Edit]:
    """Repository and tag are changed for different reasons, and carried each by itself."""
    for part in ("repository", "tag", "digest"):
        old, new = getattr(base, part), getattr(mine, part)
        if old != new:
            yield Edit(key, (*path, part), Op.REPLACE, old, new)


def is_image(path: Path) -> bool:
    return len(path) >= 3 and path[-1] == "image" and path[-3] in ("containers", "initContainers")  # noqa: PLR2004


def is_version_label(path: Path, mine: Node) -> bool:
    """Whether this is the label that bots bump with the header: hearsay, like the header."""
    return (
        bool(path)
        and path[-1] == VERSION_LABEL
        and isinstance(mine, ScalarNode)
        and _VERSION.fullmatch(mine.value) is not None
    )


def value_of(node: Node | None) -> Any:
    return None if node is None else construct(node)


def children(node: Node) -> dict[str, Node]:
    """The entries of a mapping by key, the items of a list by label; none for a scalar."""
    if isinstance(node, MappingNode):
        return {name.value: value for name, value in node.value}
    return labelled(node)[0] if isinstance(node, SequenceNode) else {}


def reordered(first: Collection[str], second: Collection[str]) -> bool:
    """Whether the labels that two lists share stand in another order; then the list is one value."""
    return [label for label in first if label in second] != [label for label in second if label in first]


def labelled(*sequences: SequenceNode) -> list[dict[str, Node]]:
    """For each sequence its items by label, in order; all are named by the same scheme."""
    items = [item for sequence in sequences for item in sequence.value]
    key = next(
        (key for key in ("name", "mountPath", "key", "containerPort", "port") if _are_named_by(key, sequences)), None
    )
    arguments = bool(items) and all(isinstance(item, ScalarNode) and item.value.startswith("-") for item in items)
    found = []
    for sequence in sequences:
        labels: dict[str, Node] = {}
        counts: dict[str, int] = {}
        for item in sequence.value:
            if key is not None:
                name = f"{key}={getattr(child(item, key), 'value', '')}"
            elif arguments:
                name = item.value.partition("=")[0]
            elif isinstance(item, ScalarNode):
                name = item.value
            else:
                name = json.dumps(construct(item), default=str, sort_keys=True, separators=(",", ":"))
            count = counts.get(name, 1)
            label = f"[{name}]" if count == 1 else f"[{name}]#{count}"
            while label in labels:
                count += 1
                label = f"[{name}]#{count}"
            labels[label], counts[name] = item, count
        found.append(labels)
    return found


def _are_named_by(key: str, sequences: tuple[SequenceNode, ...]) -> bool:
    """Whether every item is a mapping with a scalar at ``key``, no two in one list alike."""
    for sequence in sequences:
        values = [child(item, key) if isinstance(item, MappingNode) else None for item in sequence.value]
        names = {value.value for value in values if isinstance(value, ScalarNode)}
        if len(names) < len(values):
            return False
    return True
