"""The community's Helm chart ``flux2``: its version, and the release of Flux that it installs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.errors import ReleaseNotFound, UnsupportedPin
from flux_upgrade.kinds.formats import ranges
from flux_upgrade.kinds.formats.yaml_places import Broken, Value
from flux_upgrade.kinds.parts import chart_files, chart_flux, chart_index, chart_patches, chart_seen
from flux_upgrade.kinds.parts.chart_place import CHART, Files, Lock, Place
from flux_upgrade.kinds.pin import Pin, PinChange, SourceFile, Standing
from flux_upgrade.kinds.world import World
from flux_upgrade.textedit import Replacement
from flux_upgrade.values import NamedTuple

NAME = "helm-chart"

_ENTRY = re.compile(
    rf"""^[ \t]*(?:-[ \t]+)?chart:[ \t]*["']?(?:[\w.:/-]+/)?{CHART}["']?[ \t]*(?:\#.*)?\r?$""", re.MULTILINE
)
_HOLDS_CHARTS = re.compile(r"^[ \t]*kind:[ \t]*Helm(?:Release|Chart)\b|^releases:", re.MULTILINE)


class _Details(NamedTuple):
    repository: str
    version: Value | None
    digest: Value | None
    lock: Lock | None
    is_tag: bool


_PATCHED = chart_seen.Seen(
    Standing.UNKNOWN,
    reason="a kustomization takes the file for a patch of another pin",
    hint=chart_seen.BY_HAND,
)


def find(files: Sequence[SourceFile], world: World) -> Iterator[Pin]:
    """See ``PinKind``. Asks for the index of each repository that a version of the chart comes from."""
    known, index = Files(files), chart_index.Index(world.charts)
    places = [*chart_flux.places(known), *chart_files.places(known, world.tree)]
    pins = _broken(known)
    if places:
        patches = chart_patches.Patches(known, world.tree)
        pins += [
            _pin(
                each,
                _PATCHED
                if each.file.path in world.kustomizations.patch_files
                else chart_seen.seen(each, index, world),
            )
            for each in places
        ]
        taken = {(each.file.path, each.line) for each in places}
        pins += [_patch(each) for each in patches.of(places) if (each.file.path, each.line) not in taken]
    yield from sorted(dict.fromkeys(pins), key=lambda pin: (pin.path, pin.line))


def change(pin: Pin, target: str, world: World) -> PinChange:
    """See ``PinKind``."""
    details = pin.details
    if not isinstance(details, _Details):
        raise TypeError(pin.kind)
    versions = world.charts.versions(details.repository, CHART)
    chart = chart_index.for_release(versions, target)
    if details.lock is not None:
        raise UnsupportedPin(
            f"{details.lock.path} holds the chart, too, and would be left behind",
            hint=f"set version {chart} in {pin.path}, run `{details.lock.command}`, and commit both",
        )
    if details.version is None:
        raise UnsupportedPin(f"{pin.where} is not stated", hint=f"state {chart}")
    text = details.version.text
    if pin.standing is Standing.RANGE:
        return _range_change(details.version, chart, target, versions)
    new = chart_index.oci_tag(chart) if details.is_tag else chart_index.exactly(text, chart)
    digest = _digest(world, details, chart)
    said = (f"chart version {chart} installs Flux {target}",)
    if digest is None:
        return PinChange((details.version.replaced(new),), new, said)
    return PinChange((details.version.replaced(new), digest), f"{new}@{digest.new}", said)


def _range_change(version: Value, chart: str, target: str, versions: Mapping[str, str]) -> PinChange:
    text = version.text
    if ranges.allows(text, chart_index.tag_of(chart)):
        return PinChange(
            (), text, (f"the range {text} admits chart version {chart}, Flux {target}, as it is",)
        )
    new = chart_index.raised(text, chart, target, versions)
    return PinChange(
        (version.replaced(new),), new, (f"the range comes to chart version {chart}, Flux {target}",)
    )


def _digest(world: World, details: _Details, chart: str) -> Replacement | None:
    """The digest of another version; None where none is stated.

    Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive.
    """
    if details.digest is None:
        return None
    repository = chart_index.oci_name(details.repository)
    digest = world.artifacts.digest(repository, chart_index.oci_tag(chart))
    if digest is None:
        raise ReleaseNotFound(
            f"{repository} has no tag {chart_index.oci_tag(chart)} yet", hint="try again later"
        )
    return details.digest.replaced(digest)


def _pin(place: Place, seen: chart_seen.Seen) -> Pin:
    version, digest = place.version, place.digest
    written = "" if version is None else version.text
    return Pin(
        place.file.path,
        NAME,
        place.file.content,
        place.line,
        place.where,
        written if digest in (None, version) else f"{written}@{digest.text}",
        seen.standing,
        version=seen.version,
        reason=seen.reason,
        hint=seen.hint,
        remarks=(*_about(place, seen), *place.remarks),
        details=_Details(place.source.repository, version, digest, place.lock, place.is_tag),
    )


def _about(place: Place, seen: chart_seen.Seen) -> Iterator[str]:
    if place.lock is not None and seen.standing is Standing.EXACT:
        yield f"{place.lock.path} holds the chart, too, and decides"


def _patch(each: chart_patches.Patch) -> Pin:
    return Pin(
        each.file.path,
        NAME,
        each.file.content,
        each.line,
        each.where,
        each.written,
        Standing.UNKNOWN,
        reason=f"it is a patch: what stands there takes the place of what {each.of} states",
        hint=chart_seen.BY_HAND,
    )


def _broken(files: Files) -> list[Pin]:
    """Documents that are no YAML as they stand, and have an entry of the chart."""
    return [
        Pin(
            file.path,
            NAME,
            file.content,
            each.line + each.text.count("\n", 0, match.start()),
            f"chart {CHART}",
            "",
            Standing.UNKNOWN,
            reason=f"the file is a template, or broken: {each.message}",
            hint=chart_seen.BY_HAND,
        )
        for file in files.naming_the_chart()
        for each in files.objects(file)
        if isinstance(each, Broken) and _HOLDS_CHARTS.search(each.text)
        for match in _ENTRY.finditer(each.text)
    ]
