"""What a kustomization keeps out of a cluster, or in it, when a release changes.

Three states of one object are compared: that of the old release, that of the new one, and what the
kustomization makes of the new one. Items of lists have labels (``manifests.residue``); an argument
has that of its flag.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flux_upgrade.manifests.images import Image
from flux_upgrade.manifests.node_copies import represent
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, construct, same
from flux_upgrade.manifests.residue import Path, children, is_image, labelled, spelled
from flux_upgrade.model.values import NamedTuple

UNNAMED = "[{"  # How the label of an item without a name begins: it is all that the item holds
_Named = Mapping[str, Node]
_Trio = tuple[str, Node | None, Node | None, Node | None]


class OverriddenField(NamedTuple):
    """What the release changes, and the kustomization does not let through."""

    path: Path
    old: Any  # Plain value in the old release; None: it has none
    new: Any  # Plain value in the new release; None: it has none any more
    mine: Any  # Plain value that is applied; None: there is none

    @property
    def is_dropped(self) -> bool:
        """Whether the release has it, added or with another value, and nothing of it is applied."""
        return self.mine is None

    @property
    def where(self) -> str:
        """``spec.template.spec.containers[name=manager].args``: what the entry is of."""
        # The label of an item without a name is all that it holds, which says little of where it is.
        named = ("[]" if each.startswith(UNNAMED) else each for each in self.path[:-1])
        return spelled(tuple(named))

    @property
    def entry(self) -> str:
        """What was added: an argument as it is, anything else with its name."""
        value = self.new if isinstance(self.new, str) else json.dumps(self.new, ensure_ascii=False)
        return value if self.path[-1].startswith("[") else f"{self.path[-1]}: {value}"


def overridden_fields(old: Any, new: Any, mine: Any) -> list[OverriddenField]:
    """Of one object; ``old``: None where the old release had no such object."""
    before = None if old is None else represent(old)
    return list(_walk((), before, represent(new), represent(mine)))


def _walk(path: Path, old: Node | None, new: Node | None, mine: Node | None) -> Iterator[OverriddenField]:
    if same(new, mine) or same(old, new) or is_image(path):
        return
    if mine is None:
        # A field that was there already and is not wanted stays away; an item of a list was left behind.
        if old is None or path[-1].startswith("["):
            yield _overridden(path, old, new, mine)
        return
    pairs = _children(old, new, mine) if new is not None else None
    if pairs is not None:
        for label, before, after, ours in pairs:
            yield from _walk((*path, label), before, after, ours)
    elif same(old, mine):
        yield _overridden(path, old, new, mine)


def _children(old: Node | None, new: Node, mine: Node) -> Iterable[_Trio] | None:
    """What stands under the same name in each; None where they are compared as one value."""
    if isinstance(new, MappingNode) and isinstance(mine, MappingNode):
        before = children(old) if isinstance(old, MappingNode) else {}
        return _paired(before, children(new), children(mine))
    if isinstance(new, SequenceNode) and isinstance(mine, SequenceNode):
        held = old if isinstance(old, SequenceNode) else SequenceNode(new.tag, [])
        first, second, third = labelled(held, new, mine)
        # The label of a mapping without a name is all that it holds, so that a patched one has another.
        if len(second) == len(third) and any(label.startswith(UNNAMED) for label in (*second, *third)):
            third = dict(zip(second, third.values(), strict=True))
            if len(first) == len(second):
                first = dict(zip(second, first.values(), strict=True))
        return _paired(first, second, third)
    return None


def _paired(old: _Named, new: _Named, mine: _Named) -> Iterable[_Trio]:
    return [(label, old.get(label), new.get(label), mine.get(label)) for label in dict.fromkeys([*new, *old])]


def _overridden(path: Path, *nodes: Node | None) -> OverriddenField:
    return OverriddenField(path, *(None if node is None else construct(node) for node in nodes))


def overridden_images(new: Any, mine: Any) -> Iterator[tuple[Image, Image]]:
    """The release's and what is applied, of containers whose tag or digest is another one.

    A mirror of the same tag is none.
    """
    for image, other in images_of_both(new, mine):
        # A digest beside the release's own tag is taken to be that tag's.
        if image.tag != other.tag or len({image.digest, other.digest} - {""}) > 1:
            yield image, other


def images_of_both(new: Any, mine: Any) -> Iterator[tuple[Image, Image]]:
    """The release's image and what is applied, of each container that is in both."""
    first, second = (dict(_images((), represent(each))) for each in (new, mine))
    yield from ((image, second[path]) for path, image in first.items() if path in second)


def _images(path: Path, node: Node) -> Iterator[tuple[Path, Image]]:
    if is_image(path) and isinstance(node, ScalarNode):
        yield path, Image.parse(node.value)
    for label, each in children(node).items():
        yield from _images((*path, label), each)
