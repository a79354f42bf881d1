"""The user's files: read below one folder, written one by one and whole."""
# Descriptors, modes and links: os calls throughout, and no pathlib to import.
# ruff: noqa: PTH103, PTH105, PTH106, PTH107, PTH112, PTH113, PTH116, PTH118, PTH119, PTH120, PTH123

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from flux_upgrade.edges.plain import one_line
from flux_upgrade.edges.regular import read_regular
from flux_upgrade.errors import Unreadable, UsageError, WriteFailed

MAX_FILE = 32 * 1024 * 1024
"""Bytes; larger files are no manifests and are left out."""

SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", ".terraform", ".venv"})
"""Folders that hold other people's files."""
NAMED = ("gotk-components.yaml", "gotk-components.yml")
"""Files that are spoken of whatever they are: one that cannot be read is no reason for silence."""


def _anchor(root: str) -> tuple[str, str | None]:
    """The real folder of ``root``, and the file's name where it is a file.

    A link given as the root itself is followed: it is the user's own word.
    """
    real = os.path.realpath(root)
    if os.path.isdir(real):
        return real, None
    if os.path.isfile(real):
        return os.path.dirname(real), os.path.basename(real)
    raise UsageError(
        f"there is no file or folder {one_line(root)}",
        hint="give the path of a repository or of a manifest",
    )


def _inside(folder: str, path: str) -> str | None:
    """The real path of ``path`` in ``folder``; None where it leaves it."""
    if "\0" in path:
        return None
    real = os.path.realpath(os.path.join(folder, path))
    return real if f"{real}/".startswith(folder.rstrip("/") + "/") else None


class DirectoryTree:
    """The port Tree over a folder, or over one file and its folder.

    Raises UsageError where there is neither.
    """

    def __init__(self, root: str) -> None:
        self._folder, self._only = _anchor(root)
        self._listed: tuple[list[str], list[str]] | None = None

    def candidates(self) -> Iterator[str]:
        """See the port. Links are not followed at all: what they lead to inside is found itself.

        A folder that cannot be listed is yielded in place of its files, so that
        reading it tells why.
        """
        yield from self._listing()[0]

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        """See the port. Folders that cannot be listed are left out."""
        yield from (path for path in self._listing()[1] if path.endswith(suffixes))

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises Unreadable, also where ``path`` leaves the tree."""
        real = _inside(self._folder, path)
        if real is None:
            raise Unreadable(
                f"{one_line(path)} leaves the folder that is worked on",
                hint="run flux-upgrade on a folder above",
            )
        try:
            return read_regular(real, MAX_FILE)
        except OSError as error:
            raise Unreadable(
                f"{one_line(path)} cannot be read: {error.strerror}",
                hint="check that it is there, what it is, and its permissions",
            ) from error

    def _listing(self) -> tuple[list[str], list[str]]:
        """What ``candidates`` and ``named`` choose from; the tree is walked once."""
        if self._listed is None:
            found = self._below() if self._only is None else ([self._only], [self._only])
            self._listed = sorted(found[0]), sorted(found[1])
        return self._listed

    def _below(self) -> tuple[list[str], list[str]]:
        """The candidates of the tree, and all its files."""
        candidates: list[str] = []
        files: list[str] = []
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(os.path.join(self._folder, folder)) as found:
                    entries = tuple(found)
            except OSError:
                candidates.append(folder.rstrip("/") or ".")
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED:
                        folders.append(f"{folder}{entry.name}/")
                    continue
                if _is_candidate(entry):
                    candidates.append(folder + entry.name)
                if entry.is_file(follow_symlinks=False):
                    files.append(folder + entry.name)
        return candidates, files


def _is_candidate(entry: os.DirEntry[str]) -> bool:
    if entry.name in NAMED:
        return not entry.is_symlink()
    return entry.name.endswith((".yaml", ".yml")) and _is_small_file(entry)


def _is_small_file(entry: os.DirEntry[str]) -> bool:
    if not entry.is_file(follow_symlinks=False):
        return False
    with suppress(OSError):  # gone or locked since: reading it tells
        return entry.stat(follow_symlinks=False).st_size <= MAX_FILE
    return True


class DirectoryWorktree:
    """The port Worktree over a folder, or over the folder of a file.

    Raises UsageError where there is neither.
    """

    def __init__(self, root: str) -> None:
        self._folder, _ = _anchor(root)

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        """Replace or make a file; its mode stays, and its owner where that may be set.

        Raises WriteFailed, and then leaves everything as it was; also where
        ``path`` leaves the tree, by itself or through a link.
        """
        target = self._target(path)
        temporary = os.path.join(os.path.dirname(target), f".flux-upgrade-{os.urandom(8).hex()}")
        try:
            _write_whole(temporary, target, content, old)
        except OSError as error:
            raise WriteFailed(
                f"{one_line(path)} cannot be written: {error.strerror}",
                hint="check its permissions and the space on its disk; the file is as it was",
            ) from error
        finally:
            with suppress(OSError):  # after success it is gone
                os.remove(temporary)

    def make(self, path: str, content: bytes) -> None:
        """See the port. What somebody else has put there in the meantime is not replaced."""
        target = self._target(path)
        try:
            _make_whole(target, content)
        except OSError as error:
            self._tidy(target)
            raise WriteFailed(
                f"{one_line(path)} cannot be made: {error.strerror}",
                hint="check the permissions of its folder and the space on its disk; nothing was replaced",
            ) from error

    def remove(self, path: str, content: bytes) -> None:
        """See the port. What cannot be taken back stays: that is said by what failed before."""
        target = self._target(path)
        with suppress(OSError):
            if read_regular(target, MAX_FILE) == content:
                os.remove(target)
                self._tidy(target)

    def _tidy(self, target: str) -> None:
        """Remove the folders above a file that is not there, as far as they are empty."""
        folder = os.path.dirname(target)
        with suppress(OSError):  # one that is not empty stays, and those above it
            while folder != self._folder:
                os.rmdir(folder)
                folder = os.path.dirname(folder)

    def _target(self, path: str) -> str:
        target = _inside(self._folder, path)
        if target is None:
            raise WriteFailed(
                f"{one_line(path)} leaves the folder that is worked on, and was not written",
                hint="run flux-upgrade on a folder above, or replace the link",
            )
        return target


def _write_whole(temporary: str, target: str, content: bytes, old: bytes | None) -> None:
    before = None
    with suppress(FileNotFoundError):
        before = os.stat(target)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
    with open(temporary, "xb") as file:
        file.write(content)
        file.flush()
        if before is not None:
            with suppress(PermissionError):  # only root may give files away
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
        os.fsync(file.fileno())
    if old is not None and read_regular(target, MAX_FILE) != old:
        raise OSError(errno.EBUSY, "it was changed since it was read; run flux-upgrade again")
    os.replace(temporary, target)


def _make_whole(target: str, content: bytes) -> None:
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, f".flux-upgrade-{os.urandom(8).hex()}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "there is a file by now; run flux-upgrade again")
        os.replace(temporary, target)
    finally:
        with suppress(OSError):  # it may not have come to it
            os.remove(temporary)


class RecordingWorktree:
    """The port Worktree of a dry run: remembers what would be written."""

    def __init__(self) -> None:
        self.written: list[tuple[str, bytes]] = []

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        """Remember ``content`` for ``path``, in the order of the calls."""
        del old
        self.written.append((path, content))

    def make(self, path: str, content: bytes) -> None:
        """As ``write``."""
        self.written.append((path, content))

    def remove(self, path: str, content: bytes) -> None:
        """Forget ``content`` for ``path``."""
        self.written.remove((path, content))
