"""The page as one HTML file: no script, no request, light and dark. All text of reports is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from flux_upgrade.fleet import words
from flux_upgrade.fleet.fleet import Fleet, ReleaseCount
from flux_upgrade.fleet.rows import Row, State
from flux_upgrade.fleet.style import STYLE
from flux_upgrade.model.markdown import counted, visible

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Should anything ever get past the escaping, the browser runs and loads nothing."""
_WIDTH, _LINE, _BAR = 460, 30, 18  # Pixels of the chart at its own size
_LABEL, _COUNT = 96, 130  # What names take at the left, and numbers at the right


def html_page(fleet: Fleet) -> str:
    shown = [row for row in fleet.rows if row.state is not State.UP_TO_DATE]
    current = [row for row in fleet.rows if row.state is State.UP_TO_DATE]
    return "\n".join(
        [
            *_head(),
            f"<header><h1>{words.TITLE}</h1><p>{words.size(fleet)}</p><p>{fleet.now:%Y-%m-%d %H:%M} UTC</p></header>",
            f'<div class="top"><dl class="tiles">{"".join(_tiles(fleet))}</dl>',
            f'<section class="card"><h2>Flux releases</h2>{_chart(fleet)}</section></div>',
            *(_table(fleet, shown) if shown else [f'<p class="card">{words.nothing_to_do(fleet)}</p>']),
            *_current(fleet, current),
            "</body>\n</html>\n",
        ]
    )


def _head() -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="referrer" content="no-referrer">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{words.TITLE}</title>\n<style>{STYLE}</style>\n</head>\n<body>"


def _tiles(fleet: Fleet) -> Iterator[str]:
    for state, count in words.numbers(fleet):
        yield f'<div class="{_style(state)}"><dt>{state.title}</dt><dd>{count}</dd></div>'


def _chart(fleet: Fleet) -> str:
    """A bar for each release that clusters run, as SVG; readable for who does not see it, too."""
    found = fleet.charted
    if not found:
        return '<p class="muted">No cluster.</p>'
    said = "; ".join(f"{each.name}: {counted(each.clusters, 'cluster')}" for each in found)
    height = _LINE * len(found)
    head = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(said)}">'
    return f"{head}{''.join(_bars(found))}</svg>"


def _bars(found: tuple[ReleaseCount, ...]) -> Iterator[str]:
    most, room = max(each.clusters for each in found), _WIDTH - _LABEL - _COUNT
    for at, each in enumerate(found):
        top, width = at * _LINE, max(3, round(room * each.clusters / most))
        base = top + 19
        yield f'<text x="0" y="{base}">{escape(each.name)}</text>'
        yield f'<rect class="{each.lag.slug}" x="{_LABEL}" y="{top + 5}" width="{width}" height="{_BAR}" rx="3"/>'
        yield f'<text x="{_LABEL + width + 8}" y="{base}">{each.clusters}</text>'
        yield f'<text class="lag" x="{_LABEL + width + 36}" y="{base}">{each.lag.value}</text>'


def _table(fleet: Fleet, rows: list[Row]) -> Iterator[str]:
    yield '<section class="card"><table>'
    yield f"<thead><tr>{''.join(f'<th>{name}</th>' for name in words.COLUMNS)}</tr></thead>\n<tbody>"
    yield from (_row(fleet, row) for row in rows)
    yield "</tbody></table></section>"


def _row(fleet: Fleet, row: Row) -> str:
    needs = " needs" if row.state.needs_you else ""
    cells = (
        ("state", f'<span class="badge">{row.state.title}</span>'),
        ("repository", _repository(row.repository)),
        ("clusters", _clusters(row)),
        ("flux", _text(words.versions(row))),
        ("why", f"{_text(row.why)} {_link(row)}".strip()),
        ("since", _since(fleet, row)),
    )
    inside = "".join(f'<td class="{name}">{content}</td>' for name, content in cells)
    return f'<tr class="{_style(row.state)}{needs}">{inside}</tr>'


def _style(state: State) -> str:
    """The class of a state in the style sheet: what is available has the color of what waits."""
    return (State.WAITS if state is State.AVAILABLE else state).slug


def _current(fleet: Fleet, rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    count = counted(fleet.counted(State.UP_TO_DATE), "cluster")
    yield f'<section class="card"><h2>{State.UP_TO_DATE.title.capitalize()}: {count}</h2><ul class="current">'
    for row in rows:
        flux = f' <span class="muted">{_text(words.versions(row))}</span>'
        yield f"<li>{_repository(row.repository)}<br>{_clusters(row)}{flux}</li>"
    yield "</ul></section>"


def _repository(name: str) -> str:
    """In two parts, so that a line ends between them."""
    owner, slash, rest = name.partition("/")
    return f"<b>{_text(owner + slash)}</b><wbr><b>{_text(rest)}</b>"


def _clusters(row: Row) -> str:
    """With their common directory written once."""
    folder = row.clusters[0].rpartition("/")[0] + "/" if row.clusters else ""
    if len(row.clusters) == 1 or not all(name.startswith(folder) and len(folder) > 1 for name in row.clusters):
        folder = ""
    names = "".join(f"<code>{_text(name.removeprefix(folder))}</code> " for name in row.clusters)
    return f'<span class="muted">{_text(folder)}</span> {names}' if folder else names


def _since(fleet: Fleet, row: Row) -> str:
    days = fleet.age(row.since)
    if days is None or row.since is None:
        return ""
    shown = counted(days, "day") if days else "&lt;1 day"
    return f'<b title="{row.since.at:%Y-%m-%d}">{shown}</b> <span>{row.since.what}</span>'


def _link(row: Row) -> str:
    url = words.safe_link(row.url)
    return f'<a href="{escape(url)}" rel="noreferrer">{_text(row.link)}</a>' if url else ""


def _text(text: str) -> str:
    return escape(visible(text))
