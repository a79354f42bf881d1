"""Kustomizations that take Flux from its repository: ``github.com/fluxcd/flux2//manifests/install?ref=…``.

A GitRepository on that repository, from which a Flux Kustomization installs, is the same pin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import flux2_repository
from flux_upgrade.pins.formats.readings import TEMPLATE, Reading, floating, unknown, unknown_pin
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role
from flux_upgrade.pins.remote_base import flux2_source
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import NAMES, TEMPLATES
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Value

NAME = "kustomize-remote-base"

_BUILT = ("resources", "bases", "components")
"""What kustomize builds; ``bases`` is what ``resources`` were called for folders until v2.1."""
_BESIDE = ("crds", "configurations", "generators", "transformers", "validators", "patchesStrategicMerge")
"""Where kustomize takes URLs, too, and nothing that it reads there is installed."""
_GENERATED = ("configMapGenerator", "secretGenerator")
"""Whose ``files`` may be URLs, ``KEY=URL``, too; what installs them reads them from there (api/kv/kv.go)."""
_IN_TEXT = re.compile(r"[^\s\"'#]{0,80}fluxcd/flux2(?:\{\{.{0,200}?\}\}|[^\s'\"#])*")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every reference to Flux's repository, and every GitRepository on it."""
    for file in files:
        if b"flux2" in file.content.lower():
            yield from _in_file(file)
    yield from flux2_source.find(files, NAME, context)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the tag in the URL, or the tag or range of the GitRepository. Raises UnsupportedPin."""
    del context
    if isinstance(pin.details, Value):
        return flux2_source.change_range(pin, pin.details, target)
    return flux2_repository.change_tag(pin, target)


def _in_file(file: File) -> Iterator[Pin]:
    name = file.path.rpartition("/")[2]
    for each in file.objects:
        if isinstance(each, BrokenDocument):
            if name in (*NAMES, *TEMPLATES):
                yield from _in_template(file, each)
        elif _is_kustomization(each, name):
            yield from sorted(_in_object(file, each), key=lambda pin: pin.line)


def _is_kustomization(found: Object, name: str) -> bool:
    if name in (*NAMES, *TEMPLATES) and not found.has("kind"):
        return True
    group = found.text_at("apiVersion").partition("/")[0]
    is_kind = found.text_at("kind") in ("Kustomization", "Component")
    return is_kind and (group == "kustomize.config.k8s.io" or (name in NAMES and not group))


def _in_object(file: File, found: Object) -> Iterator[Pin]:
    for field in (*_BUILT, *_BESIDE):
        for built in found.scalars(field):
            yield from _pin(file, field, built)
    for field in _GENERATED:
        for entry in found.entries(field):
            for named in found.scalars(*entry, "files"):
                yield from _pin(file, field, named.part(named.text.find("=") + 1, len(named.text)))
    for entry in found.entries("patches"):
        value = found.at(*entry, "path")
        if value is not None:
            yield from _pin(file, "patches", value)


def _pin(file: File, field: str, value: Value) -> Iterator[Pin]:
    reference = flux2_repository.parse(value.text)
    if reference is None or not (reference.is_flux2 or (reference.is_copy and reference.installs)):
        return
    is_file = field in _GENERATED and reference.form in ("release", "raw")
    role = Role.INSTALLS if reference.installs and (field in _BUILT or is_file) else Role.REPORTED
    place = f"{field}, {_called(reference)}"
    pin = unknown_pin(file, NAME, (value.line, place, reference.ref or ""))._replace(role=role)
    pin = flux2_repository.pin_of(pin, _reading(file.path, reference), value, reference.start)
    if role is Role.REPORTED:
        pin = pin._replace(reason="it does not install Flux", hint="edit the version yourself if you need it")
    elif reference.host == "gh:":
        pin = pin._replace(remarks=("gh: is a Git abbreviation, which new versions of kustomize reject",))
    yield pin


def _called(reference: flux2_repository.RepositoryReference) -> str:
    owner = reference.repository if reference.is_flux2 else f"{reference.host}/{reference.repository}"
    path = f" {reference.path}" if reference.path else ""
    return f"{owner}{path}"


def _reading(path: str, reference: flux2_repository.RepositoryReference) -> Reading:
    reading = flux2_repository.judge(reference.ref)
    if not reference.is_flux2:
        return flux2_repository.COPY
    if reference.reason and reading.state is not PinState.FLOATING:
        return unknown(reference.reason, flux2_repository.REWRITE, reading.version)
    if reference.form == "release" and reference.ref is None:
        return floating("it follows the latest release", reading.hint)
    if path.rpartition("/")[2] not in NAMES:
        reason = "kustomize does not read a file with this name, so another tool uses it"
        return unknown(reason, TEMPLATE[1], reading.version)
    return reading


def _in_template(file: File, broken: BrokenDocument) -> Iterator[Pin]:
    for line, text in enumerate(broken.text.split("\n"), broken.line):
        for match in _IN_TEXT.finditer(_COMMENT.sub("", text)):
            reference = flux2_repository.parse(match[0])
            if reference is not None and reference.is_flux2 and reference.installs:
                spot = line, _called(reference), reference.ref or ""
                yield unknown_pin(file, NAME, spot, *TEMPLATE)
