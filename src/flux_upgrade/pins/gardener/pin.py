"""The Flux that Gardener's extension ``shoot-flux`` installs in the clusters (Shoots) that it creates.

There are two generations of it (gardener-extension-shoot-flux): the first reads the ConfigMap
``flux-config`` of a project (its README), the other a ``FluxConfig`` in the Shoot (its example/shoot.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.kustomize_patches import inline, operations, touches
from flux_upgrade.pins.formats.ranges import is_nothing, read
from flux_upgrade.pins.formats.readings import PATCH, in_template, judged, unknown_pin
from flux_upgrade.pins.gardener import flux_config
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import stated
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, Value, dotted, readable

NAME = "gardener-shoot-flux"

_TYPE = "shoot-flux"
_CONFIG = "flux.extensions.gardener.cloud"
_VERSION = ("flux", "version")
_OF_CONFIG_MAP = ("data", "fluxVersion")
_OF_SHOOT = ("spec", "extensions", None, "providerConfig", *_VERSION)
_ONCE = "the extension installs Flux only in new clusters: this change upgrades no existing cluster"
_FOR_OLD = "upgrade existing clusters in the repositories that they are reconciled from"
_BARE_IN_SHOOT = "without a leading v, the extension installs the latest release"
_BARE_IN_CONFIG_MAP = "the extension looks for a release with exactly this tag, and Flux's tags begin with v"


class _ShootDetails(NamedTuple):
    """What ``change`` needs."""

    value: Value
    apis: tuple[flux_config.Dropped, ...] = ()


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every version in a Shoot, in the ConfigMap ``flux-config``, and in patches of them."""
    patch_files = context.tree.patch_files
    for file in files:
        if file.path in patch_files:
            yield from _patches(file, file.content, 0)
            continue
        for each in file.objects:
            if isinstance(each, BrokenDocument):
                yield from _template(file, each)
            else:
                yield from _pins(file, each)
                for text in inline(each, file.content):
                    yield from _patches(file, text.content, text.before)
        yield from _operations(file, file.content, 0)


def change(pin: Pin, target: Version, context: PinContext) -> PinChange:
    """Write the tag. Raises UnsupportedPin if the pin has no version."""
    del context
    if not isinstance(pin.details, _ShootDetails):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.where} is not a Flux release")
    remarks = (_FOR_OLD, *(api.remark for api in pin.details.apis if target >= api.release))
    return PinChange((pin.details.value.replaced(target),), target, remarks)


def _pins(file: File, each: Object) -> Iterator[Pin]:
    group, kind = each.text_at("apiVersion").partition("/")[0], each.text_at("kind")
    if (group, kind) == ("core.gardener.cloud", "Shoot"):
        yield from _shoot(file, each, ())
    elif (group, kind) == ("seedmanagement.gardener.cloud", "ManagedSeedSet"):
        yield from _shoot(file, each, ("spec", "shootTemplate"))
    elif (group, kind) == ("extensions.gardener.cloud", "Extension"):
        if each.text_at("spec", "type") == _TYPE:
            yield _configured(file, each, ("spec",))._replace(
                role=Role.REPORTED,
                reason="Gardener generates this object from the Shoot",
                hint="edit the version in the Shoot",
                details=None,
            )
    elif (group, kind) == (_CONFIG, "FluxConfig"):
        yield _unknown(
            _at(_pin(file, each, ("kind",), _VERSION), each.at(*_VERSION)),
            "Gardener reads a FluxConfig only in a Shoot, so another tool uses this one",
            "edit the version in the Shoot that this file generates",
        )
    elif kind == "ConfigMap" and each.text_at("metadata", "name") == "flux-config":
        yield from _config_map(file, each)
    elif (group, kind) in flux_config.CONTROLLERS:
        yield from _own_pin(file, each)


def _shoot(file: File, each: Object, root: tuple[Step, ...]) -> Iterator[Pin]:
    """``root``: where the Shoot stands in the object."""
    for extension in each.entries(*root, "spec", "extensions"):
        if each.text_at(*extension, "type") != _TYPE:
            continue
        pin = _configured(file, each, extension)
        if not each.has(*root, "spec", "provider") and pin.state is not PinState.FLOATING:
            pin = _unknown(
                pin,
                "spec.provider is missing: this is only a part of a Shoot, such as a patch",
                "edit the version in the complete object",
            )
        if each.text_at(*extension, "disabled") == "true":
            pin = pin._replace(
                role=Role.REPORTED,
                reason="the extension is disabled for this Shoot and installs nothing",
                hint="remove the extension if you do not need it",
                details=None,
            )
        yield pin


