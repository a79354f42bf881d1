"""What Git knows of files: the id of a content, what they were in earlier commits, and the ports that ask for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple

_SHA1_DIGITS = 40


def blob_id(content: bytes, like: str = "") -> str:
    """Git's id of a blob with ``content``; by the hash function of the id ``like`` (SHA-1, or SHA-256)."""
    hashed = hashlib.sha256 if len(like) > _SHA1_DIGITS else hashlib.sha1
    return hashed(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class FileRevision(NamedTuple):
    commit: str  # Its oid
    date: str  # RFC 3339, UTC: when it was committed
    content: bytes
    is_aside: bool = False  # It was so on a branch that was merged: the branch itself may never have been


class FileRevisions(NamedTuple):
    versions: tuple[FileRevision, ...] = ()
    """Oldest first, the present one too; a content that came back is there again."""
    missing: Unknown | None = None  # Why there may be older ones: a shallow checkout, no repository; None: all are here
    has_gaps: bool = False  # Newer ones may be missing as well

    @property
    def gap(self) -> Unknown | None:
        """The reason that newer ones may be missing."""
        return self.missing if self.has_gaps else None


class Mentions(NamedTuple):
    """Which manifests named a version of an API, in any commit."""

    paths: tuple[str, ...] = ()  # Of YAML and JSON files, as they were called then; sorted
    missing: Unknown | None = None  # Why there may be others: a shallow checkout; None: these are all


class FileHistory(Protocol):
    @property
    def is_local(self) -> bool:
        """Whether asking costs no requests."""

    def mentions(self, versions: Sequence[str]) -> Mentions:
        """Files that had ``apiVersion:`` with one of ``versions``, such as ``helm.toolkit.fluxcd.io/v2``.

        Raises nothing: what cannot be searched is said in ``missing``.
        """

    def of(self, path: str) -> FileRevisions:
        """One file, renames followed where that can be done. ``path``: relative to the repository's root.

        Raises nothing: what cannot be had is said in ``missing``.
        """


class FollowedFile(NamedTuple):
    """A file in the commit that Flux follows, if the checkout shows which one that is."""

    content: bytes
    instead: Unknown | None = None  # Why it is the commit that is checked out; None: it is the one that Flux follows


class FollowedFiles(Protocol):
    def file(self, path: str, branch: str | Unknown, present: bytes) -> FollowedFile | Unknown:
        """Return a file in the newest commit of ``branch`` that is in the checkout, or why it is unknown.

        On another branch, that is the commit where it left ``branch``. ``present``: the file in the checkout.
        Raises nothing.
        """
