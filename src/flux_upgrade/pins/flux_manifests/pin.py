"""The artifact flux-manifests, in which Flux publishes itself, where a cluster takes it from.

An OCIRepository, or the distribution of a FluxInstance: source-controller
docs/spec/v1/ocirepositories.md; flux-operator docs/api/v1/fluxinstance.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.oci.reference import is_immutable
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.flux_manifests import registry_contents as contents
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import MADE, PATCH_NOT_APPLIED, RESOURCE_SET, TEMPLATE, judged, unknown_pin
from flux_upgrade.pins.objects.flux_distribution import of_instance as distribution_of
from flux_upgrade.pins.objects.flux_manifests_patches import of_flux_manifests, patches
from flux_upgrade.pins.objects.flux_manifests_reference import (
    SUSPENDED,
    FluxManifestsReference,
    not_served,
    of_instance,
    of_repository,
)
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role
from flux_upgrade.snapshot import passages
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object

NAME = "flux-manifests"

_KIND_LINE = re.compile(
    r"""^[ \t]*(?:- )?["']?kind["']?:[ \t]*["']?OCIRepository["']?[ \t\r]*(?:#.*)?$""", re.MULTILINE
)
_URL_LINE = re.compile(r"""^[^#\n]*\burl["']?:[ \t]*["']?oci://[^\n"']*/flux-manifests\b""", re.MULTILINE)
_FIELDS = ("digest", "semver", "tag")
_OTHER_LAYOUT = (
    "the flux-operator needs directories flux/vX.Y.Z in its artifact, and flux-manifests has none:"
    " check whether the instance gets ready"
)


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every reference to the artifact, and every patch of one."""
    own = [file for file in files if b"flux-manifests" in file.content]
    patch_files = context.tree.patch_files
    names: set[str] = set()
    sources = [file.content for file in files if b"sourceRef" in file.content and b"OCIRepository" in file.content]
    for file in own:
        if file.path in patch_files:
            continue
        for each in file.objects:
            if isinstance(each, BrokenDocument):
                yield from _in_template(file, each)
                continue
            name = each.text_at("metadata", "name")
            found = _in_object(file, each, context)
            if of_repository(each) is None:
                yield from found
                continue
            names.add(name)
            is_taken = any(name.encode() in content for content in sources)
            yield from found if is_taken else map(_unused, found)
    for patch in patches(files, of_flux_manifests(names), patch_files):
        yield unknown_pin(patch.file, NAME, patch.spot, *PATCH_NOT_APPLIED)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the tag, the digest or the range. The registry is asked for the digest of the new tag."""
    reference, place = pin.details, f"{pin.path}:{pin.line}"
    if not isinstance(reference, FluxManifestsReference) or not reference.deciding:
        raise UnsupportedPin(f"{place}: {pin.where} is not a Flux release")
    if reference.semver is not None and reference.digest is None:
        made = _range_changed(pin, reference, target, context)
    else:
        made = _parts_changed(reference, place, target, context)
    if not made.replacements:
        return made
    notes = contents.differences(pin.version, target, context)
    return made._replace(remarks=(*made.remarks, *notes, *not_served(reference, target)))


def _parts_changed(reference: FluxManifestsReference, place: str, target: str, context: PinContext) -> PinChange:
    """The tag and the digest, or whichever there is."""
    contents.require_own_digest(reference, place, context)
    tag = ranges.respelled(target, reference.tag.text) if reference.tag else target
    made = [reference.tag.replaced(tag)] if reference.tag else []
    if reference.digest is None:
        return PinChange(tuple(made), tag, contents.require_tag(reference.repository, tag, target, context))
    digest = contents.new_digest(reference.repository, tag, target, context)
    made.append(reference.digest.replaced(digest))
    return PinChange(tuple(made), f"{tag}@{digest}" if reference.tag else digest)


def _range_changed(pin: Pin, reference: FluxManifestsReference, target: str, context: PinContext) -> PinChange:
    value, place = reference.semver, f"{pin.path}:{pin.line}"
    if value is None or not contents.lets_through(reference.filter, target):
        raise UnsupportedPin(f"{place}: spec.ref.semverFilter excludes {target}", hint="edit or remove the filter")
    if ranges.allows(value.text, target):
        by_itself = f"The range {value.text} includes {target}: Flux installs it automatically."
        return PinChange((), value.text, (by_itself,))
    if pin.state is PinState.EXACT:
        new = value.text[: -len(pin.version[1:])] + target[1:]
    else:
        new = ranges.require_raised(value.text, target, place)
    said = contents.require_tag(reference.repository, target, target, context)
    return PinChange((value.replaced(new),), new, said)


def _in_object(file: File, each: Object, context: PinContext) -> Iterator[Pin]:
    reference = of_repository(each) or of_instance(each)
    if reference is not None:
        pin = _pin(file, reference)
        if reference.tag is not None and is_immutable(reference.tag.text):
            hint = f"run `flux-upgrade upgrade oci://{reference.repository}`"
            yield pin._replace(role=Role.REPORTED, reason="it is your own artifact", hint=hint)
        elif file.path.endswith(passages.ENDS):
            yield pin._replace(reason=MADE[0], hint=MADE[1])
        elif each.text_at("kind") == "FluxInstance":
            folder = distribution_of(file, each).folder
            pin = pin._replace(folder=folder, remarks=(_OTHER_LAYOUT,))
            yield judged(pin, contents.reading_of(reference, file.content, context))
        else:
            suspended = (SUSPENDED,) if each.text_at("spec", "suspend") == "true" else ()
            pin = pin._replace(remarks=suspended)
            yield judged(pin, contents.reading_of(reference, file.content, context))
    for entry in each.entries("spec", "resources") if each.text_at("kind") == "ResourceSet" else ():
        inner = of_repository(each, *entry)
        if inner is not None:
            name = f"ResourceSet {each.text_at('metadata', 'name')}"
            where, (reason, hint) = f"{name}, {inner.place}", RESOURCE_SET
            yield _pin(file, inner)._replace(where=where, reason=reason, hint=hint)


def _unused(pin: Pin) -> Pin:
    """Of an OCIRepository that no Kustomization takes anything from: it installs nothing."""
    hint = "reference it from a Kustomization, or delete it"
    return pin._replace(
        role=Role.REPORTED, reason=pin.reason or "no Kustomization references it", hint=pin.hint or hint
    )


def _pin(file: File, reference: FluxManifestsReference) -> Pin:
    line = reference.deciding[0].line if reference.deciding else reference.line
    spot = line, f"{reference.place}, {reference.field}", reference.raw
    return unknown_pin(file, NAME, spot)._replace(details=reference)


def _in_template(file: File, broken: BrokenDocument) -> Iterator[Pin]:
    """From a document that is no YAML, no more than that there is a reference, and where."""
    address = _URL_LINE.search(broken.text)
    if address is None or _KIND_LINE.search(broken.text) is None:
        return
    stated = [(field, passages.stated(broken.text, "ref", field)) for field in _FIELDS]
    field, (line, written) = next(
        ((f"spec.ref.{field}", found) for field, found in stated if found),
        ("spec.url", (broken.text.count("\n", 0, address.end()) + 1, "")),
    )
    yield unknown_pin(file, NAME, (broken.line + line - 1, f"OCIRepository, {field}", written.strip("\"' ")), *TEMPLATE)