def _configured(file: File, each: Object, extension: tuple[Step, ...]) -> Pin:
    config = (*extension, "providerConfig")
    pin = _pin(file, each, config if each.has(*config) else (*extension, "type"), (*config, *_VERSION))
    value = each.at(*config, *_VERSION)
    if each.has(*config) and not each.keys(*config) and not is_nothing(each.at(*config)):
        return _unknown(
            pin, "providerConfig is text, but Gardener needs a mapping", "write providerConfig as a mapping"
        )
    if value is None and each.has(*config, *_VERSION):
        return _unknown(pin, "it is not text", "write a release's tag, like v2.9.4")
    apis = flux_config.dropped(each, config)
    pin = pin._replace(folder=flux_config.folder(each, config), remarks=(_ONCE, *(api.remark for api in apis)))
    if value is None or is_nothing(value):
        return pin._replace(
            reason="no version is set: the extension installs its built-in version"
            " (its first generation: the one in the ConfigMap flux-config)",
            hint="set `providerConfig.flux.version`",
        )
    if value.text == "latest" and not value.reason:
        return _at(pin, value)._replace(reason="it is the latest release at the time of the installation")
    return _read(pin, value, _BARE_IN_SHOOT, apis)


def _config_map(file: File, each: Object) -> Iterator[Pin]:
    value, whole = each.at(*_OF_CONFIG_MAP), each.has("data", "repositoryUrl")
    remark = "it applies to the first start of every Shoot in the project that has the extension"
    pin = _pin(file, each, ("data",), _OF_CONFIG_MAP)._replace(remarks=(remark, _ONCE))
    if value is not None:
        pin = _read(pin, value, _BARE_IN_CONFIG_MAP, flux_config.OF_FIRST_GENERATION)
        if not whole:
            pin = _unknown(
                pin,
                "repositoryUrl is missing: this is only a part of a ConfigMap, such as a patch",
                "edit the version in the complete object",
            )
        yield pin
    elif whole and each.has("data", "repositoryBranch"):
        reason = "no version is set: it is the latest release at the time of the installation"
        yield pin._replace(reason=reason, hint="set `fluxVersion`")


def _own_pin(file: File, each: Object) -> Iterator[Pin]:
    place = flux_config.version_place(each)
    if place:
        yield _unknown(
            _at(_pin(file, each, place, place), each.at(*place)),
            "this is the version of the extension, which selects the Flux version of a Shoot without one",
            "update it like Gardener's other extensions",
        )._replace(role=Role.REPORTED)


def _patches(file: File, content: bytes, before: int) -> Iterator[Pin]:
    for each in readable(content):
        for pin in _pins(file, each):
            if pin.raw:
                yield _patched(pin._replace(line=before + pin.line))
    yield from _operations(file, content, before)


def _operations(file: File, content: bytes, before: int) -> Iterator[Pin]:
    if b"flux" in content:
        for operation in operations(content):
            if touches(operation, _OF_SHOOT) or touches(operation, _OF_CONFIG_MAP):
                line, where = before + operation.line, "/".join(("", *operation.path))
                yield _patched(unknown_pin(file, NAME, (line, where, operation.text)))


def _patched(pin: Pin) -> Pin:
    pin = pin._replace(where=f"patch: {pin.where}", folder=None, owner="", remarks=())
    return _unknown(pin, *PATCH)


def _template(file: File, broken: BrokenDocument) -> Iterator[Pin]:
    keys = _VERSION if _CONFIG in broken.text else _OF_CONFIG_MAP if "flux-config" in broken.text else ()
    found = stated(broken.text, *keys) if keys else None
    if found:
        where = f"{'FluxConfig' if keys == _VERSION else 'ConfigMap flux-config'}, {'.'.join(keys)}"
        yield in_template(file, NAME, (found[0], where, found[1]), broken)


def _pin(file: File, each: Object, line: tuple[Step, ...], place: tuple[Step, ...]) -> Pin:
    """``line``: what stands in the file; ``place``: where the version stands, or would."""
    kind, namespace = each.text_at("kind"), each.text_at("metadata", "namespace")
    begins = each.text_at("metadata", "generateName")
    name = each.text_at("metadata", "name") or (f"{begins}*" if begins else "")
    owner = f"{kind} {namespace}/{name}" if namespace and name else f"{kind} {name}" if name else ""
    spot = each.line_at(*line), f"{owner or kind}, {dotted(place)}", ""
    return unknown_pin(file, NAME, spot)._replace(state=PinState.FLOATING, owner=owner)


def _at(pin: Pin, value: Value | None) -> Pin:
    return pin if value is None else pin._replace(line=value.line, raw=value.text)


def _read(pin: Pin, value: Value, bare: str, apis: tuple[flux_config.Dropped, ...]) -> Pin:
    reading = read(value, bare)
    details = _ShootDetails(value, apis) if reading.version else None
    return judged(_at(pin, value), reading)._replace(details=details)


def _unknown(pin: Pin, reason: str, hint: str) -> Pin:
    return pin._replace(state=PinState.UNKNOWN, version=Version(""), reason=reason, hint=hint, details=None)
