"""Find every vendored manifest and every pin of a tree, each by the module of its kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.gotk_components import pin as gotk
from flux_upgrade.pins.pin import Installation, Pin, SourceFile
from flux_upgrade.pins.registry import PIN_KINDS, KindModule

_ANY = ("",)
_POINTERS = (b"/spec", b"/distribution")
_MOST = 4 * 1024 * 1024
"""Bytes: what people write by hand is smaller."""
_YAML = (".yaml", ".yml")
_DEFINITION = b"\nkind: CustomResourceDefinition"


def discover(context: PinContext, paths: Collection[str] | None = None) -> tuple[Installation | Pin, ...]:
    """Every vendored manifest in the order of the paths, then every pin, kind by kind.

    Each file is read once. ``paths``: those to read, where it is known which ``may_pin``; None: all.
    Raises SourceUnavailable where the releases cannot be had.
    """
    manifests, candidates = gotk.InstallationFinder(context.regenerator), frozenset(context.tree.candidates())
    found: list[Installation] = []
    chosen = _Chosen()
    for path in looked_at(context.tree) if paths is None else sorted(paths):
        manifest, content = None, b""
        try:
            content = context.tree.read(path)
        except Unreadable as error:
            manifest = manifests.unread(path, error) if path in candidates else None
        else:
            manifest = manifests.at(path, content) if path in candidates else None
        if manifest is not None:
            found.append(manifest)
        if manifest is None or manifest.proof.verdict is Verdict.UNREADABLE:
            chosen.add(path, content)
    return (*found, *chosen.pins(context))


def looked_at(tree: Tree) -> list[str]:
    """Paths of the files that ``discover`` reads, in order."""
    return sorted(frozenset(tree.candidates()).union(filter(_is_looked_at, tree.named(_ANY))))


def may_pin(path: str, content: bytes) -> bool:
    """Whether ``discover`` may find something in a file: nearly all fail this test, which costs little."""
    return gotk.may_be(path, content) or bool(_takers(path, content))


def discover_pins(context: PinContext) -> Iterator[Pin]:
    """The pins among what ``discover`` finds."""
    chosen = _Chosen()
    for path in filter(_is_looked_at, context.tree.named(_ANY)):
        try:
            chosen.add(path, context.tree.read(path))
        except Unreadable:
            continue
    return chosen.pins(context)


class _Chosen:
    """The files that each kind has to look at."""

    def __init__(self) -> None:
        self._files: dict[str, list[SourceFile]] = {}
        self._found: set[str] = set()

    def add(self, path: str, content: bytes) -> None:
        for name, is_marked in _takers(path, content):
            self._files.setdefault(name, []).append(SourceFile(path, content))
            if is_marked:
                self._found.add(name)

    def pins(self, context: PinContext) -> Iterator[Pin]:
        for kind in PIN_KINDS:
            if kind.name in self._found:
                yield from kind.module.find(self._files[kind.name], context)


def _takers(path: str, content: bytes) -> list[tuple[str, bool]]:
    """Names of the kinds that have to look at a file, and whether it is reason enough to look at all."""
    name = path.encode(errors="surrogateescape")
    if len(content) > _MOST or not _mentions_flux(name, content):
        return []
    searched = _without_definitions(content) if path.endswith(_YAML) else content
    found = []
    for kind in PIN_KINDS:
        if kind.takes(path):
            is_marked = any(mark in searched or mark in name for mark in kind.marks)
            if is_marked or any(mark in searched for mark in kind.beside):
                found.append((kind.name, is_marked))
    return found


def _mentions_flux(name: bytes, content: bytes) -> bool:
    """A test that most files fail at once: who pins Flux names it, but for operations of a JSON patch."""
    return b"flux" in content.lower() or b"flux" in name.lower() or any(mark in content for mark in _POINTERS)


def _is_looked_at(path: str) -> bool:
    return any(kind.takes(path) for kind in PIN_KINDS)


def _without_definitions(content: bytes) -> bytes:
    """Schemas pin nothing, but speak of everything: by them, every manifest of Flux's had to be parsed."""
    if _DEFINITION not in content:
        return content
    return b"\n---".join(part for part in content.split(b"\n---") if _DEFINITION not in part)


def kind_of(pin: Pin) -> KindModule:
    """The module that found it."""
    return next(kind.module for kind in PIN_KINDS if kind.name == pin.kind)
