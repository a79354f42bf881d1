"""Programs on PATH."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from flux_upgrade.model.values import NamedTuple


class ProgramResult(NamedTuple):
    """What came of a program that ended well or not."""

    code: int
    out: bytes
    err: str
    """What it complained of; bytes that are no UTF-8 replaced."""


class CannotRun(Exception):
    """A program did not begin, or did not end in time: in words that follow its name."""


def find(search_path: str, name: str) -> str | None:
    """Where a program is; None: nowhere.

    Folders that are not absolute are passed over: a repository must not bring the program that is run on it.
    """
    for folder in search_path.split(os.pathsep):
        program = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return None


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    timeout: float,
    folder: str | None = None,
    given: bytes = b"",
) -> ProgramResult:
    """Run a program that ``find`` found, for at most ``timeout`` seconds. Raises CannotRun.

    Without a shell, with ``given`` on stdin, and with ``environment`` and nothing else in its environment.
    """
    import subprocess  # late: few runs run anything

    try:
        done = subprocess.run(  # noqa: S603  (a program found by us, a list of arguments, no shell)
            [*command],
            env=dict(environment),
            cwd=folder,
            input=given,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotRun(f"it did not end within {timeout:g} s") from None
    except OSError as error:
        raise CannotRun(f"{error.strerror}") from error
    return ProgramResult(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
