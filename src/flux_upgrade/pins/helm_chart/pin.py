"""The community's Helm chart ``flux2``: its version, and the release of Flux that it installs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.text import TextEdit
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import BY_HAND, Reading, floating, judged, not_looked_up, unknown, unknown_pin
from flux_upgrade.pins.formats.resource_sets import objects_and_made
from flux_upgrade.pins.helm_chart import files as chart_files
from flux_upgrade.pins.helm_chart import flux_objects, in_terraform
from flux_upgrade.pins.helm_chart import index as chart_index
from flux_upgrade.pins.objects import chart_patches
from flux_upgrade.pins.objects.chart_place import CHART, ChartVersionPlace, naming_the_chart
from flux_upgrade.pins.objects.terraform_resources import without_terraform
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Value, as_number, is_variable

NAME = "helm-chart"

_NEWEST = ("", "*", "latest")
_ENTRY = re.compile(
    rf"""^[ \t]*(?:-[ \t]+)?chart:[ \t]*["']?(?:[\w.:/-]+/)?{CHART}["']?[ \t]*(?:\#.*)?\r?$""", re.MULTILINE
)
_HOLDS_CHARTS = re.compile(r"^[ \t]*kind:[ \t]*Helm(?:Release|Chart)\b|^releases:", re.MULTILINE)


def read_place(place: ChartVersionPlace, index: chart_index.Index, context: PinContext) -> Reading:
    """What a place says, and which Flux that is."""
    text = "" if place.version is None else place.version.text
    trouble = _trouble(place, text)
    if trouble is not None:
        return trouble
    locked = _locked(place, text)
    if isinstance(locked, Reading):
        return locked
    if isinstance(place.source, Reading):
        return place.source
    if not locked and text in _NEWEST:
        return floating("the newest version of the chart is installed")
    answer = index.resolve(place.source, locked or text)
    if isinstance(answer, Reading):
        return answer
    is_exact = bool(locked) or ranges.is_exact(text)
    problem = _mismatch(place, place.source, answer.chart, context) if is_exact else None
    return problem or Reading(PinState.EXACT if is_exact else PinState.RANGE, answer.flux)


def _trouble(place: ChartVersionPlace, text: str) -> Reading | None:
    if is_variable(text):
        return unknown(
            f"the version is a variable: {text}",
            "write the version as plain text, or edit the variable where it is set",
        )
    version = place.version
    if place.trouble[0]:
        return unknown(*place.trouble)
    if version is not None and version.reason:
        return unknown(version.reason, "write the version as plain text")
    number = "" if version is None else as_number(version, place.file.content)
    if number:
        return unknown(number, "put the version in quotes")
    if text not in _NEWEST and ranges.parsed(text) is None:
        return unknown(f"{text} is neither a chart version nor a range")
    return None


def _locked(place: ChartVersionPlace, text: str) -> str | Reading:
    """The version of the chart that a lock file decides; empty where there is none."""
    lock = place.lock
    if lock is None or not lock.versions:
        return ""
    wanted = "*" if text in _NEWEST else text
    able = [each for each in lock.versions if ranges.allows(wanted, chart_index.tag_of(each))]
    if able:
        return able[0]
    return unknown(
        f"{lock.path} has chart version {lock.versions[0]}, which does not match {text}", f"run `{lock.command}` first"
    )


def _mismatch(place: ChartVersionPlace, repository: str, chart: str, context: PinContext) -> Reading | None:
    """Whether a digest that stands beside the version is another's. It is what Flux goes by."""
    if place.digest is None:
        return None
    try:
        actual = context.artifacts.digest(chart_index.oci_name(repository), chart_index.oci_tag(chart))
    except (SourceUnavailable, UntrustedArchive) as error:
        return not_looked_up(f"the digest of {chart}", error)
    if actual == place.digest.text and not place.digest.reason:
        return None
    return unknown(
        f"the digest does not belong to the tag {chart_index.oci_tag(chart)}, and Flux uses the digest",
        "set a tag and a digest that belong together",
    )


