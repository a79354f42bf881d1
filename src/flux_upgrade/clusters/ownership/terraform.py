"""Terraform's resource ``flux_bootstrap_git``, which writes an installation's file itself.

registry.terraform.io/providers/fluxcd/flux: it keeps ``<path>/<namespace>/gotk-components.yaml``
at its ``version``, so that an upgrade by anybody else is undone by the next apply.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flux_upgrade.model.patterns import fits
from flux_upgrade.model.text import repository_path
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.hcl import Attribute, Block
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES
from flux_upgrade.pins.formats.terraform_module import INTERPOLATION, RESOURCE, blocks_of
from flux_upgrade.pins.pin import Pin
from flux_upgrade.pins.terraform import pin as terraform
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.snapshot import Snapshot

_WRITTEN = "gotk-components.yaml"
_ANYTHING = Attribute(0, "", None)


@dataclass(frozen=True)
class TerraformOwner:
    """A resource ``flux_bootstrap_git``."""

    path: str  # The Terraform file, relative to the tree's root
    line: int  # Of the resource, 1-based
    version_line: int = 0  # 0: it has no attribute `version`, and the provider's own version decides
    version: str = ""  # The attribute's expression as it stands: `"v2.8.7"`, quotes included, or `var.flux_version`
    is_embedded: bool = False  # `embedded_manifests`: `version` has no effect, the provider's own version decides
    cluster_path: str | None = ""
    """Its ``path``, ``${…}`` included; empty for the root; None for an expression that is no string."""
    namespace: str | None = "flux-system"  # None for an expression that is no string

    @property
    def is_certain(self) -> bool:
        return self.cluster_path is not None and INTERPOLATION.search(self.cluster_path) is None

    def writes(self, path: str) -> bool:
        """Whether the installation at ``path`` is one that it may write."""
        folder, name = posixpath.split(path)
        if name != _WRITTEN:
            return False
        if self.cluster_path is None:
            wanted = r"(?:.+/)?"
        else:
            cluster = repository_path(self.cluster_path)
            wanted = _pattern(cluster) + "/" if cluster else ""
        wanted += "[^/]+" if self.namespace is None else _pattern(self.namespace)
        return fits(wanted, folder)


@dataclass(frozen=True)
class TerraformOwnership:
    owner: TerraformOwner
    is_certain: bool  # False: it may, but the Terraform file does not tell which cluster it is for


def owners(tree: Snapshot) -> tuple[TerraformOwner, ...]:
    """Every such resource of the tree, in the order of files and lines."""
    return tuple(owner for path in tree.named(TERRAFORM_FILES) for owner in _owners_in(tree, path))


def owner_of(path: str, owners: tuple[TerraformOwner, ...]) -> TerraformOwnership | None:
    """Who writes the installation at ``path``: the one that says so, else the first that may."""
    able = [owner for owner in owners if owner.writes(path)]
    return next(
        (TerraformOwnership(owner, owner.is_certain) for owner in sorted(able, key=lambda each: not each.is_certain)),
        None,
    )


def mover(ownership: TerraformOwnership, pins: Iterable[Pin]) -> Pin | None:
    """The pin with which the installation moves; None where Terraform's version is not ours to change."""
    owner = ownership.owner
    return next(
        (
            pin
            for pin in pins
            if (pin.kind, pin.path, pin.line) == (terraform.NAME, owner.path, owner.version_line)
            and pin.folder == repository_path(owner.cluster_path or "")
            and pin.is_movable
            and ownership.is_certain
        ),
        None,
    )


def hold(ownership: TerraformOwnership, target: Version) -> Hold:
    """The hold of an installation that Terraform writes, with the line to change for ``target``, a tag."""
    owner = ownership.owner
    place = f"{owner.path}:{owner.version_line or owner.line}"
    said = f"version = {owner.version}" if owner.version_line else f"{RESOURCE} without a version"
    detail = f"Terraform writes this file: {place} says {said}"
    if not ownership.is_certain:
        detail = f"Terraform may write this file: {place} says {said}, but not for which cluster"
    return Hold(HoldReason.OWNED_BY_TERRAFORM, detail, _remedy(owner, place, target), target=target)


def _remedy(owner: TerraformOwner, place: str, target: Version) -> str:
    equals = '"version": ' if owner.path.endswith(".json") else "version = "
    if owner.is_embedded:
        return (
            f"{owner.path}:{owner.line}: embedded_manifests is set, so upgrade the provider to a version "
            f"that embeds {target}"
        )
    if not owner.version_line:
        return f'{place}: add {equals}"{target}" to it; otherwise, the version of the provider decides'
    if owner.version.startswith('"') and INTERPOLATION.search(owner.version) is None:
        return f'{place}: {equals}"{target}"'
    return f"{place}: set {owner.version} to {target}"


def _pattern(text: str) -> str:
    """A regular expression for ``text``, whose interpolations may stand for anything."""
    return ".+".join(map(re.escape, INTERPOLATION.split(text)))


def _owners_in(tree: Snapshot, path: str) -> Iterator[TerraformOwner]:
    content = tree.content(path)
    if content is None or RESOURCE.encode() not in content:
        return
    for block in blocks_of(path, content) or ():
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
