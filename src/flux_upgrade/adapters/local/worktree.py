"""Files, written: those of the user, each whole; those of the GitHub runner; temporary ones."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryFile
from typing import BinaryIO

from flux_upgrade.adapters.local.files import MAX_FILE, anchor, inside, read_regular
from flux_upgrade.model.errors import WriteFailed
from flux_upgrade.model.text import one_line

_TRIES, _PAUSE = 300, 0.1  # seconds


class DirectoryWorktree:
    """The port Worktree over a folder, or over the folder of a file.

    Raises UsageError where there is neither.
    """

    def __init__(self, root: str) -> None:
        self._folder, _ = anchor(root)

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        """Replace or make a file; its mode stays, and its owner where that may be set.

        One that another run has made so in the meantime is left as it is.
        Raises WriteFailed, and then leaves everything as it was; also where
        ``path`` leaves the tree, by itself or through a link.
        """
        self.write_all({path: content}, {} if old is None else {path: old})

    def write_all(self, files: Mapping[str, bytes], before: Mapping[str, bytes]) -> None:
        """All are beside their places before the first is moved: a disk that is full leaves none of them changed."""
        with ExitStack() as staged:
            moves = [
                (path, *self._staged(path, content, staged))
                for path, content in files.items()
                if path not in before or not _is_already(self._target(path), content)
            ]
            for path, _, target in moves:
                with _reported(path):
                    if path in before and read_regular(target, MAX_FILE) != before[path]:
                        raise OSError(errno.EBUSY, "it changed in the meantime; run flux-upgrade again")
            self._move(moves, before)

    def _move(self, moves: Sequence[tuple[str, str, str]], before: Mapping[str, bytes]) -> None:
        """Path, temporary file and target of each. What was moved before one fails is put back."""
        done: list[str] = []
        try:
            for path, temporary, target in moves:
                with _reported(path):
                    os.replace(temporary, target)
                done.append(path)
        except BaseException:
            for path in done:
                if path in before:
                    self.write(path, before[path])
            raise

    def _staged(self, path: str, content: bytes, staged: ExitStack) -> tuple[str, str]:
        """The new content in a temporary file, which is gone with ``staged``; and where it belongs."""
        target = self._target(path)
        with _reported(path):
            return _stage(target, content, staged), target

    def require_room(self, paths: Iterable[str]) -> None:
        """What is in the way: a file, a broken link, a folder, another repository."""
        for path in paths:
            target = self._target(path)
            # Flux's own artifacts have no links, so that it would not find what is written through one.
            given = os.path.join(self._folder, path)
            if os.path.lexists(given) and (os.path.islink(given) or not os.path.isfile(target)):
                raise _in_the_way(path)
            folder = os.path.dirname(given)
            while folder != self._folder:
                is_other = os.path.lexists(os.path.join(folder, ".git"))
                is_link = os.path.islink(folder)
                if is_link or is_other or (os.path.lexists(folder) and not os.path.isdir(folder)):
                    raise _in_the_way(os.path.relpath(folder, self._folder))
                folder = os.path.dirname(folder)

    def make(self, path: str, content: bytes) -> None:
        """A file that was put there in the meantime is not replaced."""
        target = self._target(path)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with ExitStack() as staged:
                temporary = _stage(target, content, staged, is_new=True)
                if os.path.lexists(target):
                    raise FileExistsError(errno.EEXIST, "a file was created in the meantime; run flux-upgrade again")
                os.replace(temporary, target)
        except OSError as error:
            self._tidy(target)
            raise WriteFailed(
                f"{one_line(path)} could not be created: {error.strerror}",
                hint="check the permissions of its directory and the free disk space (nothing was replaced)",
            ) from error

    def remove(self, path: str, content: bytes) -> None:
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
        target = inside(self._folder, path)
        if target is None:
            raise WriteFailed(
                f"{one_line(path)} leads out of the directory and was not written",
                hint="run flux-upgrade on a parent directory, or replace the link",
            )
        return target


@contextmanager
def _reported(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteFailed(
            f"{one_line(path)} could not be written: {error.strerror}",
            hint="check its permissions and the free disk space (the file is unchanged)",
        ) from error


def _stage(target: str, content: bytes, staged: ExitStack, *, is_new: bool = False) -> str:
    """A whole file beside ``target``, with its mode and owner; to be moved there. Raises OSError."""
    before = None
    if not is_new:
        with suppress(FileNotFoundError):
            before = os.stat(target)
            if not stat.S_ISREG(before.st_mode):
                raise OSError(errno.EINVAL, "it is not a file")
    temporary = os.path.join(os.path.dirname(target), f".flux-upgrade-{os.urandom(8).hex()}")
    staged.callback(_removed, temporary)
    with open(temporary, "xb") as file:
        file.write(content)
        file.flush()
        if before is not None:
            with suppress(PermissionError):  # only root may give files away
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
        os.fsync(file.fileno())
    return temporary


def _removed(temporary: str) -> None:
    with suppress(OSError):  # after success it is gone
        os.remove(temporary)


def _is_already(target: str, content: bytes) -> bool:
    with suppress(OSError):
        return read_regular(target, MAX_FILE) == content
    return False


@contextmanager
def alone(folder: str, tries: int = _TRIES) -> Iterator[None]:
    """While no other run writes into ``folder``: what belongs together is written by one of them.

    Raises WriteFailed where another one does so for half a minute. A file system without locks is written to all the
    same: each file is compared once more before it is replaced.
    """
    import fcntl  # late: a run that only reads can do without
    import time

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # writing says what is wrong
        yield
        return
    try:
        for _ in range(tries):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE)
                continue
            except OSError:
                pass
            break
        else:
            raise WriteFailed(
                f"another run is writing into {one_line(folder)}",
                hint="wait until it ends, then run flux-upgrade again",
            )
        yield
    finally:
        os.close(handle)


def _in_the_way(path: str) -> WriteFailed:
    return WriteFailed(
        f"{one_line(path)} is in the way; nothing was written",
        hint="replace it first: it is a link, a submodule, or a directory instead of a file (or the reverse)",
    )


def append(path: str, text: str) -> None:
    """Add to GITHUB_OUTPUT or GITHUB_STEP_SUMMARY, all or nothing; other steps' text stays. Raises WriteFailed."""
    _write(path, text, "ab")


def write(path: str, text: str) -> None:
    """Write a file whole, or replace it: the Action's report. Raises WriteFailed."""
    _write(path, text, "wb")


def _write(path: str, text: str, mode: str) -> None:
    try:
        with open(path, mode, buffering=0) as file:
            end, content = file.tell() if file.seekable() else 0, text.encode("utf-8", "backslashreplace")
            try:
                while content:
                    content = content[file.write(content) :]
            except OSError:
                # Half an output would be another one.
                with suppress(OSError):
                    file.truncate(end)
                raise
    except OSError as error:
        raise WriteFailed(
            f"{one_line(path)} could not be written: {error.strerror}",
            hint="check the free disk space, and mount the directory of this runner file into the container",
        ) from error


class Spool(ExitStack):
    """Makes temporary files, empty: one at each call. All are gone when the block ends."""

    def __call__(self) -> BinaryIO:
        return self.enter_context(TemporaryFile())
