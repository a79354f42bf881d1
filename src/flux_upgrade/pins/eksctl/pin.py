"""``gitops.flux`` of an eksctl ``ClusterConfig``: the flags of the ``flux bootstrap`` that eksctl runs.

eksctl pkg/flux/flux.go (it calls the ``flux`` on PATH) and pkg/ctl/cmdutils/gitops.go (what has to be set).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.kustomize_patches import inline, operations, touches
from flux_upgrade.pins.formats.ranges import folder_of, is_nothing, read
from flux_upgrade.pins.formats.readings import PATCH, in_template, judged, unknown_pin
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import stated
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Value, readable

NAME = "eksctl"

_FLUX = ("gitops", "flux")
_VERSION = (*_FLUX, "flags", "version")
_OLD_FIELDS = frozenset({"owner", "repository", "branch", "path", "namespace", "personal", "kubeconfig"})
"""Beside gitProvider, in eksctl 0.38 to 0.52: its proposal to have ``flags`` instead lists them."""
_ONCE = (
    "eksctl uses it only when it creates the cluster or enables Flux; keep it equal to the version in the files"
    " that flux bootstrap wrote"
)


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every ``gitops.flux`` of a ClusterConfig, and every patch of its version."""
    patch_files = context.tree.patch_files
    for file in files:
        if file.path in patch_files:
            yield from _patch(file, file.content, 0)
            continue
        for each in file.objects:
            if isinstance(each, BrokenDocument):
                found = stated(each.text, *_VERSION) if "eksctl.io/" in each.text else None
                if found:
                    spot = found[0], f"ClusterConfig, {'.'.join(_VERSION)}", found[1]
                    yield in_template(file, NAME, spot, each)
            elif _is_config(each):
                yield from _pins(file, each)
            else:
                for text in inline(each, file.content):
                    yield from _patch(file, text.content, text.before)
        yield from _operations(file, file.content, 0)


def change(pin: Pin, target: Version, context: PinContext) -> PinChange:
    """Write the tag. Raises UnsupportedPin if the pin has no version."""
    del context
    if not isinstance(pin.details, Value):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.where} is not a Flux release")
    remark = (
        f"before the next eksctl run, install the flux CLI {target.minor}:"
        " `flux bootstrap` installs only releases of that minor"
    )
    return PinChange((pin.details.replaced(target),), target, (remark,))


def _is_config(each: Object) -> bool:
    return each.text_at("apiVersion").startswith("eksctl.io/") and each.text_at("kind") == "ClusterConfig"


def _pins(file: File, each: Object) -> Iterator[Pin]:
    fields = set(each.keys(*_FLUX))
    if "flags" in fields:
        yield _pin(file, each)
    elif fields & _OLD_FIELDS:
        yield _reported(
            file,
            each,
            _FLUX,
            "this is the schema of eksctl 0.38 to 0.52, which has no version and which later releases reject",
            "move everything except `gitProvider` below `flags`, and add `version` there",
        )
    elif fields:
        yield _unknown(
            file, each, _FLUX, "eksctl rejects a config without flags", "add `flags` with `path` and `version`"
        )
    if set(each.keys("git")) & {"operator", "repo", "bootstrapProfile"}:
        yield _reported(
            file,
            each,
            ("git",),
            "this installs Flux v1, which has reached end of life and which eksctl no longer supports",
            "migrate the cluster to Flux v2 and use gitops.flux instead:"
            " https://fluxcd.io/flux/migration/flux-v1-migration/",
        )


def _pin(file: File, each: Object) -> Pin:
    value = each.at(*_VERSION)
    if not each.text_at(*_FLUX, "gitProvider"):
        return _unknown(
            file,
            each,
            _VERSION if value else (*_FLUX, "flags"),
            "gitProvider is missing: this is only a part of a ClusterConfig, such as a patch",
            "edit the version in the complete ClusterConfig",
        )
    spot = each.line_at(*_FLUX, "flags"), f"{_called(each)}, {'.'.join(_VERSION)}", ""
    pin = unknown_pin(file, NAME, spot)._replace(
        state=PinState.FLOATING,
        remarks=(_ONCE,),
        folder=folder_of(each.at(*_FLUX, "flags", "path")),
        owner=_owner(each),
    )
    if value is None and each.has(*_VERSION):
        return _unknown(file, each, _VERSION, "it is not text", "write a release's tag, like v2.9.4")
    if value is not None:
        pin = pin._replace(line=value.line, raw=value.text)
    if value is None or is_nothing(value):
        reason = "no version is set: eksctl runs the flux CLI on PATH, which installs its own version"
        return pin._replace(reason=reason, hint="add `version` to `flags`")
    if value.text == "latest" and not value.reason:
        return pin._replace(reason="it is the latest release at the time that eksctl runs")
    reading = read(value, "flux bootstrap rejects a version without a leading v")
    return judged(pin, reading)._replace(details=value if reading.version else None)


def _owner(each: Object) -> str:
    name, region = each.text_at("metadata", "name"), each.text_at("metadata", "region")
    return f"ClusterConfig {region}/{name}" if name and region else f"ClusterConfig {name}" if name else ""


def _unknown(file: File, each: Object, path: tuple[str, ...], reason: str, hint: str) -> Pin:
    spot = each.line_at(*path), f"{_called(each)}, {'.'.join(path)}", each.text_at(*path)
    return unknown_pin(file, NAME, spot, reason, hint)._replace(owner=_owner(each))


def _called(each: Object) -> str:
    return f"ClusterConfig {each.text_at('metadata', 'name')}"


def _reported(file: File, each: Object, path: tuple[str, ...], reason: str, hint: str) -> Pin:
    return _unknown(file, each, path, reason, hint)._replace(role=Role.REPORTED)


def _patch(file: File, content: bytes, before: int) -> Iterator[Pin]:
    for each in readable(content):
        if _is_config(each) and each.has(*_VERSION):
            yield _patched(file, before + each.line_at(*_VERSION), each.text_at(*_VERSION))
    yield from _operations(file, content, before)


def _operations(file: File, content: bytes, before: int) -> Iterator[Pin]:
    if b"/gitops/flux" in content:
        for each in operations(content):
            if touches(each, _VERSION):
                yield _patched(file, before + each.line, each.text)


def _patched(file: File, line: int, written: str) -> Pin:
    where = f"patch of a ClusterConfig, {'.'.join(_VERSION)}"
    return unknown_pin(file, NAME, (line, where, written), *PATCH)
