"""``flux-upgrade completion``: a script for the user's shell, of the same parser that reads the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import shtab

from flux_upgrade.bootstrap.flag_table import FlagGroup
from flux_upgrade.cli.flag_kinds import BOOL
from flux_upgrade.cli.parse import COMMANDS, build_parser
from flux_upgrade.commands.output import Console
from flux_upgrade.config.environment import Environment
from flux_upgrade.manifests.options import COMPONENTS, EXTRA_COMPONENTS, LOG_LEVELS
from flux_upgrade.policy.policy import MaxBump

_VALUES: dict[str, tuple[str, ...]] = {
    "--policy": tuple(MaxBump),
    "--components": COMPONENTS,
    "--components-extra": EXTRA_COMPONENTS,
    "--log-level": LOG_LEVELS,
}
"""Values that argparse does not know, since they are checked later, with all others."""
# shtab would look for a file of the name `--config=clusters`.
_FISH = "(__fish_complete_path (string replace -r -- '^--[^=]*=' '' (commandline -ct)))"
_FILE = {**shtab.FILE, "fish": _FISH}
_PLACES = {"FILE": _FILE, "PATH": _FILE, "CHECKOUT": shtab.DIRECTORY, "SOURCE": _FILE}
"""What is completed for a metavar."""
# Bash makes three words of `--policy=minor`, and shtab looks for two.
_BASH = """
_flux_upgrade_completion() {
  local word previous="" words=() index=0 cursor=$COMP_CWORD
  for word in "${COMP_WORDS[@]}"; do
    if [[ $word != "=" || $previous != --* ]]; then
      words+=("$word")
    elif [ $index -eq $COMP_CWORD ]; then
      words+=("")
    elif [ $index -lt $COMP_CWORD ]; then
      cursor=$((cursor - 1))
    fi
    previous=$word
    index=$((index + 1))
  done
  local COMP_WORDS=("${words[@]}") COMP_CWORD=$cursor
  _shtab_flux_upgrade
}
complete -o bashdefault -F _flux_upgrade_completion flux-upgrade
"""


def run(shell: str, environment: Environment, console: Console) -> int:
    del environment
    console.show(script(shell))
    return 0


def script(shell: str) -> str:
    parser = build_parser()
    for each in _actions(parser):
        _prepare(each, shell)
    text = shtab.complete(parser, shell)
    # Its way to install it is not ours: see docs/reference/cli.md.
    # It registers in an `eval` only, and would complete at once in `source <(flux-upgrade completion zsh)`.
    text = text.replace("[[ $zsh_eval_context[-1] == eval ]]", "[[ $zsh_eval_context[-1] != loadautofunc ]]")
    lines = [line for line in text.splitlines() if not line.startswith(("# Usage:", "# 1)", "# 2)", "#    "))]
    return "\n".join(lines) + ("\n" if shell != "bash" else _BASH)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for section in parser._action_groups:  # noqa: SLF001 argparse offers no other way to them
        for each in section._group_actions:  # noqa: SLF001 as above
            if section.title == FlagGroup.UNUSED:
                each.help = argparse.SUPPRESS
            yield each
            if isinstance(each.choices, dict):
                for name, command in each.choices.items():
                    command.description = COMMANDS[name][1]
                    yield from _actions(command)


def _prepare(action: argparse.Action, shell: str) -> None:
    metavar = str(action.metavar)
    name = (action.option_strings or [""])[-1]
    if metavar in _PLACES:
        action.complete = _PLACES[metavar]  # type: ignore[attr-defined] # where shtab looks for it
    elif values := _VALUES.get(name) or (tuple(metavar.split("|")) if "|" in metavar else ()):
        action.choices = values
    if metavar == BOOL:
        action.nargs = 0  # Its value never is a word of its own
    elif shell == "zsh" and action.nargs != 0:
        words = action.option_strings
        action.option_strings = [f"{each}=" if each.startswith("--") else each for each in words]
