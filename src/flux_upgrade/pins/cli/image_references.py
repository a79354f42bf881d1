"""References to the image of the Flux CLI: ``ghcr.io/fluxcd/flux-cli:v2.9.4@sha256:…``.

It is published as ``ghcr.io/fluxcd/flux-cli`` and ``docker.io/fluxcd/flux-cli``
(fluxcd.io/flux/cmd), and mirrored under the same two last words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.model.oci.reference import with_host
from flux_upgrade.model.text import decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.kustomize_patches import inline
from flux_upgrade.pins.formats.ranges import tag_of
from flux_upgrade.pins.formats.readings import Reading, floating, unknown
from flux_upgrade.pins.pin import PinState
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, Value, dotted, is_variable

REPOSITORY = r"(?:[\w.-]+(?::\d+)?/)*fluxcd/flux-cli"
_REFERENCE = re.compile(rf"(?:docker://)?({REPOSITORY})(?::([\w.-]+))?(?:@(\S+))?")
_VARIABLE = re.compile(r"\S*fluxcd/flux-cli(?:[:@].*)?")
_VERSION = re.compile(r"([\w.-]*)(?:@(\S+))?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ONE_MACHINE = re.compile(r"(.+)-(?:amd64|arm64|arm|armv7)")  # Tags of single architectures, as Flux 0.x published them
SCANNED = ("ImageRepository", "ImagePolicy", "OCIRepository", "ArtifactGenerator")
"""Kinds of Flux that read what a repository has, and run nothing of it."""
_KEY = re.compile(r"\b(?:image|container|uses)[\"']?:[ \t]")
_VERSIONED = re.compile(r"fluxcd/flux-cli[:@]")
_POLICY = '"$imagepolicy"'
_AUTOMATED = unknown("Flux's image automation updates it", "edit the ImagePolicy in the comment")
_PATCHING = ("", "Kustomization", "Component", "FluxInstance")
"""Kinds that hold patches; kustomize's own need not say theirs."""
_PATCHED = frozenset({"patches", "patchesJson6902", "patchesStrategicMerge", "spec"})
_NAME = "fluxcd/flux-cli"


class CliImageReference(NamedTuple):
    """The CLI's image at a place."""

    where: str
    repository: str  # With its host: `docker.io/fluxcd/flux-cli`; empty where a variable is in it
    version: Value  # Tag and digest as they stand together: `v2.9.4@sha256:…`; empty text: neither
    tag: str = ""
    digest: str = ""
    known: Reading | None = None  # What is known without a look at the tag: why it stays as it is


def reference_of(where: str, value: Value) -> CliImageReference | None:
    """The reference that is all of a value; None where it is of another image."""
    match = _REFERENCE.fullmatch(value.text)
    if match is not None:
        repository, tag, digest = (group or "" for group in match.groups())
        written = f"{tag}@{digest}" if tag and digest else tag or digest
        version = value._replace(text=written, start=value.end - len(written))
        return CliImageReference(where, with_host(repository), version, tag, digest)
    if _VARIABLE.fullmatch(value.text) and is_variable(value.text):
        known = unknown("a variable sets part of it", "edit the variable where it is set")
        return CliImageReference(where, "", value, known=known)
    return None


def split_reference(where: str, repository: str, version: Value) -> CliImageReference | None:
    """One whose version stands elsewhere than its repository; None where it is of another image."""
    if re.fullmatch(REPOSITORY, repository) is None:
        return None
    match = _VERSION.fullmatch(version.text)
    tag, digest = ("", "") if match is None else (group or "" for group in match.groups())
    known = None
    if is_variable(version.text):
        known = unknown("a variable sets it", "edit the variable where it is set")
    return CliImageReference(where, with_host(repository), version, tag, digest, known)


def reading_of(image: CliImageReference) -> Reading:
    if image.version.reason:
        return unknown(image.version.reason)
    if image.known is not None:
        return image.known
    if image.digest and not _DIGEST.fullmatch(image.digest):
        return unknown("its digest is not valid", "write `sha256:` and 64 hexadecimal digits")
    return _of_tag(image)


def _of_tag(image: CliImageReference) -> Reading:
    if image.tag in ("", "latest") and image.digest:
        return unknown("the digest does not show the release", "add the tag, like v2.9.4@sha256:…")
    if image.tag in ("", "latest"):
        return floating(
            "`latest` installs the newest CLI each time the image is pulled",
            "set a release's tag to keep the CLI within one minor version of its clusters",
        )
    single = _ONE_MACHINE.fullmatch(image.tag)
    if single is not None and tag_of(single[1]):
        return unknown("its tag is only for one architecture", "use the release's tag, which covers all architectures")
    if not tag_of(image.tag):
        return unknown("its tag is not a Flux release", "write the release in full, like v2.9.4")
    return Reading(PinState.EXACT, tag_of(image.tag))


