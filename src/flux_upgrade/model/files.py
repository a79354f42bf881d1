"""The files of a repository: read and written on disk, on a branch of a server, and as they once were.

The ports, and the values that they speak of. ``adapters/local`` and ``adapters/git`` implement them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from flux_upgrade.model.errors import CheckoutDiffers, Unreadable

_SHA1_DIGITS = 40


def blob_id(content: bytes, like: str = "") -> str:
    """Git's id of a blob with ``content``; by the hash function of the id ``like`` (SHA-1, or SHA-256)."""
    hashed = hashlib.sha256 if len(like) > _SHA1_DIGITS else hashlib.sha1
    return hashed(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Tree(Protocol):
    """The files of a repository, read only. Paths are relative, with ``/``."""

    def candidates(self) -> Iterator[str]:
        """Paths of the YAML files below the root, sorted; links out of the tree are not followed."""

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        """Paths of the files whose name ends with one of ``suffixes``, sorted; found as candidates are.

        Of any size and kind of content. ``candidates`` and ``named`` share one walk.
        """

    def read(self, path: str) -> bytes:
        """A file's content. Raises Unreadable."""


class FilesInMemory:
    """As ``Tree``."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def candidates(self) -> Iterator[str]:
        return self.named((".yaml", ".yml"))

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        return (path for path in sorted(self._files) if path.endswith(suffixes))

    def read(self, path: str) -> bytes:
        if path not in self._files:
            raise Unreadable(f"{path} is missing", hint="add it to the repository")
        return self._files[path]


class Worktree(Protocol):
    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        """Replace a file atomically. Raises WriteFailed; then the old file is untouched.

        ``old``: what was read. A file that is something else by now is not replaced.
        """

    def write_all(self, files: Mapping[str, bytes], before: Mapping[str, bytes]) -> None:
        """Replace several, all or none. ``before``: path → what was read, as ``old`` of ``write``.

        Raises WriteFailed.
        """

    def require_room(self, paths: Iterable[str]) -> None:
        """That each of ``paths`` could be written, as far as that is known. Raises WriteFailed."""

    def make(self, path: str, content: bytes) -> None:
        """Make a file that is not there yet, with the folders that it needs. Raises WriteFailed."""

    def remove(self, path: str, content: bytes) -> None:
        """Take back a file that was made, if it still is what it was made as, and its empty folders."""


class Remote(Protocol):
    """A repository on a server, by Git: one branch of it is read, and committed to."""

    @property
    def head(self) -> str:
        """Oid of the branch's head as it was fetched; empty where the repository is empty."""

    @property
    def tree(self) -> Tree:
        """The branch's files as they were fetched; none where the repository is empty."""

    def require_room(self, paths: Iterable[str]) -> None:
        """That each of ``paths`` is a plain file on the branch, or could be one. Raises WriteFailed."""

    def push(self, files: Mapping[str, bytes], message: str) -> str:
        """Commit ``files`` over the head (or as the first commit) and push. The new head's oid.

        Raises Overtaken where the branch has moved since, ForbiddenByForge, ForgeUnavailable.
        """

    def close(self) -> None:
        """Remove what is temporary."""


class FileRevision(NamedTuple):
    commit: str  # Its oid
    date: str  # RFC 3339, UTC: when it was committed
    content: bytes
    is_aside: bool = False  # It was so on a branch that was merged: the branch itself may never have been


class FileRevisions(NamedTuple):
    versions: tuple[FileRevision, ...] = ()
    """Oldest first, the present one too; a content that came back is there again."""
    missing: str = ""  # Why there may be older ones: a shallow checkout, no repository; empty: these are all


class Mentions(NamedTuple):
    """Which manifests named a version of an API, in any commit."""

    paths: tuple[str, ...] = ()  # Of YAML and JSON files, as they were called then; sorted
    missing: str = ""  # Why there may be others: a shallow checkout, no repository; empty: these are all


class Checkout(Protocol):
    """The user's checkout, as far as Git knows it."""

    def explain(self, path: str, base_oid: str) -> CheckoutDiffers:
        """Why a file is another one at ``base_oid``, the head of the base branch; to be raised."""
        ...


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
