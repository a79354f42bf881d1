"""The config file, ``.github/flux-upgrade.yaml``: its values, and what reads, checks and documents them.

Most repositories have none, so that what reads one is imported when it is used.
"""

from __future__ import annotations

from flux_upgrade.config.flags import applied
from flux_upgrade.config.values import (
    PATH,
    BootstrapConfig,
    Config,
    Group,
    Migrate,
    Overrides,
    overridden,
    slug,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flux_upgrade.config.bootstrap_flags import parse_bootstrap_flags
    from flux_upgrade.config.documents import reference, schema
    from flux_upgrade.config.reader import lines_of_groups, load, parse_flags, parse_key
    from flux_upgrade.config.summary import check_report

__all__ = [
    "PATH",
    "BootstrapConfig",
    "Config",
    "Group",
    "Migrate",
    "Overrides",
    "applied",
    "check_report",
    "lines_of_groups",
    "load",
    "overridden",
    "parse_bootstrap_flags",
    "parse_flags",
    "parse_key",
    "reference",
    "schema",
    "slug",
]

_LATE = {
    "check_report": "summary",
    "lines_of_groups": "reader",
    "load": "reader",
    "parse_bootstrap_flags": "bootstrap_flags",
    "parse_flags": "reader",
    "parse_key": "reader",
    "reference": "documents",
    "schema": "documents",
}


def __getattr__(name: str) -> Any:
    """What is imported late (PEP 562)."""
    if name not in _LATE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
