"""Pins of the flux-operator: chart, image, manifests. They are reported, or updated with Flux if you ask.

flux-operator docs/guides/operator/operator-install.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import OperatorRelease, PinContext
from flux_upgrade.pins.flux_operator import change as moves
from flux_upgrade.pins.flux_operator.places import (
    OPERATOR,
    OperatorPlace,
    artifact,
    filled,
    image,
    images,
    in_chart,
    in_helmfile,
    in_terraform,
    override,
    places,
)
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.kustomize_patches import PatchedPlace, inline, operations
from flux_upgrade.pins.formats.readings import PATCH_NOT_APPLIED, unknown_pin
from flux_upgrade.pins.formats.resource_sets import objects_and_made
from flux_upgrade.pins.objects import chart_patches, flux_distribution, helmfile
from flux_upgrade.pins.objects.chart_place import last
from flux_upgrade.pins.objects.helmfile_values import HelmfileValues
from flux_upgrade.pins.objects.operator_table import included
from flux_upgrade.pins.objects.terraform_resources import without_terraform
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Value, is_variable, readable

NAME = "flux-operator"

_OF_CHARTS = ("HelmRelease", "HelmChart", "OCIRepository")
_REASON = "it is the flux-operator's own version, which is not updated together with Flux"
_HINT = "keep it at a version that supports your Flux version"
_INSTANCE = "it is the version of the chart flux-instance, which does not set the Flux version"
_INSTANCE_HINT = "keep it at the version of your flux-operator"
_FLOATS = "the newest flux-operator is installed, which supports the newest Flux"


def patches(files: Sequence[File], tree: Snapshot) -> Iterator[PatchedPlace]:
    """Patches of charts and manifests that are in ``files``, and of the operator's image."""
    charts = {
        (each.text_at("kind"), each.text_at("metadata", "name"))
        for file in files
        for each in file.readable
        if each.text_at("kind") in _OF_CHARTS and any(not place.is_of_instance for place in places(file, each))
    }
    for patch in chart_patches.patches(files, charts, tree):
        yield patch._replace(of="")
    for file in files:
        for each in file.readable:
            for text in inline(each, file.content):
                found = [
                    place._replace(where=f"patch of {place.where}")
                    for inner in readable(text.content)
                    for place in images(inner)
                ]
                for operation in operations(text.content):
                    value = Value(operation.text, 0, 0, operation.line)
                    patched = image(value, f"JSON patch, {'.'.join(operation.path)}")
                    if patched is not None and last(patched.repository) == OPERATOR:
                        found.append(patched)
                for place in found:
                    yield PatchedPlace(file, text.before + place.line, place.where, place.raw)


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every pin of the operator. The registry is asked what a release knows only if the pins are updated."""
    tree = context.tree
    found = list(_places(files, context))
    if not context.moves_operator:
        # A patch, or the image in a chart's values, may set the version that is installed.
        others = without_terraform(files) if found else ()
        in_values = (place for file in others for each in file.readable for place in override(file, each, context))
        is_sure = next(chain(in_values, patches(others, tree)), None) is None
        yield from (_reported(file, place, is_sure=is_sure) for file, place in found)
        return
    for file, place in found:
        if place.trouble == helmfile.RENDERED or place.is_of_instance:
            yield _reported(file, place, is_sure=False)
            continue
        pin = unknown_pin(file, NAME, (place.line, place.where, moves.raw_of(place)))
        pin = pin._replace(role=Role.OPERATOR, folder=place.folder, details=place)
        if file.path in tree.patch_files:
            yield pin._replace(reason=PATCH_NOT_APPLIED[0], hint=PATCH_NOT_APPLIED[1])
        elif moves.is_floating(place):
            yield pin._replace(state=PinState.FLOATING, reason=_FLOATS)
        else:
            yield moves.judged(pin, place, context)
    taken = {(file.path, place.line) for file, place in found}
    for patch in dict.fromkeys(patches(without_terraform(files), context.tree)):
        if (patch.file.path, patch.line) not in taken:
            yield unknown_pin(patch.file, NAME, patch.spot, *PATCH_NOT_APPLIED)._replace(role=Role.OPERATOR)


def change(pin: Pin, target: Version, context: PinContext) -> PinChange:
    """Raise the operator to a release that knows ``target``, which may be below the newest that it knows."""
    place = pin.details
    if pin.role is not Role.OPERATOR or not isinstance(place, OperatorPlace):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {_REASON}", hint=_HINT)
    return moves.made(pin, place, target, context)


def _places(files: Sequence[File], context: PinContext) -> Iterator[tuple[File, OperatorPlace]]:
    """Every place; those of the artifact last, each once: two HelmReleases may share a file of values."""
    others = without_terraform(files)
    sources = flux_distribution.chart_sources(others)
    overrides: set[tuple[str, int]] = set()
    artifacts: dict[tuple[str, int], tuple[File, OperatorPlace]] = {}
    yield from in_terraform(files, context.tree)
    for file in others:
        yield from ((file, place) for place in in_chart(file, context.tree))
    for file in flux_distribution.without_other_releases(others, sources):
        for each in objects_and_made(file):
            if isinstance(each, BrokenDocument):
                for line in helmfile.in_broken(each, OPERATOR):
                    yield file, OperatorPlace(f"chart {OPERATOR}", line, "", None, trouble=helmfile.TEMPLATE)
                continue
            stated = (place for place in places(file, each) if place.raw or not place.is_of_instance)
            own = (*stated, *in_helmfile(file, each, context.tree))
            yield from ((file, one) for place in own for one in filled(place, each.maker))
            for at, place in override(file, each, context) if context.moves_operator else ():
                new = {(at.path, one.start): (at, one) for one in filled(place, each.maker)}
                yield from (found for place_of, found in new.items() if place_of not in overrides)
                overrides |= new.keys()
            for distribution in _distributions(file, each, sources, context):
                of_artifact = artifact(distribution)
                if of_artifact is not None:
                    file_of, place_of = of_artifact
                    artifacts[file_of.path, place_of.start] = of_artifact
    yield from artifacts.values()


def _distributions(
    file: File, each: Object, sources: flux_distribution.ChartSources, context: PinContext
) -> Iterator[flux_distribution.Distribution]:
    """What an object states of one; values, and so the artifact, may be in another file."""
    if flux_distribution.is_instance(each):
        yield from flux_distribution.filled(flux_distribution.of_instance(file, each), each.maker)
    elif flux_distribution.is_release(each, sources):
        for found in flux_distribution.of_release(file, each, context.config_maps):
            yield from flux_distribution.filled(found, each.maker)
    values = HelmfileValues(context.tree)
    for release in helmfile.releases(file, each):
        if helmfile.is_of(release, flux_distribution.CHART):
            yield from values.distributions(release)


def _reported(file: File, place: OperatorPlace, *, is_sure: bool) -> Pin:
    """``is_sure``: whether what stands there is what is installed."""
    state, detail = _state(place)
    own = "" if place.is_of_instance else moves.release_at(place)
    known = included(own)
    if known:
        detail = f"{own} supports Flux up to {known[-1]}"
    reason, hint = (_INSTANCE, _INSTANCE_HINT) if place.is_of_instance else (_REASON, _HINT)
    reason += f"; {detail}" if detail else ""
    pin = reported_pin(file, NAME, (place.line, place.where, place.raw), reason, hint)
    release = OperatorRelease(own, f"{file.path}:{place.line}", known) if known and is_sure else None
    return pin._replace(state=state, details=place if place.is_artifact else release)


def _state(place: OperatorPlace) -> tuple[PinState, str]:
    text = place.raw
    doubt = place.trouble[0] or (place.value.reason if place.value is not None else "")
    if doubt:
        return PinState.UNKNOWN, doubt
    if is_variable(text):
        return PinState.UNKNOWN, "a variable sets it"
    if text in moves.NEWEST:
        return PinState.FLOATING, ""
    if "sha256:" in text or ranges.is_exact(text):
        return PinState.EXACT, ""
    if ranges.parsed(text) is not None:
        return PinState.RANGE, ""
    return PinState.UNKNOWN, "it is neither a version nor a range"
