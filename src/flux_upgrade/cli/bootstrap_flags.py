"""The flags of ``bootstrap``: those of Flux, from their table, and ours."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from flux_upgrade.bootstrap.flag_table import FLAGS, Flag, FlagGroup, FlagKind
from flux_upgrade.bootstrap.flags import read_value
from flux_upgrade.bootstrap.go_formats import nanoseconds
from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.bootstrap.request import BootstrapRequest, CredentialsRequest, KubernetesRequest
from flux_upgrade.cli.flags import BOOL, CONFIG, DOCKER, RELEASES, boolean_text, declare, list_of, place, switch, text
from flux_upgrade.config.config import FlagValue
from flux_upgrade.config.environment import bootstrap_secrets_of, kubeconfig_of
from flux_upgrade.model.errors import UsageError


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
        message = "; ".join(f"--{name} is one thing by itself, and another in --flags" for name in twice)
        raise UsageError(message, hint="give each flag once")


def _is_same(name: str, one: FlagValue, other: FlagValue) -> bool:
    try:
        return read_value(FLAGS[name], one) == read_value(FLAGS[name], other)
    except UsageError:  # which is told with all else that is wrong
        return True


_DEST = "flag:"
_SECOND = 10**9
_DESCRIPTION = (
    "Set Flux up in a repository: the files that `flux bootstrap` of that version would write, into the "
    "checkout, by pull request or by push; with --kubeconfig into the cluster, too."
)
_KINDS = {FlagKind.BOOLEAN: BOOL, FlagKind.LIST: "LIST", FlagKind.DURATION: "DURATION", FlagKind.NUMBER: "NUMBER"}
_OURS = (
    ("--flags", "FLAGS", "the flags of Flux below in one text: a YAML mapping, or words like path=staging"),
    ("--config", "FILE", f"the config file, whose key bootstrap says the same (default: {CONFIG})"),
    ("--cluster", "NAME", "of the clusters in the config file, this one alone"),
    ("--description", "TEXT", "of the repository that is created"),
    ("--secret-file", "FILE", "write the credentials for the cluster there, as a manifest; not into the checkout"),
    ("--actions-secret", "NAME", "hand them over as a secret of GitHub Actions"),
    ("--actions-environment", "NAME", "of that environment, not of the repository"),
    ("--known-hosts", "FILE", "the ssh host's public keys; those of github.com are asked for there"),
    ("--app-private-key", "FILE", "the private key of the GitHub App, PEM (or FLUX_UPGRADE_APP_PRIVATE_KEY)"),
    ("--kubeconfig", "FILE", "go on with the cluster, which this file tells how to reach"),
    ("--context", "NAME", "of the kubeconfig; alone, of the one that kubectl would take"),
)
_SWITCHES = (
    ("--pull-request", "open a pull request; the checkout stays as it is"),
    ("--push", "commit to the branch itself; the checkout stays as it is"),
    ("--create-repository", "create the repository, if it is not there"),
    ("--add-workflow", "add the workflow that keeps Flux current"),
    ("--rotate-key", "make a new deploy key"),
    ("--password-stdin", "read the password for --username at the registry from stdin"),
    ("--json", "as JSON"),
    ("--dry-run", "show what would be done, write nothing"),
)


def declare_bootstrap(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.usage = "%(prog)s [FLAGS] [CHECKOUT]"
    arguments = {
        "checkout": place("CHECKOUT", "where files are written (default: .)"),
        "--provider": {
            "choices": tuple(Provider),
            "default": "",
            "help": "the subcommand of `flux bootstrap` (default: told by --url, --hostname or the remote)",
        },
        "--source": {"choices": tuple(Source), "default": "", "help": "what Flux reconciles from (default: git)"},
        **{name: text(metavar, message) for name, metavar, message in _OURS},
        **{name: switch(message) for name, message in _SWITCHES},
        "--timeout": {
            "type": _seconds,
            "default": 300,
            "metavar": "DURATION",
            "help": "how long to wait for the cluster, like 10m (default: 5m)",
        },
        **RELEASES,
        **DOCKER,
    }
    declare(parser, arguments)
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
    section.add_argument(*names, **more)


def _seconds(text: str) -> int:
    """Of Go's duration. Raises argparse's own error for what is none."""
    found = nanoseconds(text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is not a duration with units, like 90s or 10m")
    if found < _SECOND:
        raise argparse.ArgumentTypeError(f"'{text}' is less than a second")
    return found // _SECOND
