"""The options that command lines lead to, each with its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from flux_upgrade.cli.options import BootstrapCommand, Options, RenderOptions, UpgradeOptions
from flux_upgrade.cli.parse import parse_command

T = TypeVar("T", bound=Options)


def parsed(kind: type[T], argv: Sequence[str], env: Mapping[str, str] | None = None) -> T:
    """The options of ``argv``, which are of ``kind``."""
    options = parse_command(argv, env or {}).options
    assert isinstance(options, kind)
    return options


def render_options(*words: str) -> RenderOptions:
    """Of ``render``."""
    return parsed(RenderOptions, ["render", *words])


def upgrade_options(command: str, *words: str, env: Mapping[str, str] | None = None) -> UpgradeOptions:
    """Of ``plan`` or ``upgrade``."""
    return parsed(UpgradeOptions, [command, *words], env)


def bootstrap_command(*words: str, env: Mapping[str, str] | None = None) -> BootstrapCommand:
    """Of ``bootstrap``."""
    return parsed(BootstrapCommand, ["bootstrap", *words], env)
