"""The ports of a repository's files: read and written on disk, and on a branch of a server.

``adapters/local`` and ``adapters/git`` implement them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from flux_upgrade.model.errors import CheckoutDiffers, Unread, Unreadable
from flux_upgrade.model.values import NamedTuple


class Listing(NamedTuple):
    """The files below a root: sorted paths, relative to it, with ``/``. No link is followed."""

    candidates: Sequence[str]
    """YAML files of a size that can be a manifest's, and directories that could not be listed."""
    files: Sequence[str]  # All regular files


class FileSource(Protocol):
    """The files of a directory, a commit, an artifact's layer, or memory."""

    def listing(self) -> Listing:
        """List all files, except in directories that other programs fill, such as ``node_modules``."""

    def read(self, path: str) -> bytes:
        """Read a file from the beginning to the end, whether it is listed or not. Raises Unreadable."""

    def chunks(self, path: str) -> Iterable[bytes]:
        """Read a file of any size in pieces, if that is possible. Raises Unreadable, also between two pieces."""


YAML = (".yaml", ".yml")


class FilesInMemory:
    """The port FileSource over path → content."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def listing(self) -> Listing:
        paths = sorted(self._files)
        return Listing([path for path in paths if path.endswith(YAML)], paths)

    def read(self, path: str) -> bytes:
        if path not in self._files:
            raise Unreadable(f"{path} is missing", hint="add it to the repository", why=Unread.ABSENT)
        return self._files[path]

    def chunks(self, path: str) -> Iterable[bytes]:
        return (self.read(path),)


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
    def files(self) -> FileSource:
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
