"""Find every vendored manifest and every pin of a tree, each by the module of its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model.errors import Unread, Unreadable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.gotk_components import pin as gotk
from flux_upgrade.pins.gotk_components.parts import PartFinder, Parts
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.pins.registry import ALSO, PIN_KINDS, KindModule, may_take
from flux_upgrade.pins.unread_files import LARGEST, large_pin, suspected_kind, unread_pins
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import in_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.snapshot.snapshot import Snapshot

_ANY = ("",)
_OF_FLUX = frozenset(mark for kind in PIN_KINDS for mark in (*kind.marks, *kind.beside) if b"flux" in mark.lower())
_NEAR = max(map(len, _OF_FLUX))
_YAML = (".yaml", ".yml")
_SHARED = "give each installation its own files, or upgrade them together yourself"
_DEFINITION = b"\nkind: CustomResourceDefinition"


def discover(context: PinContext, paths: Collection[str] | None = None) -> tuple[Pin, ...]:
    """Every vendored manifest in the order of the paths, then every pin, kind by kind.

    Each file is read once. ``paths``: those to read, where it is known which ``may_pin``; None: all.
    Raises SourceUnavailable where the releases cannot be had.
    """
    manifests = _Manifests(context)
    found, marked = list[Pin](), set[str]()
    files: dict[str, list[File]] = {kind.name: [] for kind in PIN_KINDS}
    for path in looked_at(context.tree) if paths is None else sorted(paths):
        file, manifest, is_in_another = manifests.file_and_pin(path)
        if is_in_another:
            continue  # The pin has the path of another of its files
        if manifest is not None:
            found.append(manifest)
        if manifest is None or manifest.proof.verdict is Verdict.UNREADABLE:
            for name, is_marked in _takers(path, file.content):
                files[name].append(file)
                marked |= {name} if is_marked else set()
    found = list(_without_shared(found, manifests.finder))
    pins_of = (kind.module.find(files[kind.name], context) for kind in PIN_KINDS if kind.name in marked)
    pins = _with_also(chain.from_iterable(pins_of), [each.path for each in found if each.is_manifest], context)
    other = {pin.path for pin in pins}
    unread = {file.path: file for each in files.values() for file in each if file.path not in other}
    # A file may have the name of Flux's manifest, and something else in it.
    named = [each for each in found if each.proof.verdict is Verdict.UNREADABLE and each.proof.manifest is not None]
    return (
        *(each for each in found if each.path not in other or each not in named),
        *pins,
        *unread_pins(unread.values()),
    )


class _Manifests:
    """The vendored manifests of a tree, and files that are too large to tell."""

    def __init__(self, context: PinContext) -> None:
        self.finder = gotk.InstallationFinder(context.regenerator)
        self._tree, self._parts = context.tree, PartFinder(context.tree)
        self._candidates = frozenset(context.tree.candidates())

    def file_and_pin(self, path: str) -> tuple[File, Pin | None, bool]:
        """Return a file, the pin that it is as a whole, and whether it belongs to the pin of another file.

        The file is empty if it cannot be read.
        """
        try:
            file = self._tree.file(path)
        except Unreadable as error:
            # A candidate of Flux's own name is reported with the error; of any other file, the name may be a mark.
            file, pin = File(path, b""), self.finder.unread(path, error) if path in self._candidates else None
            pin = pin or large_pin(path, self._tree.chunks(path) if error.why is Unread.TOO_LARGE else ())
            return file, pin, False
        if path not in self._candidates:
            return file, None, False
        parts = self._parts.parts_at(path) if gotk.may_be(path, file.content) else None
        if parts is not None and parts.main != path and self._parts.parts_at(parts.main) == parts:
            return file, None, True
        return file, self._pin_of(file, parts), False

    def _pin_of(self, file: File, parts: Parts | None) -> Pin | None:
        pin = self.finder.at(file.path, file.content) if parts is None else self.finder.joined(parts)
        apart = self._parts.with_crds_elsewhere(pin) if pin is not None else None
        pin = (self.finder.joined(apart) if apart is not None else pin) or gotk.placeholder_pin(file)
        return pin or large_pin(file.path, (file.content,) if len(file.content) > LARGEST else ())


def _without_shared(pins: Sequence[Pin], manifests: gotk.InstallationFinder) -> Iterator[Pin]:
    """Hold installations that share a file: an upgrade of one would write the other's, too."""
    paths = Counter(path for pin in pins for path in ([part.path for part in pin.parts] or [pin.path]))
    for pin in pins:
        shared = next((part.path for part in pin.parts if paths[part.path] > 1), "")
        problem = Unreadable(f"{shared} belongs to another installation, too", hint=_SHARED)
        yield (manifests.joined(Parts(pin.parts, pin.path, problem)) if shared else None) or pin


def looked_at(tree: Snapshot) -> list[str]:
    """Paths of the files that ``discover`` reads, in order."""
    return sorted(frozenset(tree.candidates()).union(filter(may_take, tree.named(_ANY))))


class PinHints(NamedTuple):
    """Why ``discover`` may find something in a file."""

    is_manifest: bool  # Whether it may be a vendored manifest
    kinds: tuple[tuple[str, bool], ...]
    """Names of the kinds that have to look at it, and whether it is reason enough to look at all."""


