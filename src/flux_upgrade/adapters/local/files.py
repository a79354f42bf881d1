"""The user's files: read below one folder."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from flux_upgrade.model.errors import LIMITS, Unread, Unreadable, UsageError, known
from flux_upgrade.model.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flux_upgrade.model.files import Listing


def read_regular(path: str, limit: int, flags: int = 0) -> bytes:
    """The content of a regular file of at most ``limit`` bytes; links are followed, if ``flags`` allow it.

    Raises OSError, with a ``strerror`` to show; its errno is EINVAL for pipes and
    the like, EISDIR for folders, EFBIG for more than ``limit``. NoResources if no more files may be open.
    """
    try:
        # Opening a named pipe would wait for a writer. A file object would take half as long again.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    except OSError as error:
        if error.errno in LIMITS:  # that is no property of the file
            raise known(error) from error
        raise
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        # To make room for as much as may be read takes longer than to read most files.
        content = more = os.read(file, min(found.st_size, limit) + 1)
        # Else it grows or shrinks, or is one of those that do not tell their size.
        while len(content) != found.st_size and more and len(content) <= limit:
            more = os.read(file, limit + 1 - len(content))
            content += more
    finally:
        os.close(file)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit} bytes")
    return content


def chunks_of(path: str) -> Iterator[bytes]:
    """Yield the content of a regular file in pieces. Raises OSError, as ``read_regular``."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        while piece := file.read(_PIECE):
            yield piece


def read_if_readable(path: str, limit: int) -> bytes:
    """As ``read_regular``; empty where that raises OSError."""
    try:
        return read_regular(path, limit)
    except OSError:
        return b""


_PIECE = 1024 * 1024  # Bytes
MAX_FILE = 32 * 1024 * 1024  # bytes; larger files are no manifests and are left out

SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", ".terraform", ".venv"})
"""Folders that hold other people's files."""
_GIT = ".git"
_WHY = {errno.ENOENT: Unread.ABSENT, errno.ENOTDIR: Unread.ABSENT, errno.EFBIG: Unread.TOO_LARGE}
NAMED = ("gotk-components.yaml", "gotk-components.yml")
"""Files that are spoken of whatever they are: one that cannot be read is no reason for silence."""


def anchor(root: str) -> tuple[str, str | None]:
    """The real folder of ``root``, and the file's name where it is a file.

    A link given as the root itself is followed: it is the user's own word.
    """
    real = os.path.realpath(root)
    if os.path.isdir(real):
        return real, None
    if os.path.isfile(real):
        return os.path.dirname(real), os.path.basename(real)
    raise UsageError(
        f"no such file or directory: {one_line(root)}", hint="set the path of a repository or of a manifest"
    )


def inside(folder: str, path: str) -> str | None:
    """The real path of ``path`` in ``folder``; None where it leaves it, or is in a directory ``.git``.

    Git has no such files in a repository (git: verify_path). actions/checkout keeps a token in ``.git/config``.
    """
    if "\0" in path:
        return None
    real = os.path.realpath(os.path.join(folder, path))
    root = folder.rstrip("/") + "/"
    is_inside = f"{real}/".startswith(root) and _GIT not in real[len(root) :].lower().split("/")
    return real if is_inside else None


class Directory:
    """The port FileSource over a directory, or over one file and its directory.

    ``of_repository`` reads a file of the repository that the directory is a part of, by its path in the directory.
    Raises UsageError if there is neither.
    """

    def __init__(self, root: str, of_repository: Callable[[str], bytes] | None = None) -> None:
        self._folder, self._only = anchor(root)
        self._of_repository = of_repository
        self._real: dict[str, str | None] = {}

    @property
    def is_file(self) -> bool:
        return self._only is not None

    def read(self, path: str) -> bytes:
        """Read a file; links are followed, as long as they stay in the directory. Raises Unreadable."""
        above, _, name = path.rpartition("/")
        # Where a folder leads to is found out once; nearly no file is a link.
        if above not in self._real:
            self._real[above] = inside(self._folder, above)
        folder = self._real[above]
        if folder is not None and name.lower() not in ("", ".", "..", _GIT) and "\0" not in name:
            is_plain = folder == f"{self._folder}/{above}".rstrip("/") and not os.path.islink(f"{folder}/{name}")
            if self._of_repository is not None and is_plain:
                with suppress(Unreadable):  # the error has to name the path as it is in the directory
                    return self._of_repository(path)
            try:
                return read_regular(f"{folder}/{name}", MAX_FILE, os.O_NOFOLLOW)
            except OSError:
                pass  # a link, or whatever it is: see below
        real = self._inside(path)
        try:
            return read_regular(real, MAX_FILE)
        except OSError as error:
            raise _unreadable(path, error) from error

    def chunks(self, path: str) -> Iterator[bytes]:
        """Read a file of any size in pieces. Raises Unreadable."""
        try:
            yield from chunks_of(self._inside(path))
        except OSError as error:
            raise _unreadable(path, error) from error

    def _inside(self, path: str) -> str:
        real = inside(self._folder, path)
        if real is None:
            raise Unreadable(
                f"{one_line(path)} leads out of the directory",
                hint="run flux-upgrade on a parent directory",
                why=Unread.OUTSIDE,
            )
        return real

    def listing(self) -> Listing:
        """List the files below the directory. A directory that cannot be listed is a candidate: reading it says why."""
        from flux_upgrade.model.files import YAML, Listing  # late: `render` lists nothing

        candidates: list[str] = [] if self._only is None else [self._only]
        files, folders = [*candidates], [""] if self._only is None else []
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(os.path.join(self._folder, folder)) as found:
                    entries = tuple(found)
            except OSError as error:
                if error.errno in LIMITS:
                    raise known(error) from error
                candidates.append(folder.rstrip("/") or ".")
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED:
                        folders.append(f"{folder}{entry.name}/")
                    continue
                is_file = entry.is_file(follow_symlinks=False)
                if is_file:
                    files.append(folder + entry.name)
                if _is_candidate(entry, YAML, is_file=is_file):
                    candidates.append(folder + entry.name)
        return Listing(sorted(candidates), sorted(files))


def _unreadable(path: str, error: OSError) -> Unreadable:
    return Unreadable(
        f"{one_line(path)} could not be read: {error.strerror}",
        hint="check that it is a file, and its permissions",
        why=_WHY.get(error.errno or 0, Unread.REFUSED),
    )


def _is_candidate(entry: os.DirEntry[str], ends: tuple[str, ...], *, is_file: bool) -> bool:
    if entry.name in NAMED:
        return not entry.is_symlink()
    if not is_file or not entry.name.endswith(ends):
        return False
    with suppress(OSError):  # gone or locked since: reading it tells
        return entry.stat(follow_symlinks=False).st_size <= MAX_FILE
    return True
