"""One module for each place where a Flux version lives: ``find`` it, ``change`` it.

Adding a kind is one module, its row in ``styles.PIN_KINDS``, and a folder in ``tests/kinds``.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds import gotk
from flux_upgrade.kinds.installation import Change, Installation
from flux_upgrade.kinds.pin import Pin, PinChange, SourceFile
from flux_upgrade.kinds.styles import PIN_KINDS, PinKind
from flux_upgrade.kinds.world import World
from flux_upgrade.manifests.proof import Verdict

_ANY = ("",)
_POINTERS = (b"/spec", b"/distribution")
_MOST = 4 * 1024 * 1024
"""Bytes: what people write by hand is smaller."""
_YAML = (".yaml", ".yml")
_DEFINITION = b"\nkind: CustomResourceDefinition"


def discover(world: World) -> tuple[Installation | Pin, ...]:
    """Every vendored manifest in the order of the paths, then every pin, kind by kind.

    Each file is read once. Raises SourceUnavailable where the releases cannot be had.
    """
    manifests, candidates = gotk.Manifests(world.regenerator), frozenset(world.tree.candidates())
    found: list[Installation] = []
    chosen = _Chosen()
    for path in sorted(candidates.union(filter(_is_looked_at, world.tree.named(_ANY)))):
        manifest, content = None, b""
        try:
            content = world.tree.read(path)
        except Unreadable as error:
            manifest = manifests.unread(path, error) if path in candidates else None
        else:
            manifest = manifests.at(path, content) if path in candidates else None
        if manifest is not None:
            found.append(manifest)
        if manifest is None or manifest.proof.verdict is Verdict.UNREADABLE:
            chosen.add(path, content)
    return (*found, *chosen.pins(world))


def discover_pins(world: World) -> Iterator[Pin]:
    """The pins among what ``discover`` finds."""
    chosen = _Chosen()
    for path in filter(_is_looked_at, world.tree.named(_ANY)):
        try:
            chosen.add(path, world.tree.read(path))
        except Unreadable:
            continue
    return chosen.pins(world)


class _Chosen:
    """The files that each kind has to look at."""

    def __init__(self) -> None:
        self._files: dict[str, list[SourceFile]] = {}
        self._found: set[str] = set()

    def add(self, path: str, content: bytes) -> None:
        if len(content) > _MOST:
            return
        name = path.encode(errors="surrogateescape")
        if not _speaks_of_flux(name, content):
            return
        telling = _without_definitions(content) if path.endswith(_YAML) else content
        for style in PIN_KINDS:
            if style.takes(path):
                is_marked = any(mark in telling or mark in name for mark in style.marks)
                if is_marked or any(mark in telling for mark in style.beside):
                    self._files.setdefault(style.name, []).append(SourceFile(path, content))
                if is_marked:
                    self._found.add(style.name)

    def pins(self, world: World) -> Iterator[Pin]:
        for style in PIN_KINDS:
            if style.name in self._found:
                yield from style.module.find(self._files[style.name], world)


def _speaks_of_flux(name: bytes, content: bytes) -> bool:
    """A test that most files fail at once: who pins Flux names it, but for operations of a JSON patch."""
    return b"flux" in content.lower() or b"flux" in name.lower() or any(mark in content for mark in _POINTERS)


def _is_looked_at(path: str) -> bool:
    return any(style.takes(path) for style in PIN_KINDS)


def _without_definitions(content: bytes) -> bytes:
    """Schemas pin nothing, but speak of everything: by them, every manifest of Flux's had to be parsed."""
    if _DEFINITION not in content:
        return content
    return b"\n---".join(part for part in content.split(b"\n---") if _DEFINITION not in part)


def kind_of(pin: Pin) -> PinKind:
    """The module that found it."""
    return next(style.module for style in PIN_KINDS if style.name == pin.kind)


__all__ = [
    "PIN_KINDS",
    "Change",
    "Installation",
    "Pin",
    "PinChange",
    "PinKind",
    "World",
    "discover",
    "discover_pins",
    "kind_of",
]
