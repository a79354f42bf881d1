"""What all pages say in the same words, and which addresses of reports become links."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.fleet.fleet import Fleet
from flux_upgrade.fleet.rows import Row, State
from flux_upgrade.model.markdown import counted

TITLE = "Flux fleet"
COLUMNS = ("State", "Repository", "Clusters", "Flux", "Why", "Since")
# ASCII without quotes, brackets, backslashes and spaces: it cannot leave an attribute of HTML, or a link of Markdown.
_HTTPS = re.compile(
    r"https://[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%/#?=&+:@,;-]*)?"
)


def versions(row: Row) -> str:
    """``v2.8.8 → v2.9.4``, or either; empty for a repository."""
    if row.target and row.target != row.current:
        return f"{row.current or 'unknown'} → {row.target}"
    return row.current or ("unknown" if row.clusters else "")


def age(fleet: Fleet, row: Row) -> str:
    """``12 days open``; empty if it is unknown."""
    days = fleet.age(row.since)
    if days is None or row.since is None:
        return ""
    return f"{counted(days, 'day') if days else 'less than 1 day'} ({row.since.what})"


def size(fleet: Fleet) -> str:
    """``30 repositories, 120 clusters``."""
    repositories = len(fleet.repositories)
    shown = "1 repository" if repositories == 1 else f"{repositories} repositories"
    return f"{shown}, {counted(len(fleet.clusters), 'cluster')}"


def nothing_to_do(fleet: Fleet) -> str:
    """Instead of a table without rows."""
    return "Every cluster is up to date." if fleet.clusters else "There is no cluster."


def numbers(fleet: Fleet) -> Iterator[tuple[State, int]]:
    """The states that there are, and how many clusters and repositories have them."""
    return ((state, count) for state in State if (count := fleet.counted(state)))


def safe_link(url: str) -> str:
    """``url`` if it may become a link: if it is https and plain; else empty."""
    return url if len(url) <= 2000 and _HTTPS.fullmatch(url) else ""  # noqa: PLR2004 as browsers have it
