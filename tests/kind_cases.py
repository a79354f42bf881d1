"""The cases of every kind of version reference, and an upgrade of a case's repository without a disk or a network.

A case is a ``tests/kinds/KIND/NAME.txtar``: a repository in ``before/``, in ``after/`` the files that change,
in ``report`` the references that are found and what becomes of each. ``settings.toml`` says what the registries
hold, see `KindCase`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import txtar
from config_files import load
from discovered import pins_in
from flux_upgrade.clusters.also import user_patterns
from flux_upgrade.clusters.operator_limits import with_operators
from flux_upgrade.clusters.ownership.artifact_references import references
from flux_upgrade.config.config import PATH
from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound
from flux_upgrade.model.text import TextEdit, edited
from flux_upgrade.model.versions import Release, ReleaseManifests, Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import kind_of
from flux_upgrade.pins.own_artifact import pin as artifact
from flux_upgrade.pins.pin import Pin, PinChange
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.pins.registry import PIN_KINDS
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux
from own_artifacts import of_case
from spans import assert_kept_outside

PATHS = sorted((Path(__file__).resolve().parent / "kinds").glob("*/*.txtar"))
_PATCHES = {0: 5, 1: 2, 2: 3, 3: 0, 4: 0, 5: 1, 6: 4, 7: 5, 8: 8, 9: 4}
TAGS = tuple(f"v2.{minor}.{patch}" for minor, last in _PATCHES.items() for patch in range(last + 1))
"""Flux's stable releases, for the cases that list none."""


@dataclass(frozen=True)
class KindCase:
    """A repository, and the registries that its references point to."""

    path: Path
    archive: txtar.Archive
    to: str = "v2.9.4"
    """The release that every movable pin is upgraded to."""
    tags: Sequence[str] = TAGS
    """Flux's releases."""
    published: Mapping[str, str] = field(default_factory=dict)
    """Release → the ``gotk-components.yaml`` that Flux published for it."""
    artifacts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """``ghcr.io/fluxcd/flux-manifests:v2.9.4`` → ``digest``, ``revision``, ``files``."""
    charts: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """Repository → chart → version → ``appVersion``."""
    unreachable: Sequence[str] = ()
    """The first characters of the addresses that is unreachable."""
    moves_operator: bool = False
    """Whether the flux-operator's own pins are upgraded."""
    config: str = ""
    """The config file, for its key ``also``."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """The artifact that the run is about, see ``own_artifacts.of_case``; empty: none."""

    @property
    def kind(self) -> str:
        return self.path.parent.name

    @property
    def before(self) -> dict[str, bytes]:
        return self.archive.under("before")

    @property
    def is_change(self) -> bool:
        return bool(self.archive.under("after"))

    def context(self, files: Mapping[str, bytes]) -> PinContext:
        return PinContext(
            MemoryTree(files),
            Regenerator(ListedReleases(self.tags, self.published), NoFlux()),
            MemoryArtifacts(self.artifacts, self.unreachable),
            MemoryCharts(self.charts, self.unreachable),
            self.moves_operator,
            of_case(self.own, self.to),
            also=user_patterns(load(self.config, PATH), MemoryTree(files), "", is_whole=True),
        )


@cache
def read(path: Path) -> KindCase:
    """Parse a case, once for all tests that use it."""
    archive = txtar.read(path)
    assert archive.comment, f"{path} does not say what it shows"
    settings = tomllib.loads(archive.text("settings.toml", ""))
    return KindCase(path, archive, **{key.replace("-", "_"): value for key, value in settings.items()})


def paths_of(kind: str) -> list[Path]:
    return [path for path in PATHS if path.parent.name == kind]


def cases_of(kind: str) -> list[KindCase]:
    return list(map(read, paths_of(kind)))


class ListedReleases:
    """The port Releases: tags, and what was published for them."""

    def __init__(self, tags: Sequence[str], published: Mapping[str, str]) -> None:
        self._tags, self._published = tags, published

    def list(self) -> tuple[Release, ...]:
        return tuple(Release(Version(tag), prerelease="-" in tag) for tag in self._tags)

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


@dataclass(frozen=True)
class Upgraded:
    """A repository after every movable pin was upgraded."""

    files: Mapping[str, bytes]
    report: str
    """Every pin with its change, or why it has none."""
    changes: Sequence[tuple[Pin, PinChange]]
    edits: Mapping[str, Sequence[TextEdit]]
    """Path → the spans that change."""


def upgrade(case: KindCase, files: Mapping[str, bytes]) -> Upgraded:
    """Find every pin in a repository, and take each movable one to the release of the case."""
    context = case.context(files)
    changes: list[tuple[Pin, PinChange]] = []
    edits: dict[str, list[TextEdit]] = {path: [] for path in files}
    lines: list[str] = []
    order = [kind.name for kind in PIN_KINDS]
    pins = with_operators((*_artifact_pins(context), *pins_in(context)), context.tree, context, "", lambda _: False)
    for pin in sorted(pins, key=lambda pin: order.index(pin.kind)):
        lines += _described(pin)
        if not pin.is_movable or pin.version == case.to:
            continue
        try:
            change = kind_of(pin).change(pin, Version(case.to), context)
        except FluxUpgradeError as error:
            lines += [f"  {case.to}: {error.slug}: {error.message}", *(f"    {line}" for line in [error.hint] if line)]
            continue
        if change.hold is not None:
            lines += [f"  {case.to}: {change.hold.reason}: {change.hold.detail}", f"    {change.hold.hint}"]
            continue
        lines += [f"  {case.to}: {change.raw}", *(f"    {remark}" for remark in change.remarks)]
        lines += [f"    to do: {each}" for each in change.todo]
        changes.append((pin, change))
        edits[pin.path] += change.replacements
    after = {path: edited(content, edits[path]) for path, content in files.items()}
    return Upgraded(after, "".join(f"{line}\n" for line in lines) or "no pin\n", changes, edits)


def upgrade_checked(case: KindCase, before: Mapping[str, bytes]) -> Upgraded:
    """Upgrade a repository; check that every byte outside the pins stays, and that a second upgrade changes none."""
    upgraded = upgrade(case, before)
    for path, content in before.items():
        assert_kept_outside(content, upgraded.files[path], upgraded.edits[path])
    again = upgrade(case, upgraded.files)
    assert again.files == upgraded.files, f"a second upgrade changes the files again:\n{again.report}"
    return upgraded


def _artifact_pins(context: PinContext) -> Iterator[Pin]:
    """The references to the artifact that the run is about."""
    if context.own is not None:
        yield from artifact.pins_of(references(context.tree, context.own.address), context.own)


def _described(pin: Pin) -> Iterator[str]:
    yield f"{pin.path}:{pin.line} {pin.kind} {pin.role} {pin.state} {pin.raw!r} = {pin.version or 'no release'}"
    yield f"  {pin.where}"
    if pin.folder is not None:
        yield f"  folder: {pin.folder or 'the root'}"
    if pin.owner:
        yield f"  owner: {pin.owner}"
    if pin.reason:
        yield f"  reason: {pin.reason}"
    if pin.hint:
        yield f"  next step: {pin.hint}"
    for remark in pin.remarks:
        yield f"  note: {remark}"