_PATCHED = unknown("a kustomization uses the file as a patch of another version reference")


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every version of the chart. Asks for the index of each repository that the chart comes from."""
    known, index = without_terraform(files), chart_index.Index(context.charts)
    places = [
        *flux_objects.places(known, context),
        *chart_files.places(known, context.tree),
        *in_terraform.places(files, context.tree),
    ]
    pins = _broken(known)
    if places:
        pins += [
            _pin(place, _PATCHED if place.file.path in context.tree.patch_files else read_place(place, index, context))
            for place in places
        ]
        taken = {(each.file.path, each.line) for each in places}
        for each in chart_patches.patches(known, [place.target for place in places], context.tree):
            if (each.file.path, each.line) not in taken:
                reason = f"it is a patch that overrides {each.of}"
                pins.append(unknown_pin(each.file, NAME, each.spot, reason, BY_HAND))
    yield from sorted(dict.fromkeys(pins), key=lambda pin: (pin.path, pin.line))


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the newest version of the chart that installs ``target``. Raises as ``KindModule.change``."""
    place = pin.details
    if not isinstance(place, ChartVersionPlace) or not isinstance(place.source, str):
        raise TypeError(pin.kind)
    versions = context.charts.versions(place.source, CHART)
    chart = chart_index.for_release(versions, target)
    if place.lock is not None:
        raise UnsupportedPin(
            f"{place.lock.path} also records the chart and would become outdated",
            hint=f"set version {chart} in {pin.path}, run `{place.lock.command}`, then commit both files",
        )
    if place.version is None:
        raise UnsupportedPin(f"{pin.where} is not set", hint=f"state {chart}")
    text = place.version.text
    if pin.state is PinState.RANGE:
        return _range_change(place.version, chart, target, versions)
    new = chart_index.oci_tag(chart) if place.is_tag else chart_index.exactly(text, chart)
    digest = _digest(context, place, place.source, chart)
    said = (f"chart version {chart} installs Flux {target}",)
    if digest is None:
        return PinChange((place.version.replaced(new),), new, said)
    return PinChange((place.version.replaced(new), digest), f"{new}@{digest.new}", said)


def _range_change(version: Value, chart: str, target: str, versions: Mapping[str, str]) -> PinChange:
    text = version.text
    if ranges.allows(text, chart_index.tag_of(chart)):
        return PinChange((), text, (f"the range {text} already includes chart version {chart} with Flux {target}",))
    new = chart_index.raised(text, chart, target, versions)
    return PinChange((version.replaced(new),), new, (f"the range selects chart version {chart} with Flux {target}",))


def _digest(context: PinContext, place: ChartVersionPlace, repository: str, chart: str) -> TextEdit | None:
    """The digest of another version; None where none is stated.

    Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive.
    """
    if place.digest is None:
        return None
    name = chart_index.oci_name(repository)
    digest = context.artifacts.digest(name, chart_index.oci_tag(chart))
    if digest is None:
        raise ReleaseNotFound(f"{name} has no tag {chart_index.oci_tag(chart)} yet", hint="run again later")
    return place.digest.replaced(digest)


def _pin(place: ChartVersionPlace, reading: Reading) -> Pin:
    version, digest = place.version, place.digest
    written = "" if version is None else version.text
    raw = written if digest in (None, version) else f"{written}@{digest.text}"
    remarks = place.remarks
    if place.lock is not None and reading.state is PinState.EXACT:
        remarks = (f"{place.lock.path} also records the chart and selects the version", *remarks)
    pin = judged(unknown_pin(place.file, NAME, (place.line, place.where, raw)), reading)
    return pin._replace(remarks=remarks, details=place)


def _broken(files: Sequence[File]) -> list[Pin]:
    """Documents that are no YAML as they stand, and have an entry of the chart."""
    return [
        unknown_pin(
            file,
            NAME,
            (each.line + each.text.count("\n", 0, match.start()), f"chart {CHART}", ""),
            f"the file is not valid YAML (it may be a template): {each.message}",
            BY_HAND,
        )
        for file in naming_the_chart(files)
        for each in objects_and_made(file)
        if isinstance(each, BrokenDocument) and _HOLDS_CHARTS.search(each.text)
        for match in _ENTRY.finditer(each.text)
    ]
