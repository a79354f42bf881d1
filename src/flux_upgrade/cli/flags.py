"""Flags as values: those that several commands share, and those of each but ``bootstrap``."""

from __future__ import annotations

import argparse

from flux_upgrade.cli.flag_kinds import declare, declare_under, hosts_of, list_of, place, repeated, switch, text, truth
from flux_upgrade.cli.options import ReportForm
from flux_upgrade.cli.sections import NETWORK, OUTPUT, PLACES
from flux_upgrade.manifests.options import COMPONENTS, DEFAULT_COMPONENTS, LOG_LEVELS, InstallOptions
from flux_upgrade.model.errors import ApiRemoved, InvalidConfig, NoReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flux_upgrade.cli.flag_kinds import Arguments

DEFAULT_SOURCE = "github"
CONFIG = ".github/flux-upgrade.yaml"
ARTIFACT = "flux-upgrade-report"
"""As the example workflows upload the report."""
MAX_AGE = 3
"""Days: a workflow that runs every day may miss one, and a weekend's run is not looked at."""
SHELLS = ("bash", "zsh", "fish")
_JSON = "print JSON, as in docs/reference/{}.schema.json"
_PLACED = ("policy", "range", "flags", "on-conflict", "allow-hosts")
"""Keys whose flags stand between others in the help; those of all others follow each other."""


RELEASES = {
    "--release-source": {
        "default": DEFAULT_SOURCE,
        "metavar": "SOURCE",
        "help": "source of the Flux releases: github (default), a directory, a web server (<tag>/<asset>, "
        "releases.json), a GitHub API (https://github.example.com/api/v3/repos/mirrors/flux2), or a copy of Flux's "
        "artifacts (oci://registry.example.com/fluxcd/flux-manifests)",
    }
}
DOCKER = {
    "--docker-config": text(
        "FILE",
        "Docker config.json with credentials for registries and chart repositories, or its directory (default: "
        "$DOCKER_CONFIG, else ~/.docker/config.json, if it exists)",
    )
}
ACCESS = {"--ca-file": text("FILE", "PEM file with the certificate of a private CA to trust as well"), **DOCKER}
SOURCE = {**RELEASES, **ACCESS}
REGISTRY = {
    "--plain-http": switch("use http, not https, for the registry of the artifact"),
    "--username": text("NAME", "user for the registry of the artifact, with --password-stdin"),
    "--password-stdin": switch("read the password or token for --username from stdin"),
}
PATH = {"path": place("PATH", "file, directory or OCI artifact with Flux, oci://HOST/REPOSITORY:TAG (default: .)")}
TO = {"--to": text("VERSION", "this Flux version, regardless of the policy")}
SHOWN = {
    "--details": switch("show everything about each installation, not only the overview"),
    "-q --quiet": switch("print only warnings and errors"),
    "-v --verbose": switch("print what is read, which host is asked, and each retry, on stderr"),
    "--color": {
        "choices": ("auto", "always", "never"),
        "default": "auto",
        "help": "color the output (default: auto, on a terminal unless NO_COLOR is set)",
    },
    "--no-pager": switch("print a report that is longer than the screen without $PAGER (default: less)"),
}
TRUST = {
    "--trust-config": switch(
        "in CI: also use extends, accounts, allow-hosts, bootstrap and known of a config file that is not known to be "
        "on the default branch"
    )
}
DRY_RUN = {"--dry-run": switch("show what would change, and write nothing")}


