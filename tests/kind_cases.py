"""The folders of ``tests/kinds/<kind>/``: each is a test of a kind's ``find`` and ``change``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_upgrade.clusters.ownership.artifact_references import references
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound
from flux_upgrade.model.text_edit import edited
from flux_upgrade.model.versions import Release, ReleaseManifests
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover_pins, kind_of
from flux_upgrade.pins.own_artifact import pin as artifact
from flux_upgrade.pins.pin import Pin, PinChange
from flux_upgrade.pins.registry import PIN_KINDS
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux
from own_artifacts import of_case

FOLDER = Path(__file__).resolve().parent / "kinds"
_PATCHES = {0: 5, 1: 2, 2: 3, 3: 0, 4: 0, 5: 1, 6: 4, 7: 5, 8: 8, 9: 4}
TAGS = tuple(f"v2.{minor}.{patch}" for minor, last in _PATCHES.items() for patch in range(last + 1))
"""Flux's stable releases, for the cases that state none (in fact 2.2.1, 2.6.0 and the like differ little)."""


@dataclass(frozen=True)
class KindCase:
    """``before/``, ``after/`` (absent: nothing changes), ``case.toml``, ``pins.txt``."""

    folder: Path
    description: str
    to: str
    """The release that every movable pin is taken to."""
    tags: tuple[str, ...]
    """Flux's releases."""
    published: Mapping[str, str]
    """Release → the ``gotk-components.yaml`` that Flux published for it."""
    artifacts: Mapping[str, Mapping[str, object]]
    """``ghcr.io/fluxcd/flux-manifests:v2.9.4`` → ``digest``, ``revision``, ``files``."""
    charts: Mapping[str, Mapping[str, Mapping[str, str]]]
    """Repository → chart → version → ``appVersion``."""
    unreachable: tuple[str, ...]
    """How the names of what cannot be reached begin."""
    moves_operator: bool
    """Whether the flux-operator's own pins are to move."""
    own: Mapping[str, Any]
    """The artifact that the run is about, see ``own_artifacts.of_case``; empty: about none."""

    @property
    def kind(self) -> str:
        return self.folder.parent.name

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.folder.name}"

    @property
    def is_change(self) -> bool:
        return (self.folder / "after").exists()

    def files(self, which: str) -> dict[str, bytes]:
        root = self.folder / which
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }

    def context(self, files: Mapping[str, bytes]) -> PinContext:
        return PinContext(
            MemoryTree(files),
            Regenerator(ListedReleases(self.tags, self.published), NoFlux()),
            MemoryArtifacts(self.artifacts, self.unreachable),
            MemoryCharts(self.charts, self.unreachable),
            self.moves_operator,
            of_case(self.own, self.to),
        )


class ListedReleases:
    """The port Releases, of which only the names count."""

    def __init__(self, tags: tuple[str, ...], published: Mapping[str, str]) -> None:
        self._tags, self._published = tags, published

    def list(self) -> tuple[Release, ...]:
        return tuple(Release(tag, prerelease="-" in tag) for tag in self._tags)

    def manifests(self, tag: str) -> ReleaseManifests:
        raise ReleaseNotFound(f"there are no manifests of {tag}")

    def published(self, tag: str) -> str | None:
        return self._published.get(tag)

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        del tag, paths
        return None

    def commit(self, tag: str) -> str:
        del tag
        return ""


def all_cases() -> list[KindCase]:
    return [_read(path.parent) for path in sorted(FOLDER.glob("*/*/case.toml"))]


def _read(folder: Path) -> KindCase:
    stated = tomllib.loads((folder / "case.toml").read_text())
    case = KindCase(
        folder,
        stated.pop("description"),
        stated.pop("to", "v2.9.4"),
        tuple(stated.pop("tags", TAGS)),
        stated.pop("published", {}),
        stated.pop("artifacts", {}),
        stated.pop("charts", {}),
        tuple(stated.pop("unreachable", ())),
        stated.pop("moves-operator", False),
        stated.pop("own", {}),
    )
    assert not stated, f"{case.name}/case.toml: unknown keys {', '.join(stated)}"
    return case


@dataclass(frozen=True)
class Carried:
    """What became of a tree."""

    files: dict[str, bytes]
    text: str
    changes: tuple[tuple[Pin, PinChange], ...]


def _of_own(context: PinContext) -> Iterator[Pin]:
    """Where the run is about an artifact, what refers to it."""
    if context.own is not None:
        yield from artifact.pins_of(references(context.tree, context.own.address), context.own)


def carry_out(case: KindCase, files: Mapping[str, bytes]) -> Carried:
    """Find every pin, take each movable one to the release, and say both."""
    context = case.context(files)
    changes: list[tuple[Pin, PinChange]] = []
    lines: list[str] = []
    order = [kind.name for kind in PIN_KINDS]
    pins = (*_of_own(context), *discover_pins(context))
    for pin in sorted(pins, key=lambda pin: order.index(pin.kind)):
        lines += shown(pin)
        if not pin.is_movable or pin.version == case.to:
            continue
        try:
            change = kind_of(pin).change(pin, case.to, context)
        except FluxUpgradeError as error:
            lines += [
                f"  {case.to}: {error.slug}: {error.message}",
                *(f"    {line}" for line in [error.hint] if line),
            ]
            continue
        if change.hold is not None:
            lines += [f"  {case.to}: {change.hold.reason}: {change.hold.detail}", f"    {change.hold.hint}"]
            continue
        lines += [f"  {case.to}: {change.raw}", *(f"    {remark}" for remark in change.remarks)]
        lines += [f"    to do: {each}" for each in change.todo]
        changes.append((pin, change))
    after = {
        path: edited(
            content,
            (each for pin, change in changes if pin.path == path for each in change.replacements),
        )
        for path, content in files.items()
    }
    return Carried(after, "".join(f"{line}\n" for line in lines) or "no pin\n", tuple(changes))


def shown(pin: Pin) -> Iterator[str]:
    """A pin, line by line."""
    yield f"{pin.path}:{pin.line} {pin.kind} {pin.role} {pin.state} {pin.raw!r} = {pin.version or 'no release'}"
    yield f"  {pin.where}"
    if pin.folder is not None:
        yield f"  folder: {pin.folder or 'the root'}"
    if pin.owner:
        yield f"  owner: {pin.owner}"
    if pin.reason:
        yield f"  because {pin.reason}"
    if pin.hint:
        yield f"  remedy: {pin.hint}"
    for remark in pin.remarks:
        yield f"  note: {remark}"
