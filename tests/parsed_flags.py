"""The bootstrap options that single flags lead to."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.bootstrap.flags import examine
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider, Source
from flux_upgrade.config.config import FlagValue
from flux_upgrade.model.errors import UsageError


def parse_flags(
    provider: Provider,
    source: Source,
    given: Mapping[str, FlagValue],
    version: str = "",
    known: Mapping[str, str] | None = None,
) -> BootstrapOptions:
    """As ``examine``; raises UsageError with all problems."""
    stated = {"version": version, **given} if version else given
    options, problems = examine(provider, source, stated, known)
    if problems:
        raise UsageError("; ".join(problems), hint="see `flux-upgrade bootstrap --help`")
    return options
