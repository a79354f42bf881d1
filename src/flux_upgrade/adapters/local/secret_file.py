"""Secrets handed over in a file that only its owner reads, and that no Git will ever see."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.model import kubernetes_objects
from flux_upgrade.model.errors import UsageError, WriteFailed
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.text import one_line

_MODE = 0o600
_OTHERS = 0o077
_MAX_FILE = 1024 * 1024


class SecretFile:
    """A manifest of Secrets at ``path``. ``kept_out``: folders that it must not be in, the checkout's say.

    Raises UsageError where a secret would not be safe there: in a Git work tree, also through a
    link; in a folder where anybody may exchange the file; over a file that is somebody else's, or that
    others can read.
    """

    is_readable = True
    is_cluster = False

    def __init__(self, path: str, kept_out: tuple[str, ...] = ()) -> None:
        self._shown = one_line(path)
        self._path = os.path.realpath(path)
        self._check_folder(tuple(map(os.path.realpath, kept_out)))
        self._check_file()

    @property
    def where(self) -> str:
        return self._path

    def present(self, name: str, namespace: str) -> Secret | None:
        """A Secret that stands there; None: there is none.

        Raises UsageError where the file is something else.
        """
        return next((each for each in self._all() if (each.name, each.namespace) == (name, namespace)), None)

    def has(self, name: str, namespace: str) -> bool:
        return self.present(name, namespace) is not None

    def put(self, wanted: tuple[Secret, ...]) -> None:
        """Write the manifest, whole or not at all; Secrets of other names stay. Raises WriteFailed."""
        new = {(each.namespace, each.name) for each in wanted}
        others = (each for each in self._all() if (each.namespace, each.name) not in new)
        content = kubernetes_objects.manifest((*wanted, *others)).encode()
        temporary = os.path.join(os.path.dirname(self._path), f".flux-upgrade-{os.urandom(8).hex()}")
        try:
            _write(temporary, content)
            os.replace(temporary, self._path)
        except OSError as error:
            raise WriteFailed(
                f"{self._shown} could not be written: {error.strerror}",
                hint="check the directory's permissions and free space, or set another --secret-file",
            ) from error
        finally:
            with suppress(OSError):  # after success it is gone
                os.remove(temporary)

    def _all(self) -> tuple[Secret, ...]:
        try:
            text = read_regular(self._path, _MAX_FILE).decode()
            return kubernetes_objects.parse(text)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise UsageError(
                f"{self._shown} could not be read: {error.strerror}", hint="set another --secret-file"
            ) from error
        except (UnicodeDecodeError, UsageError):
            raise UsageError(
                f"{self._shown} exists, but is not a manifest of Secrets from flux-upgrade",
                hint="set another --secret-file, or move this file away",
            ) from None

    def _check_folder(self, kept_out: tuple[str, ...]) -> None:
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            raise UsageError(
                f"the directory of {self._shown} does not exist", hint=f"run `mkdir -m 700 {one_line(folder)}`"
            )
        if any(f"{self._path}/".startswith(f"{kept.rstrip('/')}/") for kept in kept_out):
            raise self._in_git("the working directory")
        mode = os.stat(folder).st_mode
        while not _is_git(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        if _is_git(folder):
            raise self._in_git(f"the Git repository {one_line(folder)}")
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise UsageError(
                f"{self._shown} is in a directory that every user can write to",
                hint="set --secret-file to a file in your own directory",
            )

    def _check_file(self) -> None:
        try:
            there = os.lstat(self._path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(
                f"{self._shown} is not usable: {error.strerror}", hint="set another --secret-file"
            ) from error
        if not stat.S_ISREG(there.st_mode):
            raise UsageError(f"{self._shown} is not a file", hint="set --secret-file to a file")
        if there.st_uid != os.geteuid():
            raise UsageError(f"{self._shown} belongs to another user", hint="set --secret-file to your own file")
        if there.st_mode & _OTHERS:
            raise UsageError(
                f"other users can read or write {self._shown}",
                hint=f"run `chmod 600 {self._shown}`; if it contains a key, replace the key with --rotate-key",
            )

    def _in_git(self, what: str) -> UsageError:
        return UsageError(
            f"{self._shown} is in {what}, where it could be committed",
            hint="set --secret-file to a file outside every repository",
        )


def _is_git(folder: str) -> bool:
    inside = (os.path.join(folder, name) for name in ("HEAD", "objects", "refs"))
    return os.path.lexists(os.path.join(folder, ".git")) or all(map(os.path.lexists, inside))


def _write(path: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, _MODE), "wb") as file:
        os.fchmod(file.fileno(), _MODE)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