def of_keys(*names: str) -> Arguments:
    """The flags of keys of the config file, by their rows; without names, of all that are not ``_PLACED``."""
    # Late: `render` has none of them.
    from flux_upgrade.config.keys import HOST, TOP, ChoiceShape, ListShape, PlainShape

    arguments: dict[str, dict[str, Any]] = {}
    for key in TOP.keys:
        if not key.flag or not (key.name in names if names else key.name not in _PLACED):
            continue
        if isinstance(key.shape, PlainShape) and key.shape in (PlainShape.BOOLEAN, PlainShape.SWITCH):
            argument = truth(key.flag, default=None)
        elif isinstance(key.shape, ListShape):
            argument = repeated(key.metavar, key.flag)
            if key.shape.item is HOST:
                argument |= {"action": "extend", "type": hosts_of}
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

    def listed(message: str, default: str = "") -> dict[str, Any]:
        shown = flag(f"{message}; comma-separated, repeatable", default)["help"]
        return {"type": list_of, "action": "append", "metavar": "LIST", "help": shown}

    parser.description = "Print exactly what `flux install --export` prints in that Flux version."
    arguments = {
        **SOURCE,
        "-v --version": text("VERSION", "Flux version, such as v2.9.4 (default: the newest stable release)"),
        "-n --namespace": flag("namespace of Flux", plain.namespace),
        "--components": listed("controllers, in this order", ",".join(DEFAULT_COMPONENTS)),
        "--components-extra": listed(f"additional controllers, out of {', '.join(extra)}"),
        "--registry": flag("registry of the controller images", plain.registry),
        "--image-pull-secret": text("NAME", "name of the Secret for a private registry"),
        "--watch-all-namespaces": truth("false: watch only the namespace of Flux (default: true)", default=True),
        "--network-policy": truth("false: install no NetworkPolicy (default: true)", default=True),
        "--log-level": flag(f"log level of the controllers: {', '.join(LOG_LEVELS)}", plain.log_level),
        "--cluster-domain": flag("internal DNS domain of the cluster", plain.cluster_domain),
        "--toleration-keys": listed("taint keys that the controllers tolerate"),
    }
    declare(parser, arguments, rest="What to install")


def declare_inspect(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show every Flux installation: version, install flags, manual edits, and how they were verified."
    )
    graph = switch("show which files each cluster reads, and which ones no cluster reads")
    servers = {**SOURCE, **of_keys("allow-hosts"), **REGISTRY, **TRUST}
    declare(parser, {**PATH, **servers, "--graph": graph, "--json": switch(_JSON.format("inspect"))})


def declare_plan(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show what an upgrade would change, and why. Writes nothing."
    pulls = switch("take the pull requests of the repository into account")
    arguments = {**_policy(), **TO, "--json": switch(_JSON.format("plan")), "--pull-request": pulls, **SHOWN}
    declare(parser, arguments)


def declare_upgrade(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Upgrade every installation that the policy allows. Your install flags and manual edits are kept."
    )
    arguments = {
        **_policy(),
        **TO,
        **DRY_RUN,
        "--diff": switch("show the changes of each file as a diff"),
        "--pull-request": switch("open, update and close pull requests; the checkout stays unchanged"),
        **of_keys("on-conflict"),
        **SHOWN,
    }
    declare(parser, arguments)


def _policy() -> Arguments:
    """Of ``plan`` and ``upgrade``: what they decide by, and which servers they ask."""
    return {
        **PATH,
        **SOURCE,
        **of_keys("allow-hosts"),
        **REGISTRY,
        **of_keys("policy", "range"),
        "--config": text("FILE", f"config file (default: {CONFIG}, if it exists)"),
        **TRUST,
        **of_keys("flags"),
        "--repository": text("NAME", "owner/name or URL of the remote (default: the remote of the checkout)"),
        "--base": text("BRANCH", "branch that pull requests target (default: the default branch of the repository)"),
        "--approve": repeated(
            "[NAME=]VERSION",
            "approve a minor with its patches (2.9) or a single version (v2.9.4) in every cluster, or only in one "
            "(staging=2.9); repeatable. For an artifact's tag, +migrated says that `flux migrate` ran "
            "(production=2.9+migrated)",
        ),
        **of_keys(),
        "--flux-migrate-done": truth(
            "true: you ran `flux migrate` in the clusters, at the release that they run (default: false)", default=False
        ),
        "--accept-breaks": {
            "action": "store_true",
            "help": "write an upgrade even if a patch of yours breaks something; in a pull request, tick its box",
        },
        "--promote": {
            "choices": ("tag", "pull-request"),
            "default": "",
            "help": "how to promote an artifact: tag moves its tag, pull-request updates its references in the "
            "checkout (default: depends on the checkout, else tag)",
        },
    }


def declare_check(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Find every manifest on an API version that a Flux version no longer serves. Writes nothing. The exit "
        f"code is {ApiRemoved.exit_code} if there is one."
    )
    form = {
        "choices": [*ReportForm],
        "default": "",
        "metavar": "FORMAT",
        "help": f"{', '.join(ReportForm)}: sarif for code scanning, github for annotations (default: github in GitHub "
        "Actions, else text)",
    }
    declare(parser, {**_api_uses("Flux version to check against"), "--format": form}, "What to check")


def declare_migrate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Migrate manifests from API versions that a Flux version no longer serves, renamed fields included. "
        f"The exit code is {ApiRemoved.exit_code} if a manifest needs a manual change."
    )
    declare(parser, {**_api_uses("Flux version that must serve the result"), **DRY_RUN}, "What to migrate")


