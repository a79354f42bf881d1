"""One module for each place where a Flux version lives: ``find`` it, ``change`` it."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.kinds import gotk
from flux_upgrade.kinds.installation import Change, Installation
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.ports import Tree

KINDS = (gotk,)


def discover(tree: Tree, regenerator: Regenerator) -> Iterator[Installation]:
    """Every installation in the tree, kind by kind, in the order of the tree's paths."""
    for kind in KINDS:
        yield from kind.find(tree, regenerator)


__all__ = ["KINDS", "Change", "Installation", "discover"]
