"""Flags as values: kinds of them, and those that several commands share."""

from __future__ import annotations

import argparse

from flux_upgrade.manifests.options import parse_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from flux_upgrade.config.shapes import Shape

    Arguments = Mapping[str, dict[str, Any]]

# ``Arguments``: what ``add_argument`` takes, by the argument's names with a space between them.

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


def text(metavar: str, message: str) -> dict[str, Any]:
    """A flag with any value; empty where it was not given."""
    return {"default": "", "metavar": metavar, "help": message}


def repeated(metavar: str, message: str) -> dict[str, Any]:
    """A flag that may be given again."""
    return {"action": "append", "default": [], "metavar": metavar, "help": message}


def switch(message: str) -> dict[str, Any]:
    """A flag without a value."""
    return {"action": "store_true", "help": message}


def truth(message: str, *, default: bool | None) -> dict[str, Any]:
    """A flag that is true or false; None: not given."""
    return {"type": boolean, "default": default, "metavar": BOOL, "help": message}


def place(metavar: str, message: str, default: str = ".") -> dict[str, Any]:
    """What a command is about."""
    return {"nargs": "?", "default": default, "metavar": metavar, "help": message}


def declare(parser: argparse.ArgumentParser, arguments: Arguments) -> None:
    """All of them."""
    for names, each in arguments.items():
        parser.add_argument(*names.split(), **each)


RELEASES = {
    "--release-source": {
        "default": DEFAULT_SOURCE,
        "metavar": "SOURCE",
        "help": "where Flux's releases come from: github (the default), a folder, an http(s) address laid "
        "out as <tag>/<asset> with a releases.json, a repository of a GitHub API "
        "(https://github.example.com/api/v3/repos/mirrors/flux2), or a copy of Flux's own artifacts "
        "(oci://registry.example.com/fluxcd/flux-manifests)",
    }
}
DOCKER = {
    "--docker-config": text(
        "FILE",
        "a Docker config.json with credentials for registries, or the folder that holds it (default: "
        "that of $DOCKER_CONFIG, else ~/.docker/config.json, should it be there)",
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
    "path": place(
        "PATH", "a file, a folder, or an artifact that holds Flux, oci://HOST/REPOSITORY:TAG (default: .)"
    )
}
DRY_RUN = {"--dry-run": switch("show what would be done, write nothing")}


def of_keys(*names: str) -> Arguments:
    """The flags of keys of the config file, by their rows; without names, of all that are not ``_PLACED``."""
    # Late: `render` has none of them.
    from flux_upgrade.config.keys import GOVERNING

    meant = (key for key in GOVERNING if (key.name in names if names else key.name not in _PLACED))
    return {
        f"--{key.name}": _of_shape(key.shape, key.flag.metavar, key.flag.help)
        for key in meant
        if key.flag is not None
    }


def _of_shape(shape: Shape, metavar: str, message: str) -> dict[str, Any]:
    from flux_upgrade.config.scalar_shapes import OffChoiceShape, SwitchShape
    from flux_upgrade.config.shapes import BooleanShape, ChoiceShape, PatternsShape

    if isinstance(shape, (BooleanShape, SwitchShape)):
        return truth(message, default=None)
    if isinstance(shape, PatternsShape):
        return repeated(metavar, message)
    if isinstance(shape, (ChoiceShape, OffChoiceShape)) and not metavar:
        return {"choices": tuple(map(str, shape.words)), "default": "", "help": message}
    return text(metavar, message)
