"""The community's Helm chart ``flux2``: its version, and the release of Flux that it installs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.text_edit import TextEdit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.yaml_places import BrokenDocument, Value, as_number, is_variable
from flux_upgrade.pins.helm_chart import files as chart_files
from flux_upgrade.pins.helm_chart import flux_objects
from flux_upgrade.pins.helm_chart import index as chart_index
from flux_upgrade.pins.objects import chart_patches
from flux_upgrade.pins.objects.chart_place import CHART, ChartVersionPlace, Files, Lock
from flux_upgrade.pins.pin import Pin, PinChange, PinState, SourceFile

NAME = "helm-chart"

BY_HAND = "change it by hand"
_NEWEST = ("", "*", "latest")
_ENTRY = re.compile(
    rf"""^[ \t]*(?:-[ \t]+)?chart:[ \t]*["']?(?:[\w.:/-]+/)?{CHART}["']?[ \t]*(?:\#.*)?\r?$""", re.MULTILINE
)
_HOLDS_CHARTS = re.compile(r"^[ \t]*kind:[ \t]*Helm(?:Release|Chart)\b|^releases:", re.MULTILINE)


class ChartReading(NamedTuple):
    """What a place says today."""

    state: PinState
    version: str = ""
    reason: str = ""
    hint: str = ""


def read_place(place: ChartVersionPlace, index: chart_index.Index, context: PinContext) -> ChartReading:
    """What a place says, and which Flux that is."""
    text = "" if place.version is None else place.version.text
    trouble = _trouble(place, text)
    if trouble is not None:
        return trouble
    locked = _locked(place, text)
    if isinstance(locked, ChartReading):
        return locked
    if place.source.reason:
        return _unknown(place.source.reason, place.source.hint)
    if not locked and text in _NEWEST:
        return ChartReading(
            PinState.FLOATING, reason="the newest version of the chart is taken, whichever it is"
        )
    answer = index.resolve(place.source.repository, locked or text)
    if not answer.flux:
        return _unknown(answer.reason, answer.hint)
    is_exact = bool(locked) or ranges.is_exact(text)
    problem = _mismatch(place, answer.chart, context) if is_exact else None
    return problem or ChartReading(PinState.EXACT if is_exact else PinState.RANGE, answer.flux)


def _trouble(place: ChartVersionPlace, text: str) -> ChartReading | None:
    """Why the place can neither be read nor changed safely."""
    if is_variable(text):
        return _unknown(
            f"the version is a variable: {text}", "write it out, or upgrade it where the variable is set"
        )
    if place.trouble[0]:
        return _unknown(*place.trouble)
    return None if place.version is None else _spelling(place.version, place.file.content)


def _spelling(version: Value, content: bytes) -> ChartReading | None:
    text = version.text
    if version.reason:
        return _unknown(version.reason, "write the version out where it is used")
    number = as_number(version, content)
    if number:
        return _unknown(number, "put the version in quotes")
    if text not in _NEWEST and ranges.parsed(text) is None:
        return _unknown(f"{text} is neither a version of a chart nor a range of them", BY_HAND)
    return None


def _locked(place: ChartVersionPlace, text: str) -> str | ChartReading:
    """The version of the chart that a lock file decides; empty where there is none."""
    lock = place.lock
    if lock is None or not lock.versions:
        return ""
    wanted = "*" if text in _NEWEST else text
    able = [each for each in lock.versions if ranges.allows(wanted, chart_index.tag_of(each))]
    if able:
        return able[0]
    return _unknown(
        f"{lock.path} holds chart version {lock.versions[0]}, which is not what {text} asks for",
        f"run `{lock.command}` first",
    )


def _mismatch(place: ChartVersionPlace, chart: str, context: PinContext) -> ChartReading | None:
    """Whether a digest that stands beside the version is another's. It is what Flux goes by."""
    if place.digest is None:
        return None
    try:
        actual = context.artifacts.digest(
            chart_index.oci_name(place.source.repository), chart_index.oci_tag(chart)
        )
    except (SourceUnavailable, UntrustedArchive) as error:
        return _unknown(f"whether the digest is that of {chart} cannot be told: {error.message}", error.hint)
    if actual == place.digest.text and not place.digest.reason:
        return None
    return _unknown(
        f"the digest is not that of the tag {chart_index.oci_tag(chart)}, and Flux goes by the digest",
        "state a tag and a digest that belong together",
    )


