"""A report that is longer than the screen, in the user's pager, as git shows it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import IO

from flux_upgrade.adapters.local.programs import find
from flux_upgrade.model.values import NamedTuple

_DEFAULT = "less"
# Quit if all fits the screen, show colors, leave the text on the screen.
_LESS = {"LESS": "FRX"}
_NEEDED = ("HOME", "LANG", "LANGUAGE", "PATH", "TERM")
_PREFIXES = ("LC_", "LESS")


class Pager(NamedTuple):
    command: tuple[str, ...]
    environment: Mapping[str, str]
    lines: int  # Of the screen

    def show(self, content: bytes, out: IO[bytes]) -> bool:
        """Whether it was shown: not if it fits the screen, or if the pager cannot be run."""
        if content.count(b"\n") < self.lines:
            return False
        import subprocess  # late: most reports are short

        try:
            process = subprocess.Popen(  # noqa: S603  (a program found by us, a list of arguments, no shell)
                self.command, env=dict(self.environment), stdin=subprocess.PIPE, stdout=out.fileno()
            )
        except OSError:
            return False
        # Whoever leaves it early has seen enough.
        with suppress(BrokenPipeError, KeyboardInterrupt):
            process.communicate(content)
        while process.poll() is None:
            # It is the pager that an interrupt is for.
            with suppress(KeyboardInterrupt):
                process.wait()
        return True


def pager_of(env: Mapping[str, str], lines: int) -> Pager | None:
    """What ``PAGER`` names, else ``less``; None: there is none, or none is wanted. ``env``: of the process."""
    try:
        name, *arguments = shlex.split(env.get("PAGER", _DEFAULT))
    except ValueError:
        return None
    program = find("/", name) if name.startswith("/") else find(env.get("PATH", ""), name)
    if program is None or name == "cat":
        return None
    environment = {key: value for key, value in env.items() if key in _NEEDED or key.startswith(_PREFIXES)}
    return Pager((program, *arguments), {**_LESS, **environment}, lines)
