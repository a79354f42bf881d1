"""The names of the errors that a run prints: its exit code is only their class."""

from __future__ import annotations

import re

from flux_upgrade.model.errors import FluxUpgradeError

_NAME = re.compile(r"^(?!  Try: ).* \[([a-z-]+)\]$|^::error .*?\btitle=flux-upgrade%3A ([a-z-]+)", re.MULTILINE)


def error_names(printed: str) -> set[str]:
    """Those at the end of messages, which may have several lines, and of the annotations of a job."""
    return {line or annotation for line, annotation in _NAME.findall(printed)}


def require_error(error: type[FluxUpgradeError], code: int, printed: str) -> None:
    """The run ended with this error, and printed no other."""
    assert (code, error_names(printed)) == (error.exit_code, {error.slug}), printed
