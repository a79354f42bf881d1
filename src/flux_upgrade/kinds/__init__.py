"""One module for each place where a Flux version lives: ``find`` it, ``change`` it.

Adding a kind is one module, its name in ``PIN_KINDS``, and a folder in ``tests/kinds``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds import gotk
from flux_upgrade.kinds.installation import Change, Installation
from flux_upgrade.kinds.pin import Pin, PinChange, SourceFile, World
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.ports import Tree


class PinKind(Protocol):
    """What a module has to have."""

    NAME: str
    """Of the style, in reports and JSON: ``flux-instance``."""
    FILES: tuple[str, ...]
    """How the names of the files end that it looks at: ``.yaml``."""
    MARKS: tuple[bytes, ...]
    """A file without any of these holds no pin of this kind."""

    def find(self, files: Sequence[SourceFile], world: World) -> Iterator[Pin]:
        """Every pin in ``files``, which fit FILES and MARKS; what cannot be told is UNKNOWN."""
        ...

    def change(self, pin: Pin, target: str, world: World) -> PinChange:
        """Take a movable pin to a release, a tag above its own.

        Raises UnsupportedPin where it cannot be done safely; ReleaseNotFound where what has to be
        named there is not published (yet); SourceUnavailable, UntrustedArchive.
        """
        ...


PIN_KINDS: tuple[PinKind, ...] = ()
_MOST = 4 * 1024 * 1024
"""Bytes: what people write by hand is smaller."""


def discover(tree: Tree, regenerator: Regenerator) -> Iterator[Installation]:
    """Every vendored manifest in the tree, in the order of its paths."""
    yield from gotk.find(tree, regenerator)


def discover_pins(world: World) -> Iterator[Pin]:
    """Every other pin, kind by kind. Each file is read once."""
    chosen: dict[str, list[SourceFile]] = {kind.NAME: [] for kind in PIN_KINDS}
    ends = tuple({end for kind in PIN_KINDS for end in kind.FILES})
    for path in world.tree.named(ends):
        kinds = [kind for kind in PIN_KINDS if path.endswith(kind.FILES)]
        try:
            content = world.tree.read(path)
        except Unreadable:
            continue
        if len(content) > _MOST:
            continue
        for kind in kinds:
            if any(mark in content for mark in kind.MARKS):
                chosen[kind.NAME].append(SourceFile(path, content))
    for kind in PIN_KINDS:
        yield from kind.find(chosen[kind.NAME], world)


def kind_of(pin: Pin) -> PinKind:
    """The module that found it."""
    return next(kind for kind in PIN_KINDS if pin.kind == kind.NAME)


__all__ = [
    "PIN_KINDS",
    "Change",
    "Installation",
    "Pin",
    "PinChange",
    "World",
    "discover",
    "discover_pins",
    "kind_of",
]
