"""Terraform's resource ``flux_bootstrap_git``: its ``version``, edited as text.

registry.terraform.io/providers/fluxcd/flux: the resource writes Flux's manifests of that
release to Git at each apply. Without it, or with ``embedded_manifests``, the provider decides.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.text import TextEdit, decoded, line_of
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.hcl import Attribute
from flux_upgrade.pins.formats.readings import Reading, judged, unknown, unknown_pin
from flux_upgrade.pins.formats.terraform_module import (
    RESOURCE,
    Module,
    TerraformBlock,
    blocks_of,
    folder_of,
    one_line,
    read_module,
)
from flux_upgrade.pins.formats.yaml_places import is_variable
from flux_upgrade.pins.pin import Pin, PinChange, PinState, SourceFile
from flux_upgrade.pins.terraform import provider, reported

NAME = "terraform"
_DECIDING = {"version", "embedded_manifests"}
_KEY = re.compile(rf'"{RESOURCE}"\s*:')


def find(files: Sequence[SourceFile], context: PinContext) -> Iterator[Pin]:
    """Every resource, and the other ways in which Terraform installs Flux, which are only reported."""
    modules: dict[str, Module] = {}
    for file in files:
        blocks = blocks_of(file.path, file.content)
        if blocks is None:
            yield from _unreadable(file)
            continue
        folder = posixpath.dirname(file.path)
        for block in blocks:
            place = TerraformBlock(file.path, block)
            if block.type == "resource" and block.labels[:1] == (RESOURCE,):
                if folder not in modules:
                    modules[folder] = read_module(context.tree, folder)
                yield from _pins(file, place, modules[folder])
            else:
                yield from reported.find(NAME, file, place, context)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Where the module's constraints admit the provider of the target's minor."""
    module = read_module(context.tree, posixpath.dirname(pin.path))
    provider.check(module, target)
    if not isinstance(pin.details, int):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.where} is not a Flux release")
    start = pin.details
    return PinChange(
        (TextEdit(start, start + len(pin.version), pin.version, target),),
        target,
        tuple(provider.remarks(module, target)),
    )


def _pins(file: SourceFile, place: TerraformBlock, module: Module) -> Iterator[Pin]:
    others = tuple(each for each in module.same(place) if each.is_override != place.is_override)
    folder = _folder((place, *others))
    pin = unknown_pin(file, NAME, (place.block.line, place.address, ""))._replace(
        state=PinState.FLOATING,
        folder=folder,
        # The folder tells clusters apart; without it, each resource is a cluster of its own.
        owner=place.address if folder is None else "",
    )
    if place.is_override or any(_DECIDING & each.block.attributes.keys() for each in others):
        yield from _merged(pin, place, others)
    else:
        yield _of_resource(pin, place, module)


def _folder(places: Sequence[TerraformBlock]) -> str | None:
    """Of a resource, and of what overrides it; None where they differ."""
    given = [each.block.attributes["path"] for each in places if "path" in each.block.attributes]
    folders = {folder_of(each) for each in given} or {folder_of(None)}
    return folders.pop() if len(folders) == 1 else None


def _merged(pin: Pin, place: TerraformBlock, others: Sequence[TerraformBlock]) -> Iterator[Pin]:
    """An override file, or what it overrides: Terraform merges the two."""
    version = place.block.attributes.get("version")
    if version is None and place.is_override:
        return
    others_at = ", ".join(f"{each.path}:{each.block.line}" for each in others) or "a resource that does not exist"
    yield pin._replace(
        line=pin.line if version is None else version.line,
        where=pin.where if version is None else f"{pin.where}, version",
        raw="" if version is None else one_line(version),
        state=PinState.UNKNOWN,
        reason=f"it overrides {others_at}" if place.is_override else f"{others_at} overrides it",
        hint="set the version in the resource, not in an override file",
    )


def _of_resource(pin: Pin, place: TerraformBlock, module: Module) -> Pin:
    version = place.block.attributes.get("version")
    embedded = place.block.attributes.get("embedded_manifests")
    is_given = version is not None and version.text != "null"
    if embedded is not None and embedded.text.strip('"') == "true":
        said = "embedded_manifests is set: the provider's own version selects the release"
        return _floating(
            pin._replace(where=f"{pin.where}, embedded_manifests"),
            embedded,
            said + (", and version has no effect" if is_given else ""),
            module,
        )
    if embedded is not None and embedded.text.strip('"') not in ("false", "null"):
        return pin._replace(
            line=embedded.line,
            where=f"{pin.where}, embedded_manifests",
            raw=one_line(embedded),
            state=PinState.UNKNOWN,
            reason=f"embedded_manifests is {one_line(embedded)}: if true, version has no effect",
            hint=_instead(f"{pin.path}:{embedded.line}", "false", module.where_set(embedded)),
        )
    if version is None or not is_given:
        return _floating(pin, version, "no version is set: the provider's own version selects the release", module)
    return _stated(pin._replace(line=version.line, where=f"{pin.where}, version"), version, module)


def _stated(pin: Pin, version: Attribute, module: Module) -> Pin:
    written = one_line(version)
    pin, place = pin._replace(raw=written), f"{pin.path}:{version.line}"
    if version.literal is None or is_variable(version.literal):
        reason = f"only Terraform can evaluate {written}"
        return judged(pin, unknown(reason, _instead(place, "the release", module.where_set(version))))
    if version.literal == "latest":
        return pin._replace(reason="each apply installs the latest release")
    text = decoded(pin.content)[version.start : version.start + len(version.literal)]
    if Version.parse(f"v{version.literal}") is not None:
        reason, hint = ("the provider rejects a version without a leading v", f'write "v{version.literal}" in {place}')
        return judged(pin, unknown(reason, hint))
    if Version.parse(version.literal) is None or text != version.literal:
        reason = "it is not a Flux release, or contains escape sequences"
        return judged(pin, unknown(reason, f'write a release, like "v2.8.7", in {place}'))
    remarks = tuple(provider.mismatches(module, version.literal))
    reading = Reading(PinState.EXACT, version.literal, remarks=remarks)
    return judged(pin, reading)._replace(details=version.start)


def _floating(pin: Pin, at: Attribute | None, reason: str, module: Module) -> Pin:
    given = ", ".join(f'{each.place} says "{each.text}"' for each in provider.constraints(module))
    lock = provider.locked(module)
    return pin._replace(
        line=pin.line if at is None else at.line,
        reason=reason,
        hint="update the provider fluxcd/flux (1.9 is for Flux 2.9), then run `terraform init -upgrade`: "
        + (given or "no file in the directory sets its version"),
        remarks=() if lock is None else (f"{provider.chosen(lock)} as the provider",),
    )


def _unreadable(file: SourceFile) -> Iterator[Pin]:
    """A JSON file that is a template, or broken, and yet holds the resource."""
    text = decoded(file.content)
    for match in _KEY.finditer(text):
        reason = "the file is not valid JSON"
        hint = "fix the file, or edit the version yourself if it is a template"
        yield unknown_pin(file, NAME, (line_of(text, match.start()), RESOURCE, ""), reason, hint)


def _instead(place: str, what: str, said: str) -> str:
    return f"{f'{said}; ' if said else ''}write {what} in {place} as plain text"
