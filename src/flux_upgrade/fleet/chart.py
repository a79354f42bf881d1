"""Which releases of Flux the fleet runs: a bar for each, as SVG within HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from flux_upgrade.fleet.fleet import Fleet, ReleaseCount
from flux_upgrade.model.markdown import counted

_WIDTH, _LINE, _BAR = 460, 30, 18  # Pixels of the picture at its own size
_LABEL, _COUNT = 96, 130  # What names take at the left, and numbers at the right


def chart(fleet: Fleet) -> str:
    """Readable for who does not see it, too."""
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
