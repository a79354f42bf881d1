"""What the kinds of pins ask about: releases, registries, charts and other files of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.policy.decision import Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Artifacts, Charts
    from flux_upgrade.pins.formats.config_maps import ConfigMaps
    from flux_upgrade.snapshot.snapshot import Snapshot


class ArtifactRelease(NamedTuple):
    """The release of Flux that an artifact holds."""

    version: Version  # The release of Flux, a tag; empty if it is unknown
    reason: str = ""  # Why it is unknown, or why it cannot be rebased; else empty
    hint: str = ""
    digest: str = ""  # `sha256:…` of its manifest; empty where there is no such artifact


class RebasedArtifact(NamedTuple):
    """An artifact rebased to another release, which need not have been pushed yet."""

    tag: str  # The immutable one
    digest: str  # `sha256:…` of its manifest
    remarks: tuple[str, ...] = ()  # What there is to know of it, a sentence each, without markup
    is_signed: bool = False  # Whether there is a signature of it in the registry
    manifests: tuple[bytes, bytes] | None = None  # Flux's manifest in it before and afterwards, where it is known
    out_of_reach: Hold | None = None  # As in `PinChange`


class OperatorRelease(NamedTuple):
    """The flux-operator of a cluster, where the version of its image is known."""

    version: str  # As it is written: a release, or the range that it is the highest release of
    place: str  # Where that stands: `path:line`
    releases: tuple[Version, ...]  # The releases of Flux in its image, lowest first; at least one

    def __str__(self) -> str:
        return f"the flux-operator {self.version} ({self.place})"


class OwnArtifacts(Protocol):
    """The artifacts of one repository in a registry. A ``reference`` is a tag or ``sha256:…``."""

    address: Address  # Of the repository; its tag is the one that moves

    def at(self, reference: str) -> ArtifactRelease:
        """What is there. Raises SourceUnavailable, UntrustedArchive."""
        ...

    def rebased(self, reference: str, target: str, path: str) -> RebasedArtifact | Hold:
        """What is there, taken to a release; or why it is not. Nothing is pushed.

        ``path``: of the pin in the tree, whose settings govern the manifest in the artifact.

        Raises what ``KindModule.change`` raises.
        """
        ...

    def push(self, reference: str, target: str, path: str) -> None:
        """Put what ``rebased`` named into the registry, unless it is there.

        Raises Overtaken where somebody else has put it there in the meantime, with a digest of its own:
        then ``rebased`` names that one. Raises what ``ArtifactRegistry`` raises.
        """
        ...


class UserPattern(NamedTuple):
    """An entry of the key ``also`` of the config file, and the files that it names."""

    match: str  # For RE2, with the group `version`
    paths: tuple[str, ...]  # Relative to the tree's root, sorted
    is_cli: bool
    folder: str | None  # As `Pin.folder`
    config: str  # Path of the config file
    line: int  # Of the entry in it, from 1
    is_whole: bool = True  # Whether the tree is the repository, so that `paths` are all files
    is_astray: bool = False  # Whether no file is in `folder`


@dataclass(frozen=True)
class PinContext:
    tree: Snapshot
    regenerator: Regenerator  # `stable_tags()`: Flux's releases, newest first
    artifacts: Artifacts
    charts: Charts
    moves_operator: bool = False  # Whether the flux-operator's own pins are updated with Flux, instead of only reported
    own: OwnArtifacts | None = None
    """Where Flux is in an artifact that pull requests promote; None: nobody asked about one."""
    is_offline: bool = False  # Whether the releases are in a folder, which need not be asked about elsewhere

    also: tuple[UserPattern, ...] = ()  # Where the config file says that further versions are

    @cached_property
    def config_maps(self) -> ConfigMaps:
        """What the ConfigMaps and Secrets of the tree hold, read when the first kind asks about them."""
        from flux_upgrade.pins.formats.config_maps import ConfigMaps  # late: most kinds have no values elsewhere

        return ConfigMaps(self.tree)