def references(each: Object, content: bytes, rows: Sequence[str]) -> Iterator[CliImageReference]:
    """The references in a document; ``content`` and ``rows`` are the whole file."""
    if each.text_at("kind") in SCANNED:
        return
    owner = f"{each.called()}, " if each.text_at("kind") and each.text_at("metadata", "name") else ""
    seen: set[int] = set()
    for path, node in mappings(each.node):
        is_named = any(isinstance(value, ScalarNode) and _NAME in value.value for _, value in node.value)
        for keys, image in _of_mapping(each, path) if is_named else ():
            if image.version.start not in seen:  # a merge key repeats what stands in one place
                seen.add(image.version.start)
                known = _AUTOMATED if _POLICY in rows[image.version.line - 1] else image.known
                yield image._replace(where=owner + dotted((*path, *keys)), known=known)
    if each.text_at("kind") in _PATCHING and not _PATCHED.isdisjoint(each.keys()):
        for text in inline(each, content):
            for number, _ in _rows(decoded(text.content)):
                reason = "it is in a patch of another object"
                yield _unread(f"{owner}a patch", text.before + number, reason)


def loose(broken: BrokenDocument) -> Iterator[CliImageReference]:
    """The references in a document that is no YAML as it stands."""
    for number, row in _rows(broken.text):
        if _KEY.search(row):
            reason = "the document is not valid YAML (it may be a template)"
            yield _unread("image", broken.line + number - 1, reason)


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Lines that name the image outside of a comment, with their numbers, from 1."""
    for number, row in enumerate(text.split("\n"), start=1):
        said = row.partition("#")[0]
        if _VERSIONED.search(said):
            yield number, said


def _unread(where: str, line: int, reason: str) -> CliImageReference:
    return CliImageReference(where, "", Value("", 0, 0, line), known=unknown(reason))


def _of_mapping(each: Object, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], CliImageReference]]:
    keys = each.keys(*path)
    for key in ("image", "container", "uses", "name"):
        value = each.at(*path, key)
        if value is None or not _names_an_image(path, key, value):
            continue
        image = reference_of("", value)
        if image is not None and not (key == "image" and "tag" in keys and not image.tag):
            yield (key,), image
    if "tag" in keys:
        yield from _of_values(each, path)
    if path[-2:-1] == ("images",) and "newTag" in keys:
        yield from _of_override(each, path)


def _names_an_image(path: tuple[Step, ...], key: str, value: Value) -> bool:
    if key == "uses":
        return value.text.startswith("docker://")
    if key == "name":  # GitLab: image.name, services[].name
        return path[-1:] == ("image",) or path[-2:-1] == ("services",)
    return True


def _of_values(each: Object, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], CliImageReference]]:
    """``repository`` and ``tag`` side by side, as Helm's values have them, with or without ``registry``."""
    repository = each.text_at(*path, "repository") or each.text_at(*path, "image")
    registry = each.text_at(*path, "registry")
    version = each.at(*path, "tag")
    image = version and split_reference("", f"{registry}/{repository}".lstrip("/"), version)
    if image:
        yield ("tag",), image


def _of_override(each: Object, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], CliImageReference]]:
    """``images`` of a Kustomization: ``newTag`` takes the place of every tag of the image."""
    names = [each.text_at(*path, key) for key in ("newName", "name")]
    version = each.at(*path, "newTag")
    if version is None:
        return
    image = next(filter(None, (split_reference("", name, version) for name in names if name)), None)
    if image is not None and each.has(*path, "digest"):
        image = image._replace(known=unknown("the image has a tag and a digest", "edit both together"))
    if image is not None:
        yield ("newTag",), image


def mappings(root: Node) -> Iterator[tuple[tuple[Step, ...], MappingNode]]:
    """The mappings below a node with their paths, each where it is first."""
    seen, waiting = set[int](), list[tuple[tuple[Step, ...], Node]]([((), root)])
    while waiting:
        path, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        below: list[tuple[Step, Node]] = []
        if isinstance(node, MappingNode):
            yield path, node
            below = [(key.value, value) for key, value in node.value if isinstance(key, ScalarNode)]
        elif isinstance(node, SequenceNode):
            below = [*enumerate(node.value)]
        waiting += [((*path, step), value) for step, value in reversed(below)]
