"""What the demo is made of: lines for the reader, and commands that must end as they should."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from github_stand_in import Clock

ROOT = Path(__file__).resolve().parent.parent
_PROGRAM = Path(__file__).resolve().parent / "program.py"
_WIDTH = 100
_COMMENT = re.compile(r"<!--.*?-->[ \n]?")
_FOLDED = re.compile(r"<details>\n<summary>(.*?)</summary>.*?</details>", re.DOTALL)


class Surprise(Exception):
    """A step ended otherwise than it should."""


def say(text: str = "") -> None:
    """One line or several, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def title(text: str) -> None:
    """Begin a part."""
    say(f"\n\n── {text} {'─' * max(0, _WIDTH - 4 - len(text))}\n")


def show(what: str, markdown: str) -> None:
    """Markdown in a frame: without comments, folded where a page folds it, long lines wrapped."""
    say(f"\n  ╭─ {what}")
    for line in _FOLDED.sub(r"▸ \1", _COMMENT.sub("", markdown)).strip("\n").split("\n"):
        indent = "  " * line.startswith(("- ", "* "))
        fits = line.startswith("|") or len(line) <= _WIDTH
        for part in (
            [line]
            if fits
            else textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        ):
            say(f"  │ {part}".rstrip())
    say("  ╰─")


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
    """A person's clone, in which commands are shown, or not."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.folder = folder
        self._machine = machine
        names = {f"GIT_{role}_NAME": "alice" for role in ("AUTHOR", "COMMITTER")}
        self._env = names | {name.replace("NAME", "EMAIL"): "alice@example.com" for name in names}

    def run(self, *command: str) -> str:
        """Run a command, without showing it. Returns what it prints."""
        return self._machine.run(command, self.folder, self._env)

    def show(self, *command: str) -> str:
        """Show a command and what it prints. Returns that."""
        printed = self.run(*command).rstrip()
        say(f"\n$ {shlex.join(command)}\n{printed}")
        return printed
