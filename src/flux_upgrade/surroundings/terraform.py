"""Terraform's resource ``flux_bootstrap_git``, which writes an installation's file itself.

registry.terraform.io/providers/fluxcd/flux: it keeps ``<path>/<namespace>/gotk-components.yaml``
at its ``version``, so that an upgrade by anybody else is undone by the next apply.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flux_upgrade.decision import Hold, HoldReason
from flux_upgrade.errors import Unreadable
from flux_upgrade.ports import Tree
from flux_upgrade.surroundings.hcl import Attribute, Block, blocks

RESOURCE = "flux_bootstrap_git"
SUFFIXES = (".tf", ".tofu", ".tf.json", ".tofu.json")
_WRITTEN = "gotk-components.yaml"
_INTERPOLATION = re.compile(r"[$%]\{.*?\}", re.DOTALL)
_ANYTHING = Attribute(0, "", None)


@dataclass(frozen=True)
class TerraformOwner:
    """A resource ``flux_bootstrap_git``."""

    path: str
    """The Terraform file, relative to the tree's root."""
    line: int
    """Of the resource, 1-based."""
    version_line: int = 0
    """0: it has no attribute ``version``, and the provider's own version decides."""
    version: str = ""
    """The attribute's expression as it stands: ``"v2.8.7"``, quotes included, or ``var.flux_version``."""
    is_embedded: bool = False
    """``embedded_manifests``: ``version`` has no effect, the provider's own version decides."""
    cluster_path: str | None = ""
    """Its ``path``, ``${…}`` included; empty for the root; None for an expression that is no string."""
    namespace: str | None = "flux-system"
    """None for an expression that is no string."""

    @property
    def is_certain(self) -> bool:
        """Whether the file tells which cluster it is for."""
        return self.cluster_path is not None and _INTERPOLATION.search(self.cluster_path) is None

    def writes(self, path: str) -> bool:
        """Whether the installation at ``path`` is one that it may write."""
        folder, name = posixpath.split(path)
        if name != _WRITTEN:
            return False
        if self.cluster_path is None:
            wanted = r"(?:.+/)?"
        else:
            cluster = posixpath.normpath("/" + self.cluster_path).lstrip("/")
            wanted = _pattern(cluster) + "/" if cluster else ""
        wanted += "[^/]+" if self.namespace is None else _pattern(self.namespace)
        return re.fullmatch(wanted, folder) is not None


@dataclass(frozen=True)
class Ownership:
    """Terraform writes an installation's file."""

    owner: TerraformOwner
    is_certain: bool
    """False: it may, but the Terraform file does not tell which cluster it is for."""


def owners(tree: Tree) -> tuple[TerraformOwner, ...]:
    """Every such resource of the tree, in the order of files and lines."""
    return tuple(owner for path in tree.named(SUFFIXES) for owner in _owners_in(tree, path))


def owner_of(path: str, owners: tuple[TerraformOwner, ...]) -> Ownership | None:
    """Who writes the installation at ``path``: the one that says so, else the first that may."""
    able = [owner for owner in owners if owner.writes(path)]
    return next(
        (Ownership(owner, owner.is_certain) for owner in sorted(able, key=lambda each: not each.is_certain)),
        None,
    )


def hold(ownership: Ownership, target: str) -> Hold:
    """The hold of an installation that Terraform writes, with the line to change for ``target``, a tag."""
    owner = ownership.owner
    place = f"{owner.path}:{owner.version_line or owner.line}"
    said = f"version = {owner.version}" if owner.version_line else f"{RESOURCE} without a version"
    detail = f"Terraform writes this file: {place} says {said}"
    if not ownership.is_certain:
        detail = f"Terraform may write this file: {place} says {said}, and not for which cluster"
    return Hold(HoldReason.OWNED_BY_TERRAFORM, detail, _remedy(owner, place, target), target=target)


def _remedy(owner: TerraformOwner, place: str, target: str) -> str:
    equals = '"version": ' if owner.path.endswith(".json") else "version = "
    if owner.is_embedded:
        return (
            f"{owner.path}:{owner.line}: embedded_manifests is set, so that the provider's own version "
            f"decides: raise it to one that embeds {target}"
        )
    if not owner.version_line:
        return f'{place}: add {equals}"{target}" to it; without, the provider\'s own version decides'
    if owner.version.startswith('"') and _INTERPOLATION.search(owner.version) is None:
        return f'{place}: {equals}"{target}"'
    return f"{place}: let {owner.version} be {target}"


def _pattern(text: str) -> str:
    """A regular expression for ``text``, whose interpolations may stand for anything."""
    return ".+".join(map(re.escape, _INTERPOLATION.split(text)))


def _owners_in(tree: Tree, path: str) -> Iterator[TerraformOwner]:
    try:
        content = tree.read(path)
    except Unreadable:
        return
    if RESOURCE.encode() not in content:
        return
    text = content.decode(errors="replace")
    found = _json_blocks(text) if path.endswith(".json") else blocks(text)
    for block in found:
        if block.type == "resource" and block.labels[:1] == (RESOURCE,):
            yield _owner(path, block)


def _owner(path: str, block: Block) -> TerraformOwner:
    attributes = block.attributes
    version = attributes.get("version")
    return TerraformOwner(
        path,
        block.line,
        version_line=version.line if version else 0,
        version=version.text if version else "",
        is_embedded=attributes.get("embedded_manifests", _ANYTHING).text == "true",
        cluster_path=attributes["path"].literal if "path" in attributes else "",
        namespace=attributes["namespace"].literal if "namespace" in attributes else "flux-system",
    )


def _json_blocks(text: str) -> Iterator[Block]:
    """The resources of Terraform's JSON syntax; lines are those where the names stand first."""
    try:
        resources = _member(json.loads(text), "resource", RESOURCE)
    except (ValueError, RecursionError):
        return
    begin = text.find(f'"{RESOURCE}"')
    for name, bodies in resources.items():
        start = max(text.find(json.dumps(name), begin), begin)
        for body in bodies if isinstance(bodies, list) else [bodies]:
            if isinstance(body, Mapping):
                attributes = {key: _json_attribute(text, start, key, value) for key, value in body.items()}
                yield Block("resource", (RESOURCE, name), _line(text, start), attributes)


def _member(data: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def _json_attribute(text: str, start: int, key: str, value: object) -> Attribute:
    """Strings of the JSON syntax are templates; one that is nothing but ``${…}`` is an expression."""
    line = _line(text, max(text.find(json.dumps(key), start), start))
    is_string = isinstance(value, str) and not re.fullmatch(r"\$\{[^{}]*\}", value)
    return Attribute(line, json.dumps(value), str(value) if is_string else None)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
