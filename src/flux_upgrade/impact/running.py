"""Which Flux the clusters of a repository run today, as far as their installations tell.

A verified manifest or a pin runs a release, and the release says what it serves. A manifest that cannot
be verified (Flux v0, a development build, install.yaml, edited CRDs) runs all the same: its own CRDs say
what it serves.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from flux_upgrade.clusters import Member, is_below, role_of
from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds import Installation
from flux_upgrade.kinds.pin import Role
from flux_upgrade.manifests.crds import Crd, Served, crds_of
from flux_upgrade.manifests.documents import Manifest, parse
from flux_upgrade.migration.apis import Apis
from flux_upgrade.values import NamedTuple
from flux_upgrade.versions import is_tag, precedence

_NAMESPACE = "flux-system"
_CRD = "CustomResourceDefinition"
_INSTALLING = (_CRD, "Deployment")
_FLUX = ".fluxcd.io"


class Unverified(NamedTuple):
    """A manifest that no release speaks for, or not alone."""

    path: str
    """Relative to the repository's root."""
    version: str
    """As its labels or its header have it; empty where they have none."""
    content: bytes | None
    """None where it cannot be read as a manifest."""
    is_edited: bool = False
    """Whether it is a release's, but for its CRDs."""

    @property
    def name(self) -> str:
        """For people: version and path."""
        where = f"{self.path}, CRDs edited" if self.is_edited else self.path
        return f"{self.version} ({where})" if self.version else self.path


class Running(NamedTuple):
    """What the clusters run."""

    releases: tuple[str, ...] = ()
    """Tags, oldest first."""
    unverified: tuple[Unverified, ...] = ()
    """In the order of the installations."""
    homes: tuple[str, ...] = ()
    """Folders that are the own ones of clusters with a verified manifest."""

    def readers(self, path: str) -> tuple[Unverified, ...]:
        """The unverified ones that may read a file: all, unless it is in the own folder of another cluster.

        Where one folder is inside of the other, Flux may apply both to the outer cluster.
        """
        home = max((each for each in self.homes if is_below(path, each)), key=len, default="")
        return tuple(each for each in self.unverified if not home or _are_nested(home, home_of(each.path)))


class ManifestApis:
    """What unverified manifests serve, by their own CRDs; each is read once."""

    def __init__(self) -> None:
        self._read: dict[Unverified, Served | None] = {}

    def of(self, each: Unverified) -> Served | None:
        """None: its CRDs cannot be read, or it has none."""
        if each not in self._read:
            self._read[each] = _served(each)
        return self._read[each]

    def suited(self, apis: Apis, readers: Sequence[Unverified]) -> Apis:
        """``apis`` for files that these may read as well."""
        if not readers:
            return apis
        found = [self.of(each) for each in readers]
        return replace(
            apis,
            unverified=tuple(each for each in found if each is not None),
            unread=tuple(each.name for each in readers if self.of(each) is None),
        )


def running(members: Iterable[Member]) -> Running:
    """What some installations and pins run. Whatever does not install Flux is passed over."""
    releases: set[str] = set()
    unverified: list[Unverified] = []
    homes: set[str] = set()
    for member in members:
        found = member.installation
        if role_of(found) is not Role.INSTALLS:
            continue
        if is_tag(found.version):
            releases.add(found.version)
        if isinstance(found, Installation):
            is_verified = found.proof.base is not None
            if is_verified:
                homes.add(home_of(member.path))
            if _is_told_by_itself(found):
                content = found.content if found.proof.manifest is not None else None
                unverified.append(Unverified(member.path, _version(found), content, is_verified))
    return Running(
        tuple(sorted(releases, key=precedence)), tuple(unverified), tuple(sorted(filter(None, homes)))
    )


def home_of(path: str) -> str:
    """``clusters/a`` for ``clusters/a/flux-system/gotk-components.yaml``; empty for the repository's root."""
    folder = posixpath.dirname(path)
    above, _, last = folder.rpartition("/")
    return above if last == _NAMESPACE else folder


def _are_nested(one: str, other: str) -> bool:
    return is_below(one, other) or is_below(other, one)


def _is_told_by_itself(found: Installation) -> bool:
    """Whether its own CRDs say what its cluster serves, and no release, or not alone."""
    proof = found.proof
    if proof.manifest is None:
        return True
    if proof.base is not None:
        is_edited = any(edit.object.kind == _CRD for edit in proof.edits)
        return is_edited and _told(proof.manifest) != _told(proof.base.manifest)
    # What was read and has nothing to install is no cluster: a bootstrap may begin with an empty file.
    return any(kind in each.text for each in proof.manifest.documents for kind in _INSTALLING)


def _told(manifest: Manifest) -> Mapping[str, frozenset[str]] | None:
    """What its CRDs serve, by their names; None where they cannot be read."""
    try:
        return {name: crd.served for name, crd in _crds(manifest).items()}
    except Unreadable:
        return None


def _served(each: Unverified) -> Served | None:
    if each.content is None:
        return None
    try:
        found = Served(each.name, _crds(parse(each.content)))
        for crd in found.kinds.values():
            _ = crd.served
    except Unreadable:
        return None
    return found if found.crds else None


def _crds(manifest: Manifest) -> dict[str, Crd]:
    """Those of Flux, whatever else is in the file. Raises Unreadable, late as well, see ``Crd``."""
    found = crds_of(each for each in manifest.documents if _CRD in each.text)
    return {name: crd for name, crd in found.items() if crd.group.endswith(_FLUX)}


def _version(found: Installation) -> str:
    """As ``inspect`` shows it."""
    proof = found.proof
    labels = proof.inferred.versions if proof.inferred is not None else ()
    header = proof.manifest.header_version if proof.manifest is not None else ""
    return next(filter(None, (proof.version, *labels, header)), "")
