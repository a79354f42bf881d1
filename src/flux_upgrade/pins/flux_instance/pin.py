"""``distribution.version`` of a FluxInstance, by itself or among the values of the chart flux-instance.

The flux-operator installs the highest release that it admits among those that the artifact, or the
operator's own image, holds (flux-operator internal/builder/semver.go, MatchVersion).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.manifests.images import kept_distribution
from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.text import capitalized, first_few
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.context import OperatorRelease, PinContext
from flux_upgrade.pins.flux_instance import in_charts, in_terraform
from flux_upgrade.pins.flux_instance import not_editable as unknown
from flux_upgrade.pins.flux_instance.version_range import choice_of, moved_along, notes
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.ranges import is_nothing
from flux_upgrade.pins.formats.readings import refusal, unknown_pin
from flux_upgrade.pins.formats.resource_sets import objects_and_made
from flux_upgrade.pins.objects import helmfile
from flux_upgrade.pins.objects.flux_distribution import (
    CHART,
    CHART_RANGE,
    ChartSources,
    Distribution,
    chart_sources,
    filled,
    is_instance,
    is_release,
    of_instance,
    of_release,
    without_other_releases,
)
from flux_upgrade.pins.objects.helmfile_values import HelmfileValues
from flux_upgrade.pins.objects.release_values import Stated
from flux_upgrade.pins.objects.terraform_resources import without_terraform
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role, reported_pin
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, as_number, is_variable

NAME = "flux-instance"

_RELEASE = re.compile(r"\d+\.\d+\.\d+.*")
_RENDERED = "edit the version in the file that the template reads, or set it in the release's values"
_WHOLE = "edit it, or set version and registry in one place"
_MOST = 5  # HelmReleases, and resources of Terraform, that are listed with the line that sets their version


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every version of a FluxInstance, or of a HelmRelease of its chart, and every patch of it."""
    found: dict[tuple[str, int], tuple[Pin, list[str]]] = {}
    for count, pin in enumerate(_all(files, context)):
        # Two HelmReleases may share a file of values, two resources of Terraform a variable.
        details = pin.details if isinstance(pin.details, Distribution) else None
        start = details.version.value.start if details and details.version else 0
        _, owners = found.setdefault((pin.path, start or -1 - count), (pin, []))
        owners += [details.owner] if details else []
    for pin, owners in found.values():
        others = [each for each in dict.fromkeys(owners) if each != owners[0]]
        remark = f"the same line sets the version of {first_few(others, _MOST)}"
        yield pin._replace(remarks=(*pin.remarks, remark)) if others else pin