def _api_uses(target: str) -> Arguments:
    running = repeated(
        "VERSION",
        "Flux version that a cluster runs; a migration uses only API versions that it serves; repeatable "
        "(default: the versions in the repository)",
    )
    return {
        "path": place("PATH", "file or directory (default: .)"),
        **SOURCE,
        "--to": text("VERSION", f"{target} (default: the newest stable release)"),
        "--from": {"dest": "running", **running},
        **of_keys("include"),
        "--json": switch(_JSON.format("api-uses")),
    }


def declare_rollback(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Move an OCI tag back to the digest that it had before its last promotion. The rejected version is then "
        "held until a newer one is released, or until you approve it."
    )
    arguments = {
        "path": place("ADDRESS", "tag of the artifact, oci://HOST/REPOSITORY:TAG", default=""),
        "--to": text("REFERENCE", "tag or digest to go back to (default: the digest before the last promotion)"),
        "--accept-breaks": switch("move the tag even if the API server may reject the older CRDs"),
        **DRY_RUN,
        **REGISTRY,
        **ACCESS,
    }
    declare(parser, arguments, "What to roll back")


def declare_config(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check the config file and explain its settings. Without a config file, show the defaults. In a checkout, "
        "list the files that each group matches. "
        f"The exit code is {InvalidConfig.exit_code} if a group matches nothing."
    )
    arguments = {
        "check": {"choices": ("check",), "metavar": "check", "help": "check the file, and explain it"},
        "path": place("FILE", f"config file (default: {CONFIG} of the checkout)", ""),
        **TRUST,
    }
    declare(parser, arguments)


def declare_fleet(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make one page of the reports of many repositories: what runs where, what waits, and what needs you first. "
        f"Prints Markdown. The exit code is {NoReport.exit_code} if a report is missing."
    )
    places = {
        "reports": {
            "nargs": "*",
            "metavar": "REPORT",
            "help": "report file of the Action, output of `plan --json`, or a directory with such .json files",
        }
    }
    subject = {
        "--repository": repeated(
            "NAME", "owner/name: take the newest report that a workflow of it uploaded; repeatable"
        ),
        "--repositories": text("FILE", "file with such repositories, one a line"),
        "--artifact": text("NAME", f"name of the uploaded artifact (default: {ARTIFACT})") | {"default": ARTIFACT},
        "--expect": repeated(
            "NAME", "owner/name: repository that must have a report, or is shown without one; repeatable"
        ),
        "--max-age": {
            "type": int,
            "default": MAX_AGE,
            "metavar": "DAYS",
            "help": f"show a report as old after these days (default: {MAX_AGE})",
        },
    }
    output = {
        "--html": text("FILE", "also write the page as a single HTML file"),
        "--json": switch(_JSON.format("fleet")),
    }
    network = {"--ca-file": ACCESS["--ca-file"]}
    declare_under(parser, {PLACES: places, "Which repositories": subject, NETWORK: network, OUTPUT: output})


def declare_completion(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print a script that completes commands, options and their values in your shell."
    declare(parser, {"shell": {"choices": SHELLS, "metavar": "|".join(SHELLS), "help": "your shell"}})


def declare_action(parser: argparse.ArgumentParser) -> None:
    parser.description = "Run as the GitHub Action does: read its inputs from environment variables."
