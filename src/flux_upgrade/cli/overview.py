"""``flux-upgrade --help``: the commands by what they are for."""

from __future__ import annotations

import argparse

from flux_upgrade import __version__
from flux_upgrade.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

GROUPS = {
    "Upgrade": ("plan", "upgrade", "migrate"),
    "Inspect": ("inspect", "check", "fleet"),
    "Set up": ("bootstrap", "config", "render"),
    "Artifacts": ("rollback",),
    "Other": ("completion", "action"),
}


class Overview(Parser):
    """The parser of all commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_argument("-h", "--help", action="help", help="show this help")
        version = f"{self.prog} {__version__}"
        self.add_argument("--version", action="version", version=version, help=f"show the version of {self.prog}")

    def format_help(self) -> str:
        # argparse shows its commands as one list.
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield "Upgrade Flux by pull request, with your install flags and manual edits kept."
        yield from ("", f"usage: {self.prog} COMMAND [OPTIONS]")
        meanings = {each.dest: each.help for each in self._commands()}
        for group, names in GROUPS.items():
            yield from ("", f"{group}:")
            yield from (f"  {name:<11}  {meanings[name]}" for name in names)
        yield from ("", "Help:")
        for each in self._actions:
            if each.option_strings:
                yield f"  {', '.join(each.option_strings):<11}  {each.help}"
        yield from ("", f"`{self.prog} COMMAND --help` shows the options of a command.")

    def _commands(self) -> Iterator[argparse.Action]:
        for each in self._actions:
            if isinstance(each, argparse._SubParsersAction):  # noqa: SLF001 argparse offers no other way to them
                yield from each._choices_actions  # noqa: SLF001 as above
