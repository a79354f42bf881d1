"""What the demo is made of: a stage, and commands on it that must end as they should."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from github_stand_in import Clock, StandIn
from telling import Teller

ROOT = Path(__file__).resolve().parent.parent
_PROGRAM = Path(__file__).resolve().parent / "program.py"


class Surprise(Exception):
    """A step ended otherwise than it should."""


@dataclass(frozen=True)
class Stage:
    """Where a part of the demo is performed, and whom it is told to."""

    hub: StandIn
    work: Path
    """For clones."""
    kept: Path
    """For what is kept."""
    tell: Teller


class Machine:
    """Where commands run: nothing of its settings is seen, and its clock is the demo's."""

    def __init__(self, clock: Clock) -> None:
        git = shutil.which("git")
        if git is None:
            raise Surprise("there is no git on PATH")
        self._clock = clock
        self._environment = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            "GIT_TERMINAL_PROMPT": "0",
            "PATH": str(Path(git).parent),
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONUTF8": "1",
        }

    def run(self, command: Sequence[str], folder: Path, env: Mapping[str, str], ends_with: int = 0) -> str:
        """Run ``git`` or ``flux-upgrade``. Returns what it prints. Raises Surprise for another exit code."""
        program, *arguments = command
        words = [sys.executable, str(_PROGRAM), str(self._clock.epoch)]
        done = subprocess.run(
            [*(words if program == "flux-upgrade" else [program]), *arguments],
            cwd=folder,
            env={**self._environment, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != ends_with:
            message = f"`{shlex.join(command)}` ended with {done.returncode}, not {ends_with}"
            raise Surprise(f"{message}:\n{done.stdout}")
        return done.stdout


class Clone:
    """A person's clone, in which commands are run."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._machine = machine
        names = {f"GIT_{role}_NAME": "alice" for role in ("AUTHOR", "COMMITTER")}
        self._env = names | {name.replace("NAME", "EMAIL"): "alice@example.com" for name in names}

    def run(self, *command: str) -> str:
        """Run a command. Returns what it prints."""
        return self._machine.run(command, self.folder, self._env)
