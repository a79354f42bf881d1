"""What the kind ``artifact`` asks about an artifact of the user's own that holds Flux."""

from __future__ import annotations

from typing import Protocol

from flux_upgrade.artifact.address import Address
from flux_upgrade.decision import Hold
from flux_upgrade.values import NamedTuple


class Held(NamedTuple):
    """What an artifact holds."""

    version: str
    """The release of Flux, a tag; empty where it cannot be told."""
    reason: str = ""
    """Why it cannot be told, or not be rebased; empty where it can."""
    hint: str = ""
    digest: str = ""
    """``sha256:…`` of its manifest; empty where there is no such artifact."""


class Successor(NamedTuple):
    """An artifact rebased to another release, which need not have been pushed yet."""

    tag: str
    """The immutable one."""
    digest: str
    """``sha256:…`` of its manifest."""
    remarks: tuple[str, ...] = ()
    """What there is to know of it, a sentence each, without markup."""
    is_signed: bool = False
    """Whether there is a signature of it in the registry."""


class OwnArtifacts(Protocol):
    """The artifacts of one repository in a registry. A ``reference`` is a tag or ``sha256:…``."""

    address: Address
    """Of the repository; its tag is the one that moves."""

    def at(self, reference: str) -> Held:
        """What is there. Raises SourceUnavailable, UntrustedArchive."""
        ...

    def rebased(self, reference: str, target: str, path: str) -> Successor | Hold:
        """What is there, taken to a release; or why it is not. Nothing is pushed.

        ``path``: of the pin in the tree, whose settings govern the manifest in the artifact.

        Raises what ``PinKind.change`` raises.
        """
        ...
