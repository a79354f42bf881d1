"""Flags as values: kinds of them, those that several commands share, and those of each but ``bootstrap``."""

from __future__ import annotations

import argparse
import csv

from flux_upgrade.manifests.options import COMPONENTS, DEFAULT_COMPONENTS, LOG_LEVELS, InstallOptions, parse_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Arguments = Mapping[str, dict[str, Any]]

# ``Arguments``: what ``add_argument`` takes, by the argument's names with a space between them.

DEFAULT_SOURCE = "github"
CONFIG = ".github/flux-upgrade.yaml"
BOOL = "BOOL"  # What a boolean flag takes, or does not: see `cli.parse`
_JSON = "as JSON, see docs/reference/{}.schema.json"
_PLACED = ("policy", "range", "flags", "on-conflict")
"""Keys whose flags stand between others in the help; those of all others follow each other."""


def boolean(text: str) -> bool:
    """As ``parse_bool``; raises argparse's own error for what it refuses."""
    value = parse_bool(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"'{text}' is neither true nor false")
    return value


def boolean_text(text: str) -> str:
    """A boolean that is read later, with all other values."""
    return text


def list_of(text: str) -> list[str]:
    """``a,b``, or ``"a","b"``; nothing is an empty list. As pflag reads a StringSlice: one line of CSV."""
    try:
        return next(csv.reader([text], strict=True), [])
    except csv.Error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a comma-separated list: {error}") from None


def text(metavar: str, message: str) -> dict[str, Any]:
    """A flag with any value; empty where it was not given."""
    return {"default": "", "metavar": metavar, "help": message}


def repeated(metavar: str, message: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "metavar": metavar, "help": message}


def switch(message: str) -> dict[str, Any]:
    return {"action": "store_true", "help": message}


def truth(message: str, *, default: bool | None) -> dict[str, Any]:
    """A flag that is true or false; None: not given."""
    return {"type": boolean, "default": default, "metavar": BOOL, "help": message}


def place(metavar: str, message: str, default: str = ".") -> dict[str, Any]:
    return {"nargs": "?", "default": default, "metavar": metavar, "help": message}


def declare(parser: argparse.ArgumentParser, arguments: Arguments) -> None:
    for names, each in arguments.items():
        parser.add_argument(*names.split(), **each)


RELEASES = {
    "--release-source": {
        "default": DEFAULT_SOURCE,
        "metavar": "SOURCE",
        "help": "where Flux's releases come from: github (the default), a directory, an http(s) address laid "
        "out as <tag>/<asset> with a releases.json, a repository of a GitHub API "
        "(https://github.example.com/api/v3/repos/mirrors/flux2), or a copy of Flux's own artifacts "
        "(oci://registry.example.com/fluxcd/flux-manifests)",
    }
}
DOCKER = {
    "--docker-config": text(
        "FILE",
        "a Docker config.json with credentials for registries, or the directory that holds it (default: "
        "that of $DOCKER_CONFIG, else ~/.docker/config.json, if it exists)",
    )
}
ACCESS = {"--ca-file": text("FILE", "PEM file with authorities to trust besides the usual ones"), **DOCKER}
SOURCE = {**RELEASES, **ACCESS}
REGISTRY = {
    "--plain-http": switch("talk to the artifact's registry over http, not https"),
    "--username": text("NAME", "for the artifact's registry, with --password-stdin"),
    "--password-stdin": switch("read the password or token for --username from stdin"),
}
PATH = {
    "path": place("PATH", "a file, a directory, or an artifact that holds Flux, oci://HOST/REPOSITORY:TAG (default: .)")
}
TO = {"--to": text("VERSION", "this Flux version, whatever the policy says")}
OUTPUT = {
    "--details": switch("show everything that is known of each installation, not only the overview"),
    "-q --quiet": switch("print only warnings and errors"),
    "-v --verbose": switch("say on stderr what is read, which host is asked, and what is tried again"),
    "--color": {
        "choices": ("auto", "always", "never"),
        "default": "auto",
        "help": "colors in the output (default: auto, on a terminal unless NO_COLOR is set)",
    },
}
DRY_RUN = {"--dry-run": switch("show what would be done, write nothing")}