def _all(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    others = without_terraform(files)
    sources = chart_sources(others)
    for file in without_other_releases(others, sources):
        yield from unknown.of_json_patch(file, NAME)
        for each in objects_and_made(file):
            yield from _pins(file, each, sources, context)
    for found in in_charts.found(others, NAME, context):
        yield found if isinstance(found, Pin) else _pin(found, context)
    for file, one in in_terraform.distributions(files, context):
        if isinstance(one, BrokenDocument):
            yield from unknown.of_broken(file, one, NAME)
        else:
            yield _pin(one, context)


def limited(pin: Pin, operator: OperatorRelease, context: PinContext) -> Pin:
    """The pin in a cluster with this flux-operator, whose image may not have what a range admits."""
    found = pin.details
    if not (isinstance(found, Distribution) and pin.is_movable and found.is_of_image):
        return pin
    again = _pin(found._replace(operator=operator), context)
    if not context.moves_operator:
        return again._replace(remarks=pin.remarks)
    # It admits a release once the flux-operator has changed, which is not left to you.
    return pin if again.state is PinState.UNKNOWN else again._replace(remarks=pin.remarks, hint="")


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the release, or raise the range. Raises as ``KindModule.change``."""
    distribution = pin.details
    place = f"{pin.path}:{pin.line}"
    if not isinstance(distribution, Distribution) or distribution.version is None:
        raise UnsupportedPin(f"{place}: {pin.where} is not a Flux release")
    choice = moved_along(choice_of(distribution, context), distribution, target, context)
    if choice.operator and target not in choice.releases:
        return PinChange(hold=Hold(HoldReason.OPERATOR_TOO_OLD, choice.lacking(target), choice.remedy(target)))
    choice.require(target, place)
    value = distribution.version.value
    said = (choice.doubt,) if choice.doubt else ()
    if pin.state is PinState.EXACT:
        new = _RELEASE.sub(target.removeprefix("v"), value.text)
        if choice.is_single:
            said = (*said, f"{capitalized(choice.origin)} decides what is installed.")
        return PinChange((value.replaced(new),), new, (*said, *notes(choice, distribution, pin.version, target)))
    new = ranges.require_raised(value.text, target, place)
    said = (*said, f"{capitalized(choice.taken(new))}.", *notes(choice, distribution, pin.version, target))
    return PinChange((value.replaced(new),) if new != value.text else (), new, said)


def _pins(file: File, each: Object | BrokenDocument, sources: ChartSources, context: PinContext) -> Iterator[Pin]:
    if isinstance(each, BrokenDocument):
        yield from unknown.of_broken(file, each, NAME)
    elif file.path in context.tree.patch_files:
        yield from unknown.of_merge_patch(file, each, NAME)
    elif is_instance(each):
        if each.has("spec", "distribution"):
            yield from (_pin(found, context) for found in filled(of_instance(file, each), each.maker))
    elif is_release(each, sources):
        is_elsewhere = in_charts.is_installed_by(each, context)
        for found in () if is_elsewhere else of_release(file, each, context.config_maps):
            yield from (_pin(one, context) for one in filled(found, each.maker))
    else:
        yield from unknown.of_patches(file, each, NAME)
        yield from _of_helmfile(file, each, context)


def _of_helmfile(file: File, each: Object, context: PinContext) -> Iterator[Pin]:
    values = HelmfileValues(context.tree)
    for release in helmfile.releases(file, each):
        if helmfile.is_of(release, CHART):
            for distribution in values.distributions(release):
                pin = _pin(distribution, context)
                doubt, hint = helmfile.doubt(File(pin.path, pin.content), pin.line)
                unclear = pin._replace(state=PinState.UNKNOWN, version=NO_VERSION, reason=doubt, hint=hint)
                yield unclear if doubt else pin
        elif helmfile.is_rendered(release, CHART):
            spot = each.line_at(*release.entry), f"{release.called}, chart", release.chart
            yield reported_pin(file, NAME, spot, *helmfile.RENDERED)


def _pin(distribution: Distribution, context: PinContext) -> Pin:
    if distribution.version is None:
        return _without_version(distribution, context)
    pin = _bare(distribution, distribution.version)
    reason, hint = _unclear(distribution, distribution.version)
    if distribution.overriding:
        is_release = distribution.field.startswith("spec.")
        hint = f"set {distribution.field}.version" if is_release else "set it in one file only"
        reason = f"{distribution.overriding}, may override it"
    if reason:
        return pin._replace(reason=reason, hint=hint)
    text = distribution.version.value.text
    if ranges.is_exact(text):
        return pin._replace(state=PinState.EXACT, version=Version(f"v{text.lstrip('=v').partition('+')[0]}"))
    return _range(pin, distribution, text, context)


def _range(pin: Pin, distribution: Distribution, text: str, context: PinContext) -> Pin:
    try:
        choice = choice_of(distribution, context)
    except (UnsupportedPin, ReleaseNotFound, SourceUnavailable, UntrustedArchive) as error:
        why = f"the range could not be resolved: {error.message}"
        return pin._replace(reason=why, hint=error.hint, held=refusal(error, why))
    version = choice.release(text)
    if choice.doubt:
        reason = f"the range could not be resolved: it may depend on {distribution.unread}"
        return pin._replace(reason=reason, hint=f"set {distribution.field}.artifact")
    if not version:
        reason = f"{choice.origin if choice.is_frozen else 'Flux'} has no release in the range {text}"
        newest = ranges.newest(text, choice.latest)
        if choice.operator and newest:
            hint = choice.remedy(newest)
            return pin._replace(reason=reason, hint=hint, held=Hold(HoldReason.OPERATOR_TOO_OLD, reason, hint))
        return pin._replace(reason=reason, hint="write a range that includes a release")
    said = choice.reason(text)
    hint = choice.remedy(ranges.newest(text, choice.latest)) if choice.is_behind(text) else ""
    return pin._replace(
        state=PinState.RANGE, version=Version(version), reason=said, hint=hint, remarks=(*pin.remarks, *choice.remarks)
    )


def _without_version(distribution: Distribution, context: PinContext) -> Pin:
    pin = _bare(distribution, None)
    if not distribution.of_chart:
        return pin._replace(reason="it has no version: another file completes it", hint=_WHOLE)
    if distribution.unread:
        reason = f"its version may be set in {distribution.unread}"
        if distribution.is_rendered:
            return pin._replace(role=Role.REPORTED, reason=reason, hint=_RENDERED)
        return pin._replace(reason=reason, hint=f"set {distribution.field}.version", is_cut=distribution.is_cut)
    default = _range(pin, distribution, CHART_RANGE, context)
    if default.state is PinState.UNKNOWN:
        return default
    reason = f"no version is set, the chart's default is {CHART_RANGE}, and {default.reason}"
    return default._replace(state=PinState.FLOATING, reason=reason)


def _bare(distribution: Distribution, stated: Stated | None) -> Pin:
    """With everything but what it comes to."""
    file = stated.file if stated else distribution.file
    is_own = file.path == distribution.file.path or not distribution.of_chart
    own = distribution.owner if is_own else f"values of {distribution.owner}"
    remarks = kept_distribution(distribution.registry.value.text) if distribution.registry else ()
    if distribution.is_disabled:
        remarks += ("reconciliation of this instance is disabled: nothing changes in the cluster until you enable it",)
    spot = (
        stated.value.line if stated else distribution.line,
        f"{own}, {stated.field if stated else f'{distribution.field}.version'}",
        stated.value.text if stated else "",
    )
    pin = unknown_pin(file, NAME, spot)._replace(remarks=remarks, details=distribution)
    return pin._replace(folder=distribution.folder, sync=distribution.sync)


def _unclear(distribution: Distribution, stated: Stated) -> tuple[str, str]:
    """Why what is stated is not to be read as it stands, and what to do; empty where it is."""
    text, line = stated.value.text, f"{stated.file.path}:{stated.value.line}"
    if stated.value.reason:
        return f"{stated.value.reason} ({line})", "write the version as plain text"
    if is_variable(text):
        return f"a variable sets it ({line})", "edit the variable where it is set"
    if is_nothing(stated.value):
        return "it is empty", "set a version or a range"
    if distribution.registry is None and not distribution.of_chart:
        return "it has no registry, which a FluxInstance requires: another file completes it", _WHOLE
    number = as_number(stated.value, stated.file.content)
    if number or (not ranges.is_exact(text) and ranges.parsed(text) is None):
        return number or f"{text} is neither a version nor a range", "write it like 2.9.4 or 2.9.x"
    return "", ""
