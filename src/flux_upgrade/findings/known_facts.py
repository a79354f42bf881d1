"""Entries of the key ``known`` of the config file, in reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flux_upgrade.config.config import Known
from flux_upgrade.findings.phrases import Style


def known_line(entry: Known, style: Style) -> str:
    """Return the place of an entry, its facts, the day until which it counts, and the reason."""
    facts = "; ".join(_facts(entry, style))
    reason = style.plain(entry.reason.rstrip("."))
    return f"{style.code(entry.place)} says that {facts} (until {entry.until}, for v{entry.release}): {reason}"


def known_values(entries: Sequence[Known]) -> list[dict[str, Any]]:
    """Return entries as each JSON report has them."""
    return [
        {
            "path": entry.file,
            "line": entry.line,
            "reason": entry.reason,
            "release": f"v{entry.release}",
            "until": str(entry.until),
            "migrated": entry.migrated,
            "root": entry.root,
            "reads": list(entry.reads),
            "variables": dict(entry.variables),
        }
        for entry in entries
    ]


def _facts(entry: Known, style: Style) -> Iterator[str]:
    if entry.migrated:
        yield f"{style.code('flux migrate')} has run"
    if entry.root is not None:
        yield f"Flux starts at {style.code(entry.root or '.')}"
    if entry.reads:
        yield f"the cluster reads {', '.join(map(style.code, entry.reads))}"
    if entry.variables:
        names = (f"{name}={value}" for name, value in sorted(entry.variables.items()))
        yield f"the variables are {', '.join(map(style.code, names))}"
