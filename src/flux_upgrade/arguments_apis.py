"""The flags of check and migrate: manifests with API versions that a release does not serve."""

from __future__ import annotations

import argparse

from flux_upgrade.arguments_shared import declare_authorities, declare_docker, declare_releases, declare_scan


def declare_check(parser: argparse.ArgumentParser) -> None:
    """Of ``check``."""
    parser.description = (
        "Find every manifest with an API version that a Flux version does not serve. Writes nothing, and "
        "ends with 27 where there is one."
    )
    _declare(parser, "the Flux version that has to serve them")


def declare_migrate(parser: argparse.ArgumentParser) -> None:
    """Of ``migrate``."""
    parser.description = (
        "Move manifests away from the API versions that a Flux version does not serve, with the fields that "
        "were renamed. What cannot be moved is named, and the run ends with 27 then."
    )
    _declare(parser, "the Flux version that has to serve them afterwards")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, write nothing")


def _declare(parser: argparse.ArgumentParser, target: str) -> None:
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a file or a folder (default: .)"
    )
    declare_releases(parser)
    declare_authorities(parser)
    declare_docker(parser)
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
