"""Flags that several commands share, and those of ``check`` and ``migrate``, which are nearly the same."""

from __future__ import annotations

import argparse

from flux_upgrade.manifests.options import parse_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flux_upgrade.config.shapes import Shape

DEFAULT_SOURCE = "github"
CONFIG = ".github/flux-upgrade.yaml"
BOOL = "BOOL"
"""What a boolean flag takes, or does not: see ``flags.parse``."""
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


def declare_keys(parser: argparse.ArgumentParser, *names: str) -> None:
    """The flags of keys of the config file, by their rows; without names, of all that are not ``_PLACED``."""
    # Late: `render` has none of them.
    from flux_upgrade.config.keys import GOVERNING

    for key in GOVERNING:
        is_meant = key.name in names if names else key.name not in _PLACED
        if key.flag is not None and is_meant:
            parser.add_argument(f"--{key.name}", help=key.flag.help, **_argument(key.shape, key.flag.metavar))


def _argument(shape: Shape, metavar: str) -> dict[str, Any]:
    """What argparse is told of values of that shape. What was not given is None or empty."""
    from flux_upgrade.config.scalar_shapes import OffChoiceShape, SwitchShape
    from flux_upgrade.config.shapes import BooleanShape, ChoiceShape, PatternsShape

    if isinstance(shape, (BooleanShape, SwitchShape)):
        return {"type": boolean, "default": None, "metavar": BOOL}
    if isinstance(shape, PatternsShape):
        return {"action": "append", "default": [], "metavar": metavar}
    if isinstance(shape, (ChoiceShape, OffChoiceShape)) and not metavar:
        return {"choices": tuple(map(str, shape.words)), "default": ""}
    return {"default": "", "metavar": metavar}


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
    declare_keys(parser, "policy", "range")
    _text(parser, "--config", "FILE", f"the config file (default: {CONFIG}, should it be there)")
    declare_keys(parser, "flags")
    for name, metavar, text in (
        ("--repository", "NAME", "owner/name or the address of the remote (default: that of the checkout)"),
        (
            "--base",
            "BRANCH",
            "the branch that pull requests go into (default: the repository's default branch)",
        ),
    ):
        _text(parser, name, metavar, text)
    parser.add_argument(
        "--approve",
        action="append",
        default=[],
        metavar="VERSION",
        help="approve a minor with its later patches (2.9) or one version alone (v2.9.4); repeatable",
    )
    declare_keys(parser)
    parser.add_argument(
        "--migrated",
        type=boolean,
        default=False,
        metavar=BOOL,
        help="true: `flux migrate` ran in the clusters, with the release that they are at (default: false)",
    )
    parser.add_argument(
        "--promote",
        choices=("tag", "pull-request"),
        default="",
        help="how an artifact is promoted: its tag is moved, or what pins it in the checkout is changed by "
        "pull request (default: what the checkout says, else tag)",
    )


def _text(parser: argparse.ArgumentParser, name: str, metavar: str, text: str) -> None:
    parser.add_argument(name, default="", metavar=metavar, help=text)


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
    declare_keys(parser, "scan")
    parser.add_argument(
        "--json", action="store_true", help="as JSON, see docs/reference/api-uses.schema.json"
    )
