"""The ports of a repository's files: read and written on disk, and on a branch of a server.

``adapters/local`` and ``adapters/git`` implement them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from flux_upgrade.model.errors import CheckoutDiffers, Unreadable


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


class Checkout(Protocol):
    """The user's checkout, as far as Git knows it."""

    def explain(self, path: str, base_oid: str) -> CheckoutDiffers:
        """Why a file is another one at ``base_oid``, the head of the base branch; to be raised."""
        ...
