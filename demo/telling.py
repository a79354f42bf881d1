"""Two ways to tell the demo on a terminal. Its acts tell everything, and do not know which way it goes on."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from github_stand_in import Repository
from pages import Done
from short_diff import in_short

_WIDTH = 100
_COMMENT = re.compile(r"<!--.*?-->[ \n]?")
_FOLDED = re.compile(r"<details>\n<summary>(.*?)</summary>.*?</details>", re.DOTALL)


class Teller:
    """Is told the demo, and keeps it to itself."""

    def act(self, title: str, number: int = 0) -> None:
        """An act begins; one with a number is about pull requests or job summaries."""

    def say(self, text: str = "") -> None:
        """One line or several, at once."""

    def show(self, what: str, markdown: str) -> None:
        """A text of a page."""

    def ran(self, repository: Repository, done: Done) -> None:
        """A job has ended."""

    def lost(self, diff: str) -> None:
        """What the usual recipe writes, compared with what was merged."""

    def outcome(self, when: str, text: str) -> None:
        """The act with a number has ended: it in one line."""

    def end(self, folder: Path) -> None:
        """That was the demo. ``folder``: where things are kept."""


class Whole(Teller):
    """Prints what happens, as people would see it on GitHub and in their terminals."""

    def __init__(self) -> None:
        _print("The releases were written for this demo: the shape of Flux's, in small. GitHub is a stand-in.")

    def act(self, title: str, number: int = 0) -> None:
        text = f"{number}. {title}" if number else title
        _print(f"\n\n── {text} {'─' * max(0, _WIDTH - 4 - len(text))}\n")

    def say(self, text: str = "") -> None:
        _print(text)

    def show(self, what: str, markdown: str) -> None:
        """In a frame: without comments, folded where a page folds it, long lines wrapped."""
        _print(f"\n  ╭─ {what}")
        for line in _FOLDED.sub(r"▸ \1", _COMMENT.sub("", markdown)).strip("\n").split("\n"):
            indent = "  " * line.startswith(("- ", "* "))
            fits = line.startswith("|") or len(line) <= _WIDTH
            for part in (
                [line]
                if fits
                else textwrap.wrap(
                    line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
                )
            ):
                _print(f"  │ {part}".rstrip())
        _print("  ╰─")

    def end(self, folder: Path) -> None:
        self.act("That was the demo")
        _print(f"To look at, in {folder}:")
        for each in sorted(folder.iterdir()):
            _print(f"  {each.name}{_names(each)}")
        _print("\nIn your own repository begin with: flux-upgrade plan")


class Brief(Teller):
    """Prints a line as each act ends, and what the usual recipe would have lost."""

    def __init__(self) -> None:
        self._number = 0
        self._lost = (0, "")
        self._pulls: set[tuple[str, int]] = set()
        self._jobs = 0
        _print("Two clusters run Flux v2.8.7, with install flags and manual edits.")
        _print(
            "The releases are small ones, written for this demo. GitHub is simulated: nothing leaves this machine.\n"
        )

    def act(self, title: str, number: int = 0) -> None:
        del title
        self._number = number

    def ran(self, repository: Repository, done: Done) -> None:
        del done
        self._jobs += 1
        self._pulls |= {(repository.name, number) for number in repository.pulls}

    def lost(self, diff: str) -> None:
        self._lost = (self._number, diff)

    def outcome(self, when: str, text: str) -> None:
        _print(f"{self._number:3}  {when:10} {text}")

    def end(self, folder: Path) -> None:
        act, diff = self._lost
        _print(
            f"\nCompared with the merge in act {act}, `flux install --export >` or Renovate's flux manager loses (-):\n"
        )
        for line in in_short(diff):
            _print(f"  {line}")
        here = Path.cwd()
        shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
        _print(f"\nSee the {len(self._pulls)} pull requests and {self._jobs} job summaries as GitHub shows them:")
        _print(f"  {shown / 'index.html'}")
        _print("\nTry it on your own repository, where it only reads (`make demo-full` shows more commands):")
        _print("  pipx install . && cd PATH/TO/YOUR/REPOSITORY && flux-upgrade plan")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _names(path: Path) -> str:
    """What is in a folder; of a file, nothing."""
    return f"/  {', '.join(sorted(each.name for each in path.iterdir()))}" if path.is_dir() else ""
