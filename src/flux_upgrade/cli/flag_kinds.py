"""Kinds of flags: what ``add_argument`` takes for each, and how their values are read."""

from __future__ import annotations

import argparse
import re

from flux_upgrade.cli.sections import OUTPUT, RARE, SUBJECT, by_heading, mark_rare
from flux_upgrade.manifests.options import parse_bool, parse_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Arguments = Mapping[str, dict[str, Any]]

# ``Arguments``: what ``add_argument`` takes, by the argument's names with a space between them.

BOOL = "BOOL"  # What a boolean flag takes, or does not: see `cli.parse`


def boolean(text: str) -> bool:
    """As ``parse_bool``; raises argparse's own error for what it refuses."""
    value = parse_bool(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"'{text}' must be true or false")
    return value


def boolean_text(text: str) -> str:
    """A boolean that is read later, with all other values."""
    return text


def list_of(text: str) -> list[str]:
    """As ``parse_list``; raises argparse's own error for what it refuses."""
    try:
        return parse_list(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def hosts_of(text: str) -> list[str]:
    """Hosts with commas or spaces between them; raises argparse's own error for what is none."""
    from flux_upgrade.config.keys import HOST  # late: `render` has no such flag

    words = text.replace(",", " ").split()
    for word in words:
        if re.fullmatch(HOST.pattern, word) is None:
            raise argparse.ArgumentTypeError(f"'{word}' is not {HOST.description}")
    return words


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


def declare(parser: argparse.ArgumentParser, arguments: Arguments, subject: str = SUBJECT, rest: str = OUTPUT) -> None:
    """Under the headings of `cli.sections`."""
    headings = by_heading(arguments, subject, rest)
    declare_under(parser, {heading: {each: arguments[each] for each in names} for heading, names in headings.items()})


def declare_under(parser: argparse.ArgumentParser, headings: Mapping[str, Arguments]) -> None:
    for heading, arguments in headings.items():
        section = parser.add_argument_group(heading)
        for names, options in arguments.items():
            action = section.add_argument(*names.split(), **options)
            if names in RARE:
                mark_rare(action)
