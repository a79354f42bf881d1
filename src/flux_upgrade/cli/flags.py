"""Every command with its flags: the parsers, and the only source of the reference in the docs."""

from __future__ import annotations

import argparse
import re
from itertools import pairwise

from flux_upgrade import __version__
from flux_upgrade.cli.flags_shared import (
    ACCESS,
    BOOL,
    CONFIG,
    DRY_RUN,
    PATH,
    REGISTRY,
    SOURCE,
    boolean,
    boolean_text,
    declare,
    list_of,
    of_keys,
    place,
    repeated,
    switch,
    text,
    truth,
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
    from typing import Any, NoReturn

    from flux_upgrade.cli.flags_shared import Arguments

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
    for name, (declare_all, meaning) in COMMANDS.items():
        declare_all(commands.add_parser(name, help=meaning, allow_abbrev=False))
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

    def flag(message: str, default: str = "") -> dict[str, Any]:
        return {"default": default, "help": f"{message} (default: {default})" if default else message}

    def listed(message: str) -> dict[str, Any]:
        shown = f"{message}; comma-separated, repeatable"
        return {"type": list_of, "action": "append", "metavar": "LIST", "help": shown}

    parser.description = "Print the bytes that `flux install --export` of that Flux version prints."
    arguments = {
        **SOURCE,
        "-v --version": flag("Flux version, like v2.9.4; without it the newest stable release"),
        "-n --namespace": flag("where Flux is installed", plain.namespace),
        "--components": listed(f"the controllers, in this order (default: {','.join(DEFAULT_COMPONENTS)})"),
        "--components-extra": listed(f"controllers in addition to these, of {', '.join(extra)}"),
        "--registry": flag("where the controllers' images are", plain.registry),
        "--image-pull-secret": text("NAME", "name of the Secret for a private registry"),
        "--watch-all-namespaces": truth(
            "false: watch the namespace of Flux alone (default: true)", default=True
        ),
        "--network-policy": truth("false: no NetworkPolicy objects (default: true)", default=True),
        "--log-level": flag(f"one of {', '.join(LOG_LEVELS)}", plain.log_level),
        "--cluster-domain": flag("the cluster's internal DNS domain", plain.cluster_domain),
        "--toleration-keys": listed("keys of the taints that the controllers tolerate"),
    }
    declare(parser, arguments)


def _inspect(parser: argparse.ArgumentParser) -> None:
    parser.description = "Find every Flux installation and say what is really there, with the proof."
    declare(parser, {**PATH, **SOURCE, **REGISTRY, "--json": _json("inspect")})


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show what an upgrade would do and why. Writes nothing."
    pulls = switch("take the pull requests of the repository into account")
    declare(parser, {**_policy(), "--json": _json("plan"), "--pull-request": pulls})


def _upgrade(parser: argparse.ArgumentParser) -> None:
    parser.description = "Upgrade every installation that the policy lets go on, flags and edits kept."
    arguments = {
        **_policy(),
        "--to": text("VERSION", "this Flux version, whatever the policy says"),
        **DRY_RUN,
        "--pull-request": switch("open, update and close pull requests; the tree stays as it is"),
        **of_keys("on-conflict"),
    }
    declare(parser, arguments)


def _policy() -> Arguments:
    """Of ``plan`` and ``upgrade``: what they decide by, and which servers they ask."""
    return {
        **PATH,
        **SOURCE,
        **REGISTRY,
        **of_keys("policy", "range"),
        "--config": text("FILE", f"the config file (default: {CONFIG}, should it be there)"),
        **of_keys("flags"),
        "--repository": text(
            "NAME", "owner/name or the address of the remote (default: that of the checkout)"
        ),
        "--base": text(
            "BRANCH", "the branch that pull requests go into (default: the repository's default branch)"
        ),
        "--approve": repeated(
            "VERSION",
            "approve a minor with its later patches (2.9) or one version alone (v2.9.4); repeatable",
        ),
        **of_keys(),
        "--migrated": truth(
            "true: `flux migrate` ran in the clusters, with the release that they are at (default: false)",
            default=False,
        ),
        "--promote": {
            "choices": ("tag", "pull-request"),
            "default": "",
            "help": "how an artifact is promoted: its tag is moved, or what pins it in the checkout is "
            "changed by pull request (default: what the checkout says, else tag)",
        },
    }


def _check(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Find every manifest with an API version that a Flux version does not serve. Writes nothing, and "
        "ends with 27 where there is one."
    )
    declare(parser, _api_uses("the Flux version that has to serve them"))


def _migrate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Move manifests away from the API versions that a Flux version does not serve, with the fields that "
        "were renamed. What cannot be moved is named, and the run ends with 27 then."
    )
    declare(parser, {**_api_uses("the Flux version that has to serve them afterwards"), **DRY_RUN})


def _api_uses(target: str) -> Arguments:
    running = repeated(
        "VERSION",
        "a Flux version that a cluster runs today: manifests are moved to what it serves as well; "
        "repeatable (default: those that are found in the repository)",
    )
    return {
        "path": place("PATH", "a file or a folder (default: .)"),
        **SOURCE,
        "--to": text("VERSION", f"{target} (default: the newest stable release)"),
        "--from": {"dest": "running", **running},
        **of_keys("scan"),
        "--json": _json("api-uses"),
    }


def _json(name: str) -> dict[str, Any]:
    return switch(f"as JSON, see docs/reference/{name}.schema.json")


def _rollback(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Have an artifact's tag stand for what it stood for before its last promotion. The version that is "
        "rejected so is held until there is a newer one, or until it is approved."
    )
    arguments = {
        "path": place("ADDRESS", "the artifact, oci://HOST/REPOSITORY:TAG", default=""),
        "--to": text("REFERENCE", "a tag or a digest of the repository to go back to"),
        **DRY_RUN,
        **REGISTRY,
        **ACCESS,
    }
    declare(parser, arguments)


def _bootstrap(parser: argparse.ArgumentParser) -> None:
    from flux_upgrade.cli.bootstrap_flags import declare_bootstrap

    declare_bootstrap(parser)


def _config(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check the config file, and say what it means. In a checkout, list what each group matches, and end "
        "with 18 for a group that matches nothing."
    )
    parser.add_argument("check", choices=("check",), metavar="check", help="the one thing to do with it")
    parser.add_argument("path", **place("FILE", f"default: {CONFIG}", CONFIG))


def _action(parser: argparse.ArgumentParser) -> None:
    parser.description = "The entry point of the GitHub Action: reads its inputs from the environment."


COMMANDS = {
    "render": (_render, "print what `flux install --export` prints"),
    "inspect": (_inspect, "say what every installation really is"),
    "plan": (_plan, "show what an upgrade would do, and why"),
    "upgrade": (_upgrade, "upgrade every installation in a tree, or by pull request"),
    "check": (_check, "find manifests with API versions that a release does not serve"),
    "migrate": (_migrate, "move manifests to API versions that a release serves"),
    "rollback": (_rollback, "take an artifact's tag back to what it stood for before"),
    "bootstrap": (_bootstrap, "set Flux up in a repository that has none"),
    "config": (_config, "check the config file"),
    "action": (_action, "run as a GitHub Action"),
}
