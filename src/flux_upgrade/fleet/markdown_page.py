"""The page as Markdown, for a job summary."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.fleet import words
from flux_upgrade.fleet.fleet import Fleet
from flux_upgrade.fleet.rows import Row, State
from flux_upgrade.model.markdown import code, fold, plain, table
from flux_upgrade.model.text import first_few

_MOST_CLUSTERS = 5
_BAR = 30  # Characters of the longest bar
_ROOM = 2_000  # Bytes for the line about rows that are left out


def markdown_page(fleet: Fleet, limit: int) -> str:
    """At most ``limit`` bytes: the last rows are left out, and counted."""
    head = "\n\n".join(filter(None, (f"## {words.TITLE}", _numbers(fleet), _chart(fleet))))
    shown = [row for row in fleet.rows if row.state is not State.UP_TO_DATE]
    current = [row for row in fleet.rows if row.state is State.UP_TO_DATE]
    left = limit - len(head.encode()) - _ROOM
    rows = ([*_cells(fleet, row), _link(row)] for row in shown)
    main, left = _fitting(table([*words.COLUMNS, "Link"], rows), left)
    rest, _ = _fitting(table(["Repository", "Clusters", "Flux"], map(_current_cells, current)), left)
    parts = [head, main if shown else words.nothing_to_do(fleet)]
    if current:
        parts.append(fold(f"{State.UP_TO_DATE.title.capitalize()}: {fleet.counted(State.UP_TO_DATE)}", rest))
    return "\n\n".join(parts) + "\n"


def _numbers(fleet: Fleet) -> str:
    found = ", ".join(f"**{count}** {state.title}" for state, count in words.numbers(fleet))
    return f"{words.size(fleet)} on {fleet.now:%Y-%m-%d}{': ' if found else ''}{found}."


def _chart(fleet: Fleet) -> str:
    """A bar for each release, by number of clusters."""
    found = fleet.charted
    most = max((each.clusters for each in found), default=1)
    bars = (f"{'█' * max(1, round(_BAR * each.clusters / most))} {each.clusters}" for each in found)
    rows = ((each.name, bar, each.lag.value) for each, bar in zip(found, bars, strict=True))
    return table(["Flux", "Clusters", "Age"], rows) if found else ""


def _cells(fleet: Fleet, row: Row) -> Iterator[str]:
    yield f"**{row.state.title}**" if row.state.needs_you else row.state.title
    yield plain(row.repository)
    yield first_few([code(name) for name in row.clusters], _MOST_CLUSTERS)
    yield words.versions(row)
    yield plain(row.why)
    yield words.age(fleet, row)


def _current_cells(row: Row) -> tuple[str, ...]:
    return plain(row.repository), first_few([code(name) for name in row.clusters], _MOST_CLUSTERS), words.versions(row)


def _link(row: Row) -> str:
    url = words.safe_link(row.url)
    return f"[{row.link}](<{url}>)" if url else ""


def _fitting(text: str, limit: int) -> tuple[str, int]:
    """The lines of a table that fit, and the bytes that are left."""
    lines, size = text.splitlines(), 0
    for at, line in enumerate(lines):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > limit:
            note = f"\n\n{len(lines) - at} more rows do not fit here: the HTML page has all of them."
            return "\n".join(lines[:at]) + note, 0
    return text, limit - size
