"""Which Flux the clusters of a repository run today.

A verified manifest or a pin runs a release, and the release says what it serves. A manifest that cannot
be verified (Flux v0, a development build, install.yaml, edited CRDs) runs all the same: its own CRDs say
what it serves.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.manifests.crds import Crd, ReleaseApis, crds_of
from flux_upgrade.manifests.documents import Manifest, parse
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import is_below
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.pin import Pin, Role

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.migrate.apis import Apis

_CRD = "CustomResourceDefinition"
_DEVELOPMENT = "v0.0.0-"  # What a CLI that was built without a version writes
_CONTROLLER = re.compile(rb"\bimage: *[\"']?(?:(?!image:)[^\s\"'])*/kustomize-controller:v1\.(\d+)\.")


class UnverifiedInstallation(NamedTuple):
    """A manifest that is of no release, or whose CRDs are edited."""

    path: str  # relative to the repository's root
    version: str  # As its labels or its header have it, else the minor of its controllers; empty where nothing tells
    content: bytes | None  # None where it cannot be read as a manifest
    is_edited: bool = False  # whether it is a release's, but for its CRDs
    is_sync: bool = False  # Whether it is the sync of a cluster whose manifest is not in the repository

    @property
    def name(self) -> str:
        where = f"{self.path}, CRDs edited" if self.is_edited else self.path
        return f"{self.version} ({where})" if self.version else self.path


class Running(NamedTuple):
    releases: tuple[str, ...] = ()  # tags, oldest first
    unverified: tuple[UnverifiedInstallation, ...] = ()  # in the order of the installations
    homes: tuple[str, ...] = ()  # folders that are the own ones of clusters with a verified manifest

    def readers(self, path: str) -> tuple[UnverifiedInstallation, ...]:
        """Return the unverified ones that may read a file: all, unless it is in the own folder of another cluster.

        Where one folder is inside of the other, Flux may apply both to the outer cluster.
        """
        if not self.unverified:
            return ()
        home = max((each for each in self.homes if is_below(path, each)), key=len, default="")
        if not home:
            return self.unverified
        theirs = [(each, home_of(each.path)) for each in self.unverified]
        return tuple(each for each, its in theirs if is_below(home, its) or is_below(its, home))


@cache
def manifest_apis(each: UnverifiedInstallation) -> ReleaseApis | Unknown:
    """Return what a manifest serves, by its own CRDs."""
    unknown = Unknown(f"the CRDs of {each.name} are not readable")
    if each.is_sync:
        unknown = Unknown(f"there is no Flux manifest next to {each.path}")
    if each.content is None:
        return unknown
    try:
        found = ReleaseApis(each.name, _crds(parse(each.content)))
        for crd in found.kinds.values():
            _ = crd.served
    except Unreadable:
        return unknown
    return found if found.crds else unknown


def suited(apis: Apis, readers: Sequence[UnverifiedInstallation]) -> Apis:
    """Return ``apis`` for files that these may read as well."""
    if not readers:
        return apis
    found = [manifest_apis(each) for each in readers]
    return replace(
        apis,
        unverified=tuple(served for served in found if not isinstance(served, Unknown)),
        unread=tuple(served.reason for served in found if isinstance(served, Unknown)),
    )


def running(members: Iterable[Member]) -> Running:
    """Return what some installations and pins run. What does not install Flux is passed over."""
    releases: set[str] = set()
    unverified: list[UnverifiedInstallation] = []
    homes: set[str] = set()
    for member in members:
        found = member.pin
        if found.role is not Role.INSTALLS:
            continue
        if is_tag(found.version):
            releases.add(found.version)
        if found.is_manifest:
            is_verified = found.proof.base is not None
            if is_verified:
                homes.add(home_of(member.path))
            if _is_unverified(found):
                content = found.content if found.proof.manifest is not None else None
                version = found.proof.stated_version
                if not version or version.startswith(_DEVELOPMENT):
                    version = _by_controllers(found) or version
                unverified.append(UnverifiedInstallation(member.path, version, content, is_verified))
    return Running(tuple(sorted(releases, key=Version)), tuple(unverified), tuple(sorted(filter(None, homes))))


def installs(member: Member) -> bool:
    """Whether it installs Flux. Which one that is, a manifest need not tell."""
    is_known = member.pin.role is Role.INSTALLS and bool(member.pin.version)
    return is_known or bool(running([member]).unverified)


def _by_controllers(found: Pin) -> str:
    """Return the minor of Flux that a manifest's controllers are of, `v2.6`; empty where they do not tell.

    kustomize-controller v1.N is of Flux v2.N: https://github.com/fluxcd/flux2/releases, since v2.0.0.
    """
    match = _CONTROLLER.search(found.content)
    return f"v2.{match[1].decode()}" if match is not None else ""


def home_of(path: str) -> str:
    """Return ``clusters/a`` for ``clusters/a/flux-system/gotk-components.yaml``; empty for the repository's root."""
    folder = posixpath.dirname(path)
    above, _, last = folder.rpartition("/")
    return above if last == "flux-system" else folder


def _is_unverified(found: Pin) -> bool:
    """Whether its own CRDs say what its cluster serves, and no release, or not alone."""
    proof = found.proof
    if proof.manifest is None:
        return True
    if proof.base is not None:
        is_edited = any(edit.object.kind == _CRD for edit in proof.edits)
        return is_edited and _served_by_crd(proof.manifest) != _served_by_crd(proof.base.manifest)
    # What was read and has nothing to install is no cluster: a bootstrap may begin with an empty file.
    return any(kind in each.text for each in proof.manifest.documents for kind in (_CRD, "Deployment"))


def _served_by_crd(manifest: Manifest) -> Mapping[str, frozenset[str]] | None:
    """Return what its CRDs serve, by their names; None where they cannot be read."""
    try:
        return {name: crd.served for name, crd in _crds(manifest).items()}
    except Unreadable:
        return None


def _crds(manifest: Manifest) -> dict[str, Crd]:
    """Return the CRDs of Flux. Raises Unreadable, late as well, see ``Crd``."""
    found = crds_of(each for each in manifest.documents if _CRD in each.text)
    return {name: crd for name, crd in found.items() if crd.group.endswith(".fluxcd.io")}