def pin_hints(path: str, content: bytes) -> PinHints | None:
    """None where there is nothing to find: nearly all files, for next to nothing."""
    is_manifest = gotk.may_be(path, content)
    kinds = tuple(_takers(path, content))
    if is_manifest or kinds:
        return PinHints(is_manifest, kinds)
    return large_hints(path, (content,)) if len(content) > LARGEST else None


def large_hints(path: str, chunks: Iterable[bytes]) -> PinHints | None:
    """Return the hints of a file that is too large to be searched."""
    kind = suspected_kind(path, chunks)
    return PinHints(is_manifest=False, kinds=((kind, True),)) if kind else pin_hints(path, b"")


def pinning_files(hinted: Sequence[tuple[str, PinHints]]) -> Iterator[str]:
    """Of all files of a tree that have hints, those that ``discover`` has to read."""
    marked = {name for _, hints in hinted for name, is_marked in hints.kinds if is_marked}
    return (path for path, hints in hinted if hints.is_manifest or any(name in marked for name, _ in hints.kinds))


def may_pin(path: str, content: bytes) -> bool:
    """Whether ``discover`` may find something in a file."""
    return pin_hints(path, content) is not None


def may_pin_at(tree: Snapshot, path: str) -> bool:
    """Whether ``discover`` may find something in a file of a tree."""
    try:
        return may_pin(path, tree.file(path).content)
    except Unreadable as error:
        return error.why is Unread.TOO_LARGE and large_hints(path, tree.chunks(path)) is not None


def _with_also(pins: Iterable[Pin], manifests: Collection[str], context: PinContext) -> tuple[Pin, ...]:
    """With the places that the config file names, none of them twice. ``manifests``: files that change as a whole.

    A kind knows more of its own place, such as a digest, unless it only reports a release there.
    """
    found = tuple(pins)
    if not context.also:
        return found
    known: dict[tuple[str, int], list[Pin]] = {}
    for pin in found:
        known.setdefault((pin.path, pin.line), []).append(pin)
    own, replaced = list[Pin](), set[int]()
    paths = {path for each in context.also for path in each.paths} - {*manifests}
    files = [*filter(None, map(context.tree.at, sorted(paths)))]
    for pin in next(kind.module for kind in PIN_KINDS if kind.name == ALSO).find(files, context):
        in_line = known.get((pin.path, pin.line), ())
        same = [each for each in in_line if pin.raw and each.raw and (pin.raw in each.raw or each.raw in pin.raw)]
        if all(each.role is Role.REPORTED and each.version for each in same):
            own.append(pin)
            replaced.update(map(id, same))
    return (*(pin for pin in found if id(pin) not in replaced), *own)


def _takers(path: str, content: bytes) -> Iterator[tuple[str, bool]]:
    """Names of the kinds that have to look at a file, and whether it is reason enough to look at all."""
    if len(content) > LARGEST or not _mentions_flux(path, content):
        return
    name = path.encode(errors="surrogateescape")
    searched = _without_definitions(content) if path.endswith(_YAML) else content
    near = _around_flux(searched)
    known: dict[bytes, bool] = {}

    def has(mark: bytes) -> bool:
        if mark not in known:
            known[mark] = (near if mark in _OF_FLUX else searched).rfind(mark) >= 0
        return known[mark]

    for kind in PIN_KINDS:
        if kind.takes(path):
            is_marked = any(has(mark) or mark in name for mark in kind.marks)
            if is_marked or any(map(has, kind.beside)):
                yield kind.name, is_marked


def _around_flux(content: bytes) -> bytes:
    """All that stands near enough to the word to be one of the marks that contain it: hardly anything."""
    found, lower = [], content.lower()
    at = lower.find(b"flux")
    while at >= 0:
        found.append(content[max(at - _NEAR, 0) : at + _NEAR])
        at = lower.find(b"flux", at + 1)
    return b"\0".join(found)


def _mentions_flux(path: str, content: bytes) -> bool:
    """A test that most files fail at once: who pins Flux names it, but for operations of a JSON patch."""
    # One letter is found many times as fast as a word, and a word from behind twice as fast as by `in`.
    has_letter = b"x" in content or b"X" in content
    return (
        (has_letter and content.lower().rfind(b"flux") >= 0)
        or content.rfind(b"/distribution") >= 0
        or content.rfind(b"/spec") >= 0
        or "flux" in path.lower()
    )


def _without_definitions(content: bytes) -> bytes:
    """Schemas pin nothing, but speak of everything: by them, every manifest of Flux's had to be parsed."""
    if _DEFINITION not in content:
        return content
    return b"\n---".join(part for part in content.split(b"\n---") if _DEFINITION not in part)


def pin_in(content: bytes, pin: Pin, context: PinContext) -> Pin | None:
    """Return the pin at the same place in another content of its file; None if there is none, or more than one.

    All other files are as they are today. Raises as ``discover``.
    """
    contents = {path: known for path in looked_at(context.tree) if (known := context.tree.content(path)) is not None}
    contents[pin.path] = content
    paths = [path for path, known in contents.items() if pin.kind in dict(_takers(path, known))]
    pins = discover(replace(context, tree=in_memory(contents)), paths)
    place = pin.kind, pin.path, pin.where, pin.owner
    same = [each for each in pins if (each.kind, each.path, each.where, each.owner) == place]
    return same[0] if len(same) == 1 else next((each for each in same if each.line == pin.line), None)


def kind_of(pin: Pin) -> KindModule:
    return next(kind.module for kind in PIN_KINDS if kind.name == pin.kind)
