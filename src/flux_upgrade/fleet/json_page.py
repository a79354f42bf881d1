"""The page as JSON: see docs/reference/fleet.schema.json."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from flux_upgrade.fleet import words
from flux_upgrade.fleet.fleet import Fleet
from flux_upgrade.fleet.rows import Row


def json_page(fleet: Fleet) -> str:
    value = {
        "created-at": _moment(fleet.now),
        "repositories": list(fleet.repositories),
        "newest": fleet.newest or None,
        "releases": [{"version": each.version or None, "clusters": each.clusters} for each in fleet.releases],
        "rows": [_row(fleet, row) for row in fleet.rows],
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _moment(at: datetime) -> str:
    """Of a time in UTC. ``strftime`` writes years before 1000 with fewer than four digits."""
    return at.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _row(fleet: Fleet, row: Row) -> dict[str, Any]:
    since = row.since
    return {
        "state": row.state.slug,
        "needs-you": row.state.needs_you,
        "repository": row.repository,
        "clusters": list(row.clusters),
        "current": row.current or None,
        "target": row.target or None,
        "why": row.why or None,
        "since": _moment(since.at) if since else None,
        "since-what": since.what if since else None,
        "days": fleet.age(since),
        "url": words.safe_link(row.url) or None,
    }
