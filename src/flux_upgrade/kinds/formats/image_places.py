"""Where YAML names the image of the Flux CLI: Kubernetes, GitLab CI, Compose, workflows, Helm values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.kinds.formats.image_reference import Reference, reference_of, split_reference
from flux_upgrade.kinds.formats.kustomize_patches import inline
from flux_upgrade.kinds.formats.yaml_places import Broken, Object, Step, Value
from flux_upgrade.kinds.parts.cli_versions import unknown
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.textedit import decoded

_SCANNED = ("ImageRepository", "ImagePolicy", "OCIRepository", "ArtifactGenerator")
"""Kinds of Flux that read what a repository has, and run nothing of it."""
_KEY = re.compile(r"\b(?:image|container|uses)[\"']?:[ \t]")
_VERSIONED = re.compile(r"fluxcd/flux-cli[:@]")
_POLICY = '"$imagepolicy"'
_AUTOMATED = unknown("Flux's image automation writes it", "change the ImagePolicy that the comment names")
_PATCHING = ("", "Kustomization", "Component", "FluxInstance")
"""Kinds that hold patches; kustomize's own need not say theirs."""
_PATCHED = frozenset({"patches", "patchesJson6902", "patchesStrategicMerge", "spec"})
_NAME = "fluxcd/flux-cli"


def references(each: Object, content: bytes, rows: Sequence[str]) -> Iterator[Reference]:
    """Those of a document; ``content`` and ``rows`` are the whole file."""
    if each.text_at("kind") in _SCANNED:
        return
    owner = _owner(each)
    seen: set[int] = set()
    for path in _mappings(each.node, (), set()):
        for keys, image in _of_mapping(each, path):
            if image.version.start not in seen:  # a merge key repeats what stands in one place
                seen.add(image.version.start)
                told = _AUTOMATED if _POLICY in rows[image.version.line - 1] else image.told
                yield image._replace(where=owner + _dotted((*path, *keys)), told=told)
    if each.text_at("kind") in _PATCHING and not _PATCHED.isdisjoint(each.keys()):
        yield from _patched(each, content, owner)


def _patched(each: Object, content: bytes, owner: str) -> Iterator[Reference]:
    for text in inline(each, content):
        for number, _ in _rows(decoded(text.content)):
            yield _unread(f"{owner}a patch", text.before + number, "it stands in a patch of another object")


def loose(broken: Broken) -> Iterator[Reference]:
    """Those of a document that is no YAML as it stands."""
    for number, row in _rows(broken.text):
        if _KEY.search(row):
            reason = "the document is no valid YAML, a template perhaps"
            yield _unread("image", broken.line + number - 1, reason)


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Lines that name the image outside of a comment, with their numbers, from 1."""
    for number, row in enumerate(text.split("\n"), start=1):
        said = row.partition("#")[0]
        if _VERSIONED.search(said):
            yield number, said


def _unread(where: str, line: int, reason: str) -> Reference:
    return Reference(where, "", Value("", 0, 0, line), told=unknown(reason))


def _of_mapping(each: Object, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Reference]]:
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


def _of_values(each: Object, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Reference]]:
    """``repository`` and ``tag`` side by side, as Helm's values have them, with or without ``registry``."""
    repository = each.text_at(*path, "repository") or each.text_at(*path, "image")
    registry = each.text_at(*path, "registry")
    version = each.at(*path, "tag")
    image = version and split_reference("", f"{registry}/{repository}".lstrip("/"), version)
    if image:
        yield ("tag",), image


def _of_override(each: Object, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Reference]]:
    """``images`` of a Kustomization: ``newTag`` takes the place of every tag of the image."""
    names = [each.text_at(*path, key) for key in ("newName", "name")]
    version = each.at(*path, "newTag")
    if version is None:
        return
    image = next(filter(None, (split_reference("", name, version) for name in names if name)), None)
    if image is not None and each.has(*path, "digest"):
        image = image._replace(told=unknown("a digest stands beside the tag", "change both by hand"))
    if image is not None:
        yield ("newTag",), image


def _mappings(node: Node, path: tuple[Step, ...], seen: set[int]) -> Iterator[tuple[Step, ...]]:
    """Paths of the mappings that name the image, each where it stands first."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, MappingNode):
        if any(isinstance(value, ScalarNode) and _NAME in value.value for _, value in node.value):
            yield path
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                yield from _mappings(value, (*path, key.value), seen)
    elif isinstance(node, SequenceNode):
        for index, value in enumerate(node.value):
            yield from _mappings(value, (*path, index), seen)


def _owner(each: Object) -> str:
    kind, name = each.text_at("kind"), each.text_at("metadata", "name")
    if not kind or not name:
        return ""
    namespace = each.text_at("metadata", "namespace")
    return f"{kind} {namespace}/{name}, " if namespace else f"{kind} {name}, "


def _dotted(path: tuple[Step, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
