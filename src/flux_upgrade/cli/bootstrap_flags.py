"""The flags of ``bootstrap``: those of Flux, from their table, and ours."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from flux_upgrade.bootstrap.flag_table import FLAGS, Flag, FlagGroup, FlagKind
from flux_upgrade.bootstrap.flags import read_value
from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.bootstrap.request import BootstrapRequest, CredentialsRequest, KubernetesRequest
from flux_upgrade.cli.flag_kinds import BOOL, boolean_text, declare, list_of, place, switch, text
from flux_upgrade.cli.flags import CONFIG, DOCKER, RELEASES, TRUST
from flux_upgrade.cli.sections import mark_rare
from flux_upgrade.config.config import FlagValue
from flux_upgrade.config.environment import bootstrap_secrets_of, kubeconfig_of
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.go_durations import nanoseconds


def request_of(args: Mapping[str, Any], env: Mapping[str, str]) -> BootstrapRequest:
    """``args``: what argparse found. Raises UsageError for ``--flags`` that cannot be read."""
    flags: dict[str, FlagValue] = {}
    if args["flags"]:
        from flux_upgrade.bootstrap.config_keys import parse_bootstrap_flags

        flags.update(parse_bootstrap_flags(args["flags"], "--flags"))
        _refuse_twice(flags, given(args))
    flags.update(given(args))
    # A context alone is one of the user's own kubeconfig; without either, no cluster is touched.
    kubeconfig = args["kubeconfig"] or (kubeconfig_of(env) if args["context"] else "")
    credentials = {name: args[name] for name in CredentialsRequest._fields if name in args}
    own = {name: args[name] for name in BootstrapRequest._fields if name in args and name != "flags"}
    return BootstrapRequest(flags)._replace(
        **own,
        credentials=CredentialsRequest(**credentials, secrets=bootstrap_secrets_of(env)),
        kubernetes=KubernetesRequest(kubeconfig, args["context"], args["timeout"]),
    )


def _refuse_twice(text: Mapping[str, FlagValue], own: Mapping[str, FlagValue]) -> None:
    """What is given by itself and in --flags has to be the same. Shows no value: it may be secret."""
    twice = [name for name in own if name in text and not _is_same(name, text[name], own[name])]
    if twice:
        message = "; ".join(f"--{name} has another value in --flags" for name in twice)
        raise UsageError(message, hint="give each flag once")


def _is_same(name: str, one: FlagValue, other: FlagValue) -> bool:
    try:
        return read_value(FLAGS[name], one) == read_value(FLAGS[name], other)
    except UsageError:  # which is told with all else that is wrong
        return True


_DEST = "flag:"
_SECOND = 10**9
_DESCRIPTION = (
    "Set up Flux in a repository: write the files that `flux bootstrap` of that version writes. They go into the "
    "checkout, a pull request or a push. With --kubeconfig, Flux is installed in the cluster as well."
)
_KINDS = {FlagKind.BOOLEAN: BOOL, FlagKind.LIST: "LIST", FlagKind.DURATION: "DURATION", FlagKind.NUMBER: "NUMBER"}
_OURS = (
    ("--flags", "FLAGS", "flags of `flux bootstrap` in one text: a YAML mapping, or words such as path=staging"),
    ("--config", "FILE", f"config file with the key bootstrap (default: {CONFIG})"),
    ("--cluster", "NAME", "set up only this cluster of the config file"),
    ("--description", "TEXT", "description of a repository that is created"),
    ("--secret-file", "FILE", "write the Secret for the cluster to this file, outside of the checkout"),
    ("--actions-secret", "NAME", "store the Secret for the cluster as a secret of GitHub Actions"),
    ("--actions-environment", "NAME", "store it in this environment, not in the repository"),
    ("--known-hosts", "FILE", "public keys of the SSH host (default for github.com: the keys from its API)"),
    ("--app-private-key", "FILE", "private key of the GitHub App, PEM (or set FLUX_UPGRADE_APP_PRIVATE_KEY)"),
    ("--kubeconfig", "FILE", "install Flux in the cluster of this kubeconfig as well"),
    ("--context", "NAME", "context of the kubeconfig (default kubeconfig: the one that kubectl uses)"),
)
_SWITCHES = (
    ("--pull-request", "open a pull request; the checkout stays unchanged"),
    ("--push", "commit to the branch directly; the checkout stays unchanged"),
    ("--create-repository", "create the repository if it does not exist"),
    ("--add-workflow", "add the GitHub Actions workflow that upgrades Flux"),
    ("--rotate-key", "create a new deploy key"),
    ("--password-stdin", "read the registry password for --username from stdin"),
    ("--json", "print JSON, as in docs/reference/bootstrap.schema.json"),
    ("--dry-run", "show what would change, and write nothing"),
)


def declare_bootstrap(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    arguments = {
        "checkout": place("CHECKOUT", "checkout to write to (default: .)"),
        "--provider": {
            "choices": tuple(Provider),
            "default": "",
            "help": "subcommand of `flux bootstrap` (default: derived from --url, --hostname or the remote)",
        },
        "--source": {
            "choices": tuple(Source),
            "default": "",
            "help": "source that Flux reconciles from (default: git)",
        },
        **{name: text(metavar, message) for name, metavar, message in _OURS},
        **{name: switch(message) for name, message in _SWITCHES},
        "--timeout": {
            "type": _seconds,
            "default": 300,
            "metavar": "DURATION",
            "help": "how long to wait for the cluster, such as 10m (default: 5m)",
        },
        **TRUST,
        **RELEASES,
        **DOCKER,
    }
    declare(parser, arguments, "What to set up")
    for group in FlagGroup:
        section = parser.add_argument_group(group)
        for flag in FLAGS.values():
            if flag.group is group:
                _declare(section, flag)


def given(args: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Flux's flags among the arguments, by their names; those that were not given are left out."""
    return {
        name.removeprefix(_DEST): value for name, value in args.items() if name.startswith(_DEST) and value is not None
    }


def _declare(section: argparse._ArgumentGroup, flag: Flag) -> None:
    names = [*filter(None, (flag.short,)), f"--{flag.name}"]
    metavar = "FILE" if flag.is_local else "|".join(flag.choices) or _KINDS.get(flag.kind, "TEXT")
    more: dict[str, Any] = {"dest": _DEST + flag.name, "metavar": metavar, "help": flag.description}
    # Values are read later, so that all problems are told at once.
    if flag.kind is FlagKind.LIST:
        more |= {"type": list_of, "action": "extend"}
    elif flag.kind is FlagKind.BOOLEAN:
        more |= {"type": boolean_text}
    action = section.add_argument(*names, **more)
    if flag.is_rare:
        mark_rare(action)


def _seconds(text: str) -> int:
    """Of Go's duration. Raises argparse's own error for what is none."""
    found = nanoseconds(text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is not a duration with units, like 90s or 10m")
    if found < _SECOND:
        raise argparse.ArgumentTypeError(f"'{text}' is less than a second")
    return found // _SECOND
