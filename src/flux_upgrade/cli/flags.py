"""Every command with its flags: the parsers, and the only source of the reference in the docs."""

from __future__ import annotations

import argparse
import re
from itertools import pairwise

from flux_upgrade import __version__
from flux_upgrade.cli.flags_shared import (
    BOOL,
    CONFIG,
    boolean,
    boolean_text,
    declare_access,
    declare_check,
    declare_keys,
    declare_migrate,
    declare_path,
    declare_policy,
    declare_registry,
    declare_source,
    list_of,
)
from flux_upgrade.manifests.options import (
    COMPONENTS,
    DEFAULT_COMPONENTS,
    LOG_LEVELS,
    InstallOptions,
    nearest,
)
from flux_upgrade.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import NoReturn

PROGRAM = "flux-upgrade"


class _Parser(argparse.ArgumentParser):
    """argparse, with errors raised instead of printed."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see `{self.prog} --help`")

    def format_help(self) -> str:
        # argparse has no way to say that a flag is complete without its value.
        return re.sub(rf" {BOOL}(?: {{1,2}}(?=  ))?", f"[={BOOL}]", super().format_help())


def build_parser() -> argparse.ArgumentParser:
    """All commands at once, for the reference and for --help."""
    parser = _Parser(prog=PROGRAM, description="Keep Flux current, and lose nothing.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, (declare, text) in COMMANDS.items():
        declare(commands.add_parser(name, help=text, allow_abbrev=False))
    return parser


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """The flags of one command. Raises UsageError, SystemExit for --help.

    Its parser alone is built: to declare the flags of all commands costs time.
    """
    parser = _Parser(prog=f"{PROGRAM} {command}", allow_abbrev=False)
    COMMANDS[command][0](parser)
    actions = parser._actions  # noqa: SLF001 argparse offers no other way to its flags
    booleans = {
        word for each in actions if each.type in (boolean, boolean_text) for word in each.option_strings
    }
    _no_value_apart(words, booleans)
    # A boolean by itself is true, as Flux reads its own; its value never is the next word.
    given = [f"{word}=true" if word in booleans else word for word in words]
    args, unknown = parser.parse_known_args(given)
    if unknown:
        flags = [flag for action in actions for flag in action.option_strings]
        # The value of a flag that is misspelt may be a password.
        name = unknown[0].partition("=")[0]
        raise UsageError(
            f"unknown argument '{name}'{nearest(name, flags)}",
            hint=f"see `{parser.prog} --help`",
        )
    return args


def _no_value_apart(words: Sequence[str], booleans: Collection[str]) -> None:
    """Raises UsageError for ``--ladder false``, which says true of the flag, and names a folder ``false``."""
    for word, following in pairwise(words):
        if word in booleans and following in ("true", "false"):
            raise UsageError(
                f"the value of {word} does not go into a word of its own: did you mean '{word}={following}'?",
                hint=f"a file or a folder of that name is ./{following}",
            )


def _render(parser: argparse.ArgumentParser) -> None:
    plain = InstallOptions(version="")
    extra = [name for name in COMPONENTS if name not in DEFAULT_COMPONENTS]
    parser.description = "Print the bytes that `flux install --export` of that Flux version prints."
    declare_source(parser)

    def flag(*names: str, text: str, default: str = "", metavar: str | None = None) -> None:
        shown = f"{text} (default: {default})" if default else text
        parser.add_argument(*names, default=default, metavar=metavar, help=shown)

    def listed(name: str, text: str) -> None:
        parser.add_argument(
            name, type=list_of, action="append", metavar="LIST", help=f"{text}; comma-separated, repeatable"
        )

    flag("-v", "--version", text="Flux version, like v2.9.4; without it the newest stable release")
    flag("-n", "--namespace", text="where Flux is installed", default=plain.namespace)
    listed("--components", f"the controllers, in this order (default: {','.join(DEFAULT_COMPONENTS)})")
    listed("--components-extra", f"controllers in addition to these, of {', '.join(extra)}")
    flag("--registry", text="where the controllers' images are", default=plain.registry)
    flag("--image-pull-secret", text="name of the Secret for a private registry", metavar="NAME")
    for name, text in (
        ("--watch-all-namespaces", "false: watch the namespace of Flux alone"),
        ("--network-policy", "false: no NetworkPolicy objects"),
    ):
        parser.add_argument(name, type=boolean, default=True, metavar=BOOL, help=f"{text} (default: true)")
    flag("--log-level", text=f"one of {', '.join(LOG_LEVELS)}", default=plain.log_level)
    flag("--cluster-domain", text="the cluster's internal DNS domain", default=plain.cluster_domain)
    listed("--toleration-keys", "keys of the taints that the controllers tolerate")


def _inspect(parser: argparse.ArgumentParser) -> None:
    parser.description = "Find every Flux installation and say what is really there, with the proof."
    declare_path(parser)
    declare_source(parser)
    declare_registry(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, see docs/reference/inspect.schema.json")


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show what an upgrade would do and why. Writes nothing."
    declare_policy(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, see docs/reference/plan.schema.json")
    parser.add_argument(
        "--pull-request", action="store_true", help="take the pull requests of the repository into account"
    )


def _upgrade(parser: argparse.ArgumentParser) -> None:
    parser.description = "Upgrade every installation that the policy lets go on, flags and edits kept."
    declare_policy(parser)
    parser.add_argument(
        "--to", default="", metavar="VERSION", help="this Flux version, whatever the policy says"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, write nothing")
    parser.add_argument(
        "--pull-request",
        action="store_true",
        help="open, update and close pull requests; the tree stays as it is",
    )
    declare_keys(parser, "on-conflict")


def _rollback(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Have an artifact's tag stand for what it stood for before its last promotion. The version that is "
        "rejected so is held until there is a newer one, or until it is approved."
    )
    parser.add_argument(
        "path", nargs="?", default="", metavar="ADDRESS", help="the artifact, oci://HOST/REPOSITORY:TAG"
    )
    parser.add_argument(
        "--to", default="", metavar="REFERENCE", help="a tag or a digest of the repository to go back to"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, write nothing")
    declare_registry(parser)
    declare_access(parser)


def _bootstrap(parser: argparse.ArgumentParser) -> None:
    from flux_upgrade.cli.bootstrap_flags import declare

    declare(parser)


def _config(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check the config file, and say what it means. In a checkout, list what each group matches, and end "
        "with 18 for a group that matches nothing."
    )
    parser.add_argument("check", choices=("check",), metavar="check", help="the one thing to do with it")
    parser.add_argument("path", nargs="?", default=CONFIG, metavar="FILE", help=f"default: {CONFIG}")


def _action(parser: argparse.ArgumentParser) -> None:
    parser.description = "The entry point of the GitHub Action: reads its inputs from the environment."


COMMANDS = {
    "render": (_render, "print what `flux install --export` prints"),
    "inspect": (_inspect, "say what every installation really is"),
    "plan": (_plan, "show what an upgrade would do, and why"),
    "upgrade": (_upgrade, "upgrade every installation in a tree, or by pull request"),
    "check": (declare_check, "find manifests with API versions that a release does not serve"),
    "migrate": (declare_migrate, "move manifests to API versions that a release serves"),
    "rollback": (_rollback, "take an artifact's tag back to what it stood for before"),
    "bootstrap": (_bootstrap, "set Flux up in a repository that has none"),
    "config": (_config, "check the config file"),
    "action": (_action, "run as a GitHub Action"),
}