def _unknown(reason: str, hint: str) -> ChartReading:
    return ChartReading(PinState.UNKNOWN, reason=reason, hint=hint)


class _ChartDetails(NamedTuple):
    repository: str
    version: Value | None
    digest: Value | None
    lock: Lock | None
    is_tag: bool


_PATCHED = ChartReading(
    PinState.UNKNOWN,
    reason="a kustomization takes the file for a patch of another pin",
    hint=BY_HAND,
)


def find(files: Sequence[SourceFile], context: PinContext) -> Iterator[Pin]:
    """Every version of the chart. Asks for the index of each repository that the chart comes from."""
    known, index = Files(files), chart_index.Index(context.charts)
    places = [*flux_objects.places(known), *chart_files.places(known, context.tree)]
    pins = _broken(known)
    if places:
        patches = chart_patches.ChartPatches(known, context.tree)
        pins += [
            _pin(
                each,
                _PATCHED
                if each.file.path in context.kustomizations.patch_files
                else read_place(each, index, context),
            )
            for each in places
        ]
        taken = {(each.file.path, each.line) for each in places}
        pins += [_patch(each) for each in patches.of(places) if (each.file.path, each.line) not in taken]
    yield from sorted(dict.fromkeys(pins), key=lambda pin: (pin.path, pin.line))


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the newest version of the chart that installs ``target``. Raises as ``KindModule.change``."""
    details = pin.details
    if not isinstance(details, _ChartDetails):
        raise TypeError(pin.kind)
    versions = context.charts.versions(details.repository, CHART)
    chart = chart_index.for_release(versions, target)
    if details.lock is not None:
        raise UnsupportedPin(
            f"{details.lock.path} holds the chart, too, and would be left behind",
            hint=f"set version {chart} in {pin.path}, run `{details.lock.command}`, and commit both",
        )
    if details.version is None:
        raise UnsupportedPin(f"{pin.where} is not stated", hint=f"state {chart}")
    text = details.version.text
    if pin.state is PinState.RANGE:
        return _range_change(details.version, chart, target, versions)
    new = chart_index.oci_tag(chart) if details.is_tag else chart_index.exactly(text, chart)
    digest = _digest(context, details, chart)
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


def _digest(context: PinContext, details: _ChartDetails, chart: str) -> TextEdit | None:
    """The digest of another version; None where none is stated.

    Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive.
    """
    if details.digest is None:
        return None
    repository = chart_index.oci_name(details.repository)
    digest = context.artifacts.digest(repository, chart_index.oci_tag(chart))
    if digest is None:
        raise ReleaseNotFound(
            f"{repository} has no tag {chart_index.oci_tag(chart)} yet", hint="try again later"
        )
    return details.digest.replaced(digest)


def _pin(place: ChartVersionPlace, reading: ChartReading) -> Pin:
    version, digest = place.version, place.digest
    written = "" if version is None else version.text
    return Pin(
        place.file.path,
        NAME,
        place.file.content,
        place.line,
        place.where,
        written if digest in (None, version) else f"{written}@{digest.text}",
        reading.state,
        version=reading.version,
        reason=reading.reason,
        hint=reading.hint,
        remarks=(*_about(place, reading), *place.remarks),
        details=_ChartDetails(place.source.repository, version, digest, place.lock, place.is_tag),
    )


def _about(place: ChartVersionPlace, reading: ChartReading) -> Iterator[str]:
    if place.lock is not None and reading.state is PinState.EXACT:
        yield f"{place.lock.path} holds the chart, too, and decides"


def _patch(each: chart_patches.ChartPatch) -> Pin:
    return Pin(
        each.file.path,
        NAME,
        each.file.content,
        each.line,
        each.where,
        each.raw,
        PinState.UNKNOWN,
        reason=f"it is a patch: what stands there takes the place of what {each.of} states",
        hint=BY_HAND,
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
            PinState.UNKNOWN,
            reason=f"the file is a template, or broken: {each.message}",
            hint=BY_HAND,
        )
        for file in files.naming_the_chart()
        for each in files.objects(file)
        if isinstance(each, BrokenDocument) and _HOLDS_CHARTS.search(each.text)
        for match in _ENTRY.finditer(each.text)
    ]
