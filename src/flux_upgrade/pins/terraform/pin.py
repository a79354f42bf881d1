"""Terraform's resource ``flux_bootstrap_git``: its ``version``, edited as text.

registry.terraform.io/providers/fluxcd/flux: the resource writes Flux's manifests of that
release to Git at each apply. Without it, or with ``embedded_manifests``, the provider decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.manifests.images import kept_distribution
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS
from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.text import decoded, line_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.hcl import Attribute, Block
from flux_upgrade.pins.formats.readings import Reading, judged, unknown, unknown_pin
from flux_upgrade.pins.formats.terraform_module import RESOURCE, Module, TerraformBlock, blocks_of, folder_of, one_line
from flux_upgrade.pins.formats.terraform_values import Modules, Origin
from flux_upgrade.pins.pin import Pin, PinChange, PinState, SyncSource
from flux_upgrade.pins.terraform import provider, reported
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Value

NAME = "terraform"
_DECIDING = {"version", "embedded_manifests"}
_KEY = re.compile(rf'"{RESOURCE}"\s*:')


class _TerraformVersion(NamedTuple):
    value: Value
    module: Module  # Of the resource, whose constraints count; the version may be in another one


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every resource, and the other ways in which Terraform installs Flux, which are only reported."""
    modules = Modules(context.tree)
    seen: set[tuple[str, int]] = set()
    for file in files:
        blocks = blocks_of(file.path, file.content)
        if blocks is None:
            yield from _unreadable(file)
            continue
        for block in blocks:
            place = TerraformBlock(file.path, block)
            if block.type == "resource" and block.labels[:1] == (RESOURCE,):
                for pin in _pins(file, place, modules):
                    # Two resources may have one variable.
                    spot = pin.path, pin.details.value.start if isinstance(pin.details, _TerraformVersion) else 0
                    if spot not in seen or not spot[1]:
                        seen.add(spot)
                        yield pin
            else:
                yield from reported.find(NAME, file, place)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Where the module's constraints admit the provider of the target's minor."""
    del context
    if not isinstance(pin.details, _TerraformVersion):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.where} is not a Flux release")
    value, module = pin.details
    provider.check(module, target)
    return PinChange((value.replaced(target),), target, tuple(provider.remarks(module, target)))


def _pins(file: File, place: TerraformBlock, modules: Modules) -> Iterator[Pin]:
    module = modules.of_file(file.path)
    others = tuple(each for each in module.same(place) if each.is_override != place.is_override)
    given = [each.block.attributes["path"] for each in (place, *others) if "path" in each.block.attributes]
    folders = {folder_of(each) for each in given} or {folder_of(None)}
    folder = folders.pop() if len(folders) == 1 else None  # None: an override has another one
    registry = place.block.attributes.get("registry")
    pin = unknown_pin(file, NAME, (place.block.line, place.address, ""))._replace(
        state=PinState.FLOATING,
        folder=folder,
        sync=_sync(place.block),
        # The folder tells clusters apart; without it, each resource is a cluster of its own.
        owner=place.address if folder is None else "",
        remarks=kept_distribution(registry.text.strip('"')) if registry else (),
        components=None if others else _components(place.block),
    )
    if place.is_override or any(_DECIDING & each.block.attributes.keys() for each in others):
        yield from _merged(pin, place, others)
    else:
        yield _of_resource(pin, place, modules)


def _sync(block: Block) -> SyncSource:
    """Return the source, without its address: the provider names it after the namespace, as `flux bootstrap` does.

    flux2 cmd/flux/bootstrap_git.go, ``sync.Options``.
    """
    attribute = block.attributes.get("namespace")
    return SyncSource.named_after((attribute and attribute.literal) or "")


def _components(block: Block) -> tuple[str, ...] | None:
    """Return what the resource installs; None if only Terraform can tell."""
    chosen, extra = (block.attributes.get(name) for name in ("components", "components_extra"))
    listed = _names(chosen, DEFAULT_COMPONENTS), _names(extra, ())
    return None if listed[0] is None or listed[1] is None else (*listed[0], *listed[1])


def _names(value: Attribute | None, default: tuple[str, ...]) -> tuple[str, ...] | None:
    if value is None or value.text == "null":
        return default
    if value.call == "toset" and len(value.items) == 1:
        value = value.items[0]
    names = tuple(each.literal for each in value.items if each.literal is not None and "${" not in each.literal)
    return names if value.text.startswith("[") and len(names) == len(value.items) else None


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


def _of_resource(pin: Pin, place: TerraformBlock, modules: Modules) -> Pin:
    module = modules.of_file(pin.path)
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
            hint=_instead(f"{pin.path}:{embedded.line}", "false", modules.origin(pin.path, embedded)),
        )
    if version is None or not is_given:
        return _floating(pin, version, "no version is set: the provider's own version selects the release", module)
    return _stated(pin._replace(line=version.line, where=f"{pin.where}, version"), version, modules)


def _stated(pin: Pin, version: Attribute, modules: Modules) -> Pin:
    module = modules.of_file(pin.path)
    origin, value = modules.value(pin.path, version)
    if origin.reason:
        hint = _instead(f"{pin.path}:{version.line}", "the release", origin)
        return judged(pin._replace(raw=value.text), unknown(origin.reason, hint))
    if origin.reference:
        at = f" in {pin.path}" if origin.path != pin.path else ""
        pin = pin._replace(where=f"{pin.where}{at}, {origin.reference}")
    place = f"{origin.path}:{value.line}"
    pin = pin._replace(
        path=origin.path, content=modules.file(origin.path).content, line=value.line, raw=one_line(origin.given)
    )
    if value.text == "latest":
        return pin._replace(reason="each apply installs the latest release")
    if Version.parse(f"v{value.text}") is not None:
        reason, hint = ("the provider rejects a version without a leading v", f'write "v{value.text}" in {place}')
        return judged(pin, unknown(reason, hint))
    if Version.parse(value.text) is None or value.reason:
        reason = "it is not a Flux release, or contains escape sequences"
        return judged(pin, unknown(reason, f'write a release, like "v2.8.7", in {place}'))
    remarks = tuple(provider.mismatches(module, value.text))
    reading = Reading(PinState.EXACT, value.text, remarks=remarks)
    return judged(pin, reading)._replace(details=_TerraformVersion(value, module))


def _floating(pin: Pin, at: Attribute | None, reason: str, module: Module) -> Pin:
    given = ", ".join(f'{each.place} says "{each.text}"' for each in provider.constraints(module))
    lock = provider.locked(module)
    return pin._replace(
        line=pin.line if at is None else at.line,
        reason=reason,
        hint="update the provider fluxcd/flux (1.N is for Flux 2.N), then run `terraform init -upgrade`: "
        + (given or "no file in the directory sets its version"),
        remarks=(*pin.remarks, *([] if lock is None else [f"{provider.chosen(lock)} as the provider"])),
    )


def _unreadable(file: File) -> Iterator[Pin]:
    """A JSON file that is a template, or broken, and yet holds the resource."""
    text = decoded(file.content)
    for match in _KEY.finditer(text):
        reason = "the file is not valid JSON"
        hint = "fix the file, or edit the version yourself if it is a template"
        yield unknown_pin(file, NAME, (line_of(text, match.start()), RESOURCE, ""), reason, hint)


def _instead(place: str, what: str, origin: Origin) -> str:
    said = f"{origin.elsewhere}; " if origin.elsewhere else ""
    return f"{said}write {what} in {place} as plain text"
