"""Flags that several commands share, and those of ``check`` and ``migrate``, which are nearly the same."""

from __future__ import annotations

import argparse

from flux_upgrade.manifests.options import parse_bool

DEFAULT_SOURCE = "github"
CONFIG = ".github/flux-upgrade.yaml"
BOOL = "BOOL"
"""What a boolean flag takes, or does not: see ``flags.parse``."""


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
    """``a,b``; nothing is an empty list."""
    return text.split(",") if text else []


def declare_releases(parser: argparse.ArgumentParser) -> None:
    """Where Flux's releases come from."""
    parser.add_argument(
        "--release-source",
        default=DEFAULT_SOURCE,
        metavar="SOURCE",
        help="where Flux's releases come from: github (the default), a folder, an http(s) address laid out "
        "as <tag>/<asset> with a releases.json, a repository of a GitHub API "
        "(https://github.example.com/api/v3/repos/mirrors/flux2), or a copy of Flux's own artifacts "
        "(oci://registry.example.com/fluxcd/flux-manifests)",
    )


def declare_docker(parser: argparse.ArgumentParser) -> None:
    """Who we are for registries."""
    parser.add_argument(
        "--docker-config",
        default="",
        metavar="FILE",
        help="a Docker config.json with credentials for registries, or the folder that holds it (default: "
        "that of $DOCKER_CONFIG, else ~/.docker/config.json, should it be there)",
    )


def declare_registry(parser: argparse.ArgumentParser) -> None:
    """How the registry of an artifact is reached."""
    parser.add_argument(
        "--plain-http", action="store_true", help="talk to the artifact's registry over http, not https"
    )
    parser.add_argument(
        "--username", default="", metavar="NAME", help="for the artifact's registry, with --password-stdin"
    )
    parser.add_argument(
        "--password-stdin", action="store_true", help="read the password or token for --username from stdin"
    )


def declare_impact(parser: argparse.ArgumentParser) -> None:
    """What is known of the clusters, and what is done about what an upgrade breaks in the repository."""
    config = "(default: what the config file says, else"
    parser.add_argument(
        "--migrate",
        choices=("before", "with-upgrade", "off"),
        default="",
        help="when manifests with API versions that the target does not serve are moved: by a pull request "
        f"before the upgrade, with it, or by people {config} before)",
    )
    parser.add_argument(
        "--ladder",
        type=boolean,
        default=None,
        metavar=BOOL,
        help=f"false: propose one jump, even where it takes several releases to get there {config} true)",
    )
    declare_scan(parser)
    parser.add_argument(
        "--kubernetes-version",
        default="",
        metavar="VERSION",
        help=f"what the clusters run, like 1.33 {config} not known)",
    )
    parser.add_argument(
        "--migrated",
        type=boolean,
        default=False,
        metavar=BOOL,
        help="true: `flux migrate` ran in the clusters, with the release that they are at (default: false)",
    )


def declare_scan(parser: argparse.ArgumentParser) -> None:
    """Where to look for what an upgrade breaks."""
    parser.add_argument(
        "--scan",
        action="append",
        default=[],
        metavar="PATTERN",
        help="files to search for what an upgrade breaks, as in .gitignore; repeatable (default: what the "
        "config file says, else all)",
    )


def declare_source(parser: argparse.ArgumentParser) -> None:
    """Where Flux's releases come from, and how servers are reached."""
    declare_releases(parser)
    declare_access(parser)


def declare_access(parser: argparse.ArgumentParser) -> None:
    """Authorities to trust, and credentials for registries."""
    parser.add_argument(
        "--ca-file",
        default="",
        metavar="FILE",
        help="PEM file with authorities to trust besides the usual ones",
    )
    declare_docker(parser)


def declare_path(parser: argparse.ArgumentParser) -> None:
    """What a command looks at."""
    parser.add_argument(
        "path",
        nargs="?",
        default=".",
        metavar="PATH",
        help="a file, a folder, or an artifact that holds Flux, oci://HOST/REPOSITORY:TAG (default: .)",
    )


def declare_policy(parser: argparse.ArgumentParser) -> None:
    """Of ``plan`` and ``upgrade``: what they decide by, and which servers they ask."""
    declare_path(parser)
    declare_source(parser)
    declare_registry(parser)
    for name, metavar, text in (
        (
            "--policy",
            "BUMP",
            "the largest bump that needs no approval: none, patch (the default), minor, major",
        ),
        (
            "--range",
            "RANGE",
            "versions that may be proposed, like '>=2.6 <2.9' or 2.x; alone, it is the policy",
        ),
        ("--config", "FILE", f"the config file (default: {CONFIG}, should it be there)"),
        ("--flags", "FLAGS", "install flags that are to change, like 'network-policy: false'; Flux's names"),
        ("--repository", "NAME", "owner/name or the address of the remote (default: that of the checkout)"),
        (
            "--base",
            "BRANCH",
            "the branch that pull requests go into (default: the repository's default branch)",
        ),
    ):
        parser.add_argument(name, default="", metavar=metavar, help=text)
    parser.add_argument(
        "--approve",
        action="append",
        default=[],
        metavar="VERSION",
        help="approve a minor with its later patches (2.9) or one version alone (v2.9.4); repeatable",
    )
    parser.add_argument(
        "--check-images",
        type=boolean,
        default=None,
        metavar=BOOL,
        help="false: propose a release without asking the registry, where it is not ghcr.io/fluxcd, for its "
        "images (default: what the config file says, else true)",
    )
    declare_impact(parser)
    parser.add_argument(
        "--promote",
        choices=("tag", "pull-request"),
        default="",
        help="how an artifact is promoted: its tag is moved, or what pins it in the checkout is changed by "
        "pull request (default: what the checkout says, else tag)",
    )


def declare_check(parser: argparse.ArgumentParser) -> None:
    """Of ``check``."""
    parser.description = (
        "Find every manifest with an API version that a Flux version does not serve. Writes nothing, and "
        "ends with 27 where there is one."
    )
    _declare_api_uses(parser, "the Flux version that has to serve them")


def declare_migrate(parser: argparse.ArgumentParser) -> None:
    """Of ``migrate``."""
    parser.description = (
        "Move manifests away from the API versions that a Flux version does not serve, with the fields that "
        "were renamed. What cannot be moved is named, and the run ends with 27 then."
    )
    _declare_api_uses(parser, "the Flux version that has to serve them afterwards")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, write nothing")


def _declare_api_uses(parser: argparse.ArgumentParser, target: str) -> None:
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a file or a folder (default: .)"
    )
    declare_source(parser)
    parser.add_argument(
        "--to", default="", metavar="VERSION", help=f"{target} (default: the newest stable release)"
    )
    parser.add_argument(
        "--from",
        dest="running",
        action="append",
        default=[],
        metavar="VERSION",
        help="a Flux version that a cluster runs today: manifests are moved to what it serves as well; "
        "repeatable (default: those that are found in the repository)",
    )
    declare_scan(parser)
    parser.add_argument(
        "--json", action="store_true", help="as JSON, see docs/reference/api-uses.schema.json"
    )