def of_keys(*names: str) -> Arguments:
    """The flags of keys of the config file, by their rows; without names, of all that are not ``_PLACED``."""
    # Late: `render` has none of them.
    from flux_upgrade.config.keys import GOVERNING, ChoiceShape, ListShape, PlainShape

    arguments: dict[str, dict[str, Any]] = {}
    for key in GOVERNING:
        if not key.flag or not (key.name in names if names else key.name not in _PLACED):
            continue
        if isinstance(key.shape, PlainShape) and key.shape in (PlainShape.BOOLEAN, PlainShape.SWITCH):
            argument = truth(key.flag, default=None)
        elif isinstance(key.shape, ListShape):
            argument = repeated(key.metavar, key.flag)
        elif isinstance(key.shape, ChoiceShape) and not key.metavar:
            argument = {"choices": tuple(map(str, key.shape.words)), "default": "", "help": key.flag}
        else:
            argument = text(key.metavar, key.flag)
        arguments[f"--{key.name}"] = argument
    return arguments


def declare_render(parser: argparse.ArgumentParser) -> None:
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
        "--watch-all-namespaces": truth("false: watch the namespace of Flux alone (default: true)", default=True),
        "--network-policy": truth("false: no NetworkPolicy objects (default: true)", default=True),
        "--log-level": flag(f"one of {', '.join(LOG_LEVELS)}", plain.log_level),
        "--cluster-domain": flag("the cluster's internal DNS domain", plain.cluster_domain),
        "--toleration-keys": listed("keys of the taints that the controllers tolerate"),
    }
    declare(parser, arguments)


def declare_inspect(parser: argparse.ArgumentParser) -> None:
    parser.description = "Find every Flux installation and say what is really there, with the proof."
    graph = switch("show which files each cluster reads, and what no cluster reads")
    declare(parser, {**PATH, **SOURCE, **REGISTRY, "--graph": graph, "--json": switch(_JSON.format("inspect"))})


def declare_plan(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show what an upgrade would do and why. Writes nothing."
    pulls = switch("take the pull requests of the repository into account")
    arguments = {**_policy(), **TO, "--json": switch(_JSON.format("plan")), "--pull-request": pulls, **OUTPUT}
    declare(parser, arguments)


def declare_upgrade(parser: argparse.ArgumentParser) -> None:
    parser.description = "Upgrade every installation that the policy lets go on, flags and edits kept."
    arguments = {
        **_policy(),
        **TO,
        **DRY_RUN,
        "--diff": switch("show the changes of each file as a diff"),
        "--pull-request": switch("open, update and close pull requests; the tree stays as it is"),
        **of_keys("on-conflict"),
        **OUTPUT,
    }
    declare(parser, arguments)


def _policy() -> Arguments:
    """Of ``plan`` and ``upgrade``: what they decide by, and which servers they ask."""
    return {
        **PATH,
        **SOURCE,
        **REGISTRY,
        **of_keys("policy", "range"),
        "--config": text("FILE", f"the config file (default: {CONFIG}, if it exists)"),
        **of_keys("flags"),
        "--repository": text("NAME", "owner/name or the address of the remote (default: that of the checkout)"),
        "--base": text("BRANCH", "the branch that pull requests go into (default: the repository's default branch)"),
        "--approve": repeated(
            "VERSION", "approve a minor with its later patches (2.9) or one version alone (v2.9.4); repeatable"
        ),
        **of_keys(),
        "--flux-migrate-done": truth(
            "true: `flux migrate` ran in the clusters, with the release that they are at (default: false)",
            default=False,
        ),
        "--accept-breaks": {
            "action": "store_true",
            "help": "write an upgrade although a patch of yours would break something; in a pull request, tick its box",
        },
        "--promote": {
            "choices": ("tag", "pull-request"),
            "default": "",
            "help": "how an artifact is promoted: its tag is moved, or what pins it in the checkout is "
            "changed by pull request (default: what the checkout says, else tag)",
        },
    }


def declare_check(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Find every manifest with an API version that a Flux version does not serve. Writes nothing, and "
        "ends with 27 where there is one."
    )
    declare(parser, _api_uses("the Flux version that has to serve them"))


def declare_migrate(parser: argparse.ArgumentParser) -> None:
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
        "path": place("PATH", "a file or a directory (default: .)"),
        **SOURCE,
        "--to": text("VERSION", f"{target} (default: the newest stable release)"),
        "--from": {"dest": "running", **running},
        **of_keys("include"),
        "--json": switch(_JSON.format("api-uses")),
    }


def declare_rollback(parser: argparse.ArgumentParser) -> None:
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


def declare_config(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check the config file and explain its settings. Without a config file, show the defaults. In a checkout, "
        "list the files that each group matches. The exit code is 18 if a group matches nothing."
    )
    parser.add_argument("check", choices=("check",), metavar="check", help="check the file and explain it")
    parser.add_argument("path", **place("FILE", f"the config file (default: {CONFIG} of the checkout)", ""))


def declare_action(parser: argparse.ArgumentParser) -> None:
    parser.description = "The entry point of the GitHub Action: reads its inputs from the environment."
