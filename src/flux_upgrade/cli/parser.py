"""argparse, with errors raised instead of printed, and with the help in two lengths."""

from __future__ import annotations

import argparse
import textwrap

from flux_upgrade.cli.flag_kinds import BOOL
from flux_upgrade.cli.sections import HELP, is_rare
from flux_upgrade.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class _Formatter(argparse.HelpFormatter):
    def _format_action_invocation(self, action: argparse.Action) -> str:
        # argparse has no way to say that a flag is complete without its value.
        return super()._format_action_invocation(action).replace(f" {BOOL}", f"[={BOOL}]")

    def _split_lines(self, text: str, width: int) -> list[str]:
        # Names of flags, controllers and addresses are there to be copied.
        return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


class Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options, add_help=False, allow_abbrev=False, formatter_class=_Formatter)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see `{self.prog} --help`")

    def declare_help(self) -> None:
        """--help and --help-all, below everything else."""
        rare = sum(map(is_rare, self._actions))
        section = self.add_argument_group(HELP)
        section.add_argument("-h", "--help", **_AS_HELP, help="show this help")
        every = f"show this help with {rare} more options" if rare else argparse.SUPPRESS
        section.add_argument("--help-all", **_AS_HELP, help=every)
        if rare:
            self.epilog = f"`{self.prog} --help-all` shows {rare} more options."
        places = [
            f"[{each.metavar}{'...' if each.nargs == '*' else ''}]" if each.nargs in ("?", "*") else str(each.metavar)
            for each in self._actions
            if not each.option_strings
        ]
        self.usage = " ".join(["%(prog)s [OPTIONS]", *places])


class _Help(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None
    ) -> None:
        del namespace, values
        if option_string == "--help-all":
            parser.epilog = None
        else:
            for each in parser._actions:  # noqa: SLF001 argparse offers no other way to its flags
                if is_rare(each):
                    each.help = argparse.SUPPRESS
        parser.print_help()
        parser.exit()


_AS_HELP: dict[str, Any] = {"action": _Help, "nargs": 0, "dest": argparse.SUPPRESS, "default": argparse.SUPPRESS}
