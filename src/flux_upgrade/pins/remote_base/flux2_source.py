"""GitRepositories on Flux's own repository, from which a Flux Kustomization installs Flux."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.model.errors import SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.text import line_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import flux2_repository, ranges
from flux_upgrade.pins.formats.readings import TEMPLATE, Reading, floating, unknown, unknown_pin
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Value, is_variable

_SOURCE = "source.toolkit.fluxcd.io/"
_KUSTOMIZE = "kustomize.toolkit.fluxcd.io/"
_FIELDS = ("commit", "name", "semver", "tag", "branch")
"""Of ``spec.ref``, the one that counts first (source-controller ``api/v1/gitrepository_types.go``)."""

_URL = re.compile(r"^[^\S\n]*url: *[\"']?([^\s\"'#]+)[\"']?[^\S\n]*$", re.MULTILINE)
_CHANGES_REF = re.compile(r"/spec/ref\b|^[^\S\n]*ref:", re.MULTILINE)
_PATCHED = re.compile(r"kind: GitRepository\b(?:(?!kind: GitRepository\b)(?:.|\n))*?\bname: *([\w.-]+)")

Key = tuple[str, str]  # Namespace and name


class _Flux2Source(NamedTuple):
    file: File
    found: Object
    reference: flux2_repository.RepositoryReference

    @property
    def key(self) -> Key:
        return _key(self.found, "metadata")

    @property
    def field(self) -> str:
        """Of ``spec.ref``, the one that counts; empty where there is none."""
        return next((each for each in _FIELDS if self.found.text_at("spec", "ref", each)), "")


def find(files: Sequence[File], kind: str, context: PinContext) -> Iterator[Pin]:
    """A pin for each, for each patch of one, and for each in a template."""
    named = [file for file in files if b"GitRepository" in file.content]
    found = [each for file in named if b"flux2" in file.content.lower() for each in _in_file(file, kind)]
    yield from (each for each in found if isinstance(each, Pin))
    sources = [each for each in found if isinstance(each, _Flux2Source)]
    if not sources:
        return
    paths = _paths(named)
    for source in sources:
        yield from _pin(source, paths, kind, context)
    for file in named:
        yield from _patches(file, {source.key for source in sources}, kind)


def change_range(pin: Pin, value: Value, target: str) -> PinChange:
    """A semver range goes up to the release. Raises UnsupportedPin."""
    new = ranges.raised(value.text, target)
    if new is None:
        raise UnsupportedPin(
            f"{pin.path}:{pin.line}: the range {value.text} cannot be changed to {target}",
            hint="write a range like 2.9.x, or a tag",
        )
    if new == value.text:
        return PinChange((), pin.raw, (f"the range {value.text} already includes {target}",))
    return PinChange((value.replaced(new),), pin.raw.replace(value.text, new))


def _in_file(file: File, kind: str) -> Iterator[Pin | _Flux2Source]:
    """Yield the sources in a file, and a pin for an address in a document that is no YAML."""
    for each in file.objects:
        if isinstance(each, BrokenDocument):
            for match in _URL.finditer(each.text) if "kind: GitRepository" in each.text else ():
                reference = flux2_repository.parse(match[1])
                if reference is not None and reference.is_flux2 and not reference.path:
                    line = each.line + line_of(each.text, match.start(1)) - 1
                    yield unknown_pin(file, kind, (line, "GitRepository, spec.url", ""), *TEMPLATE)
        elif each.text_at("apiVersion").startswith(_SOURCE) and each.text_at("kind") == "GitRepository":
            reference = flux2_repository.parse(each.text_at("spec", "url"))
            if reference is not None and not reference.path and (reference.is_flux2 or reference.is_copy):
                yield _Flux2Source(file, each, reference)


def _paths(files: Sequence[File]) -> Mapping[Key, list[str]]:
    """What Flux Kustomizations take from each GitRepository."""
    paths: dict[Key, list[str]] = {}
    for file in files:
        for found in file.readable if _KUSTOMIZE.encode() in file.content else ():
            if not found.text_at("apiVersion").startswith(_KUSTOMIZE):
                continue
            namespace, name = _key(found, "spec", "sourceRef")
            key = (namespace or found.text_at("metadata", "namespace"), name)
            paths.setdefault(key, []).append(found.text_at("spec", "path"))
    return paths


def _pin(source: _Flux2Source, paths: Mapping[Key, list[str]], kind: str, context: PinContext) -> Iterator[Pin]:
    taken = [path for key, each in paths.items() if _is_same(key, source.key) for path in each]
    installs = any(map(flux2_repository.is_installation, taken))
    if source.reference.is_copy and not installs:
        return
    found, field = source.found, source.field
    value = found.at("spec", "ref", field) if field else None
    place = f"GitRepository {_called(source.key)}, spec.ref{'.' if field else ''}{field}"
    line = value.line if value is not None else found.line_at("spec", "ref")
    written = value.text if value is not None else ""
    remarks = tuple(
        f"spec.ref.{each} has no effect together with spec.ref.{field}"
        for each in _FIELDS
        if each != field and found.has("spec", "ref", each)
    )
    pin = unknown_pin(source.file, kind, (line, place, written))._replace(remarks=remarks)
    reading = _reading(source, field, written, context)
    if not installs and not any(map(is_variable, taken)):
        pin = flux2_repository.pin_of(pin._replace(role=Role.REPORTED), reading, value)
        reason = "no Kustomization installs Flux from it" if taken else "no Kustomization references it"
        yield pin._replace(reason=reason, hint="edit the version yourself if you need it")
    elif not installs:
        reason = "the used part of Flux's repository is not known"
        hint = "reference it from a Kustomization with the path ./manifests/install in this repository"
        yield flux2_repository.pin_of(pin, unknown(reason, hint, reading.version), value)
    else:
        pin = flux2_repository.pin_of(pin, reading, value)
        is_range = pin.is_movable and field == "semver"
        yield pin._replace(details=value) if is_range else pin


def _reading(source: _Flux2Source, field: str, written: str, context: PinContext) -> Reading:
    if source.reference.is_copy:
        return flux2_repository.COPY
    if field in ("", "branch"):
        return floating(f"it follows the branch {written}" if field else "it has no release")
    if field == "semver" and not is_variable(written):
        return _range(written, context)
    reading = flux2_repository.judge(written)
    if field == "tag" and reading.state is not PinState.EXACT and not is_variable(written):
        return unknown(f"{written} is not a Flux release", "use a release's tag, like v2.9.4")
    return reading


def _range(text: str, context: PinContext) -> Reading:
    if ranges.is_exact(text):
        return Reading(PinState.EXACT, f"v{text.lstrip('=v')}")
    if ranges.parsed(text) is None:
        return unknown(f"{text} is not a semver range", "write a range like 2.9.x")
    try:
        newest = ranges.newest(text, context.regenerator.stable_tags())
    except (SourceUnavailable, UntrustedArchive) as error:
        return unknown(error.message, error.hint)
    if not newest:
        return unknown(f"the range {text} includes no known release", "write a range like 2.9.x")
    return Reading(PinState.RANGE, newest)


def _patches(file: File, sources: set[Key], kind: str) -> Iterator[Pin]:
    for found in file.readable:
        key = _key(found, "metadata")
        is_source = found.text_at("kind") == "GitRepository" and not found.has("spec", "url")
        if is_source and found.has("spec", "ref") and any(_is_same(key, each) for each in sources):
            yield _patch(file, found.line_at("spec", "ref"), key, kind)
        for steps in (("patches",), ("spec", "patches")):
            for entry in found.entries(*steps):
                yield from _inline_patch(file, found, entry, sources, kind)


def _inline_patch(file: File, found: Object, at: tuple[str | int, ...], sources: set[Key], kind: str) -> Iterator[Pin]:
    text = found.text_at(*at, "patch")
    if _CHANGES_REF.search(text) is None:
        return
    target_match = _PATCHED.search(text)
    target, name = found.text_at(*at, "target", "kind"), found.text_at(*at, "target", "name")
    if not target and target_match is not None:
        target, name = "GitRepository", target_match[1]
    if target == "GitRepository" and (not name or any(name == key[1] for key in sources)):
        yield _patch(file, found.line_at(*at, "patch"), ("", name), kind)


def _patch(file: File, line: int, key: Key, kind: str) -> Pin:
    return unknown_pin(
        file,
        kind,
        (line, f"patch of GitRepository {_called(key)}".rstrip(), ""),
        "a patch sets the release",
        "set the release in the GitRepository, and remove the patch",
    )


def _key(found: Object, *path: str) -> Key:
    return found.text_at(*path, "namespace"), found.text_at(*path, "name")


def _is_same(one: Key, other: Key) -> bool:
    """Whether they may be one object: a namespace that is not given may be any."""
    return one[1] == other[1] and (one[0] == other[0] or "" in (one[0], other[0]))


def _called(key: Key) -> str:
    return "/".join(part for part in key if part)
