"""Controllers of Flux that are pinned by themselves, past the release: they are reported, and never changed.

``images`` of a Kustomization, images in its patches, and bases or files of a controller's own
repository. Whatever release is installed beside them, these decide what runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.manifests.images import controlplane_registry
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.flux2_repository import GITHUB, parse
from flux_upgrade.pins.formats.readings import never_changed
from flux_upgrade.pins.pin import Pin, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.yaml_places import Object, Step

NAME = "single-controllers"
change = never_changed

_CONTROLLERS = r"((?:source|kustomize|helm|notification|image-reflector|image-automation)-controller|source-watcher)"
_OWNER = r"(?:fluxcd|controlplaneio-fluxcd/[\w.-]+)"  # Of ControlPlane's distribution, with its variant
_NAME = re.compile(rf"(?:.*/)?{_OWNER}/{_CONTROLLERS}")
_IN_PATCH = re.compile(rf"\b{_OWNER}/{_CONTROLLERS}[:@]([\w.:-]+)")
_KUSTOMIZATION = re.compile(rb"\n(?:kind: *[\"']?(?:Kustomization|Component)\b|(?:resources|images):)")
_REASON = "it sets a single controller's version, independent of the installed Flux release"
_HINT = "remove it once the release has what you need: images that are newer than their CRDs break"

_ENTERPRISE = "it sets the image of a single controller, from ControlPlane's distribution"
_LISTED = "update it in the same merge: github.com/controlplaneio-fluxcd/distribution lists tags and digests"
_RENAMED = "it takes the image of ControlPlane's distribution, with the tag that the manifest has"
_KEPT = "keep it: without it, Flux's own image is installed"


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    del context
    for file in files:
        # A vendored manifest has all those marks, and is large.
        if _KUSTOMIZATION.search(b"\n" + file.content) is None:
            continue
        base_name = file.path.rpartition("/")[2]
        for each in file.readable:
            pins: list[Pin] = []
            group = each.text_at("apiVersion").partition("/")[0]
            if group == "kustomize.config.k8s.io" or (not group and base_name in NAMES):
                pins += [*_images(file, each, ()), *_patches(file, each, ()), *_remotes(file, each)]
            elif group == "kustomize.toolkit.fluxcd.io":
                pins += [*_images(file, each, ("spec",)), *_patches(file, each, ("spec",))]
            yield from sorted(pins, key=lambda pin: pin.line)


def _images(file: File, found: Object, above: tuple[Step, ...]) -> Iterator[Pin]:
    for at in found.entries(*above, "images"):
        name = found.text_at(*at, "name")
        match = _NAME.fullmatch(name)
        enterprise = controlplane_registry(found.text_at(*at, "newName") or name)
        for field in ("digest", "newTag", *(["newName"] if enterprise else [])):
            value = found.at(*at, field)
            if match is not None and value is not None and value.text:
                pin = _pin(file, value.line, f"images, {match[1]}, {field}", value.text)
                reason, hint = (_RENAMED, _KEPT) if field == "newName" else (_ENTERPRISE, _LISTED)
                yield pin._replace(reason=reason, hint=hint, details=enterprise) if enterprise else pin
                break


def _patches(file: File, found: Object, above: tuple[Step, ...]) -> Iterator[Pin]:
    for at in found.entries(*above, "patches"):
        for match in _IN_PATCH.finditer(re.sub(r"(?m)^[ \t]*#.*$", "", found.text_at(*at, "patch"))):
            pin = _pin(file, found.line_at(*at, "patch"), f"patch of the image of {match[1]}", match[2])
            is_enterprise = "/" in match[0].partition("fluxcd/")[2]
            yield pin._replace(reason=_ENTERPRISE, hint=_LISTED, details=match[0]) if is_enterprise else pin


def _remotes(file: File, found: Object) -> Iterator[Pin]:
    for field in ("resources", "bases", "components"):
        for value in found.scalars(field):
            reference = parse(value.text)
            match = _NAME.fullmatch(reference.repository) if reference is not None else None
            if reference is not None and match is not None and reference.host in GITHUB:
                where = f"{field}, {match[0]} {reference.path}".rstrip()
                yield _pin(file, value.line, where, reference.ref or "")


def _pin(file: File, line: int, where: str, written: str) -> Pin:
    return reported_pin(file, NAME, (line, where, written), _REASON, _HINT)
