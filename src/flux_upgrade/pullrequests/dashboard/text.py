"""What the dashboard shows → its Markdown, with a line for what does not fit. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Repository
from flux_upgrade.model.markdown import code, plain, prose, table
from flux_upgrade.model.text import first_few
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pullrequests.dashboard.entries import ClusterEntry, Entry, RingEntry, Section, Shown
from flux_upgrade.pullrequests.text.boxes import TAKING_EFFECT

TITLE = "Flux dashboard"
_FEW = 3
_DAY = 24
_INTRO = (
    "flux-upgrade keeps this issue current, and clears a box once it has done what the box says. "
    "It reopens the issue if you close it. To switch it off, set `dashboard: false` in the config file."
)


class _Block(NamedTuple):
    head: str  # Above the lines, with the blank line between
    lines: Sequence[str]


def dashboard_text(shown: Shown, repository: Repository, ticked: Collection[str], room: int) -> str:
    """``ticked``: the boxes that stay so. ``room``: characters; no line is cut in two."""
    first = [f"{_INTRO} {TAKING_EFFECT}", f"**{plain(shown.counts)}.**" if shown.counts else "No cluster is known."]
    first += [f"> **Drift**: {plain(each)}" for each in shown.drift]
    return _fitted("\n\n".join(first), list(_blocks(shown, repository, ticked)), room)


def _blocks(shown: Shown, repository: Repository, ticked: Collection[str]) -> Iterator[_Block]:
    for section in Section:
        title, intro = section.value
        lines = [_line(each, repository, ticked) for each in shown.entries if each.section is section]
        if lines:
            yield _Block("\n\n".join(filter(None, (f"### {title}", intro))) + "\n\n", lines)
    if shown.rings:
        yield _table("Rings", ("Group", "After", "Health", "Waits for"), map(_ring, shown.rings))
    if shown.clusters:
        has_groups = any(each.group for each in shown.clusters)
        head = ("Cluster", "Flux", "Group") if has_groups else ("Cluster", "Flux")
        yield _table("Clusters", head, (_cluster(each)[: len(head)] for each in shown.clusters))


def _table(title: str, head: Sequence[str], rows: Iterator[Sequence[str]]) -> _Block:
    first, second, *lines = table(head, rows).split("\n")
    return _Block(f"### {title}\n\n{first}\n{second}\n", lines)


def _fitted(first: str, blocks: Sequence[_Block], room: int) -> str:
    """Each block gets its head, and the room for a line about what is left out, before any gets more."""
    parts = [first]
    room -= len(first) + sum(len(f"\n\n{each.head}{_more(len(each.lines))}") for each in blocks)
    for block in blocks:
        count = 0
        for line in block.lines:
            if len(line) + 1 > room:
                break
            room -= len(line) + 1
            count += 1
        left = len(block.lines) - count
        parts.append(block.head + "\n".join(block.lines[:count]) + (_more(left) if left else ""))
    return "\n\n".join(parts)


def _more(count: int) -> str:
    return f"\n\n… and {count} more, for which GitHub has no room here: see the last run."


def _line(entry: Entry, repository: Repository, ticked: Collection[str]) -> str:
    text = ": ".join(filter(None, (_what(entry, repository), _why(entry, repository))))
    return markers.checkbox(entry.box, text, is_ticked=entry.box in ticked) if entry.box else f"- {text}"


def _what(entry: Entry, repository: Repository) -> str:
    link = _link(entry, repository)
    where = code(entry.group)
    if entry.names:
        where += f" ({first_few([code(each) for each in entry.names], _FEW)})"
    about = ", ".join(filter(None, (link, where, plain(entry.bump_kind), plain(entry.versions), plain(entry.note))))
    return f"**Approve {plain(entry.approval)}**: {about}" if entry.approval else about


def _link(entry: Entry, repository: Repository) -> str:
    there = entry.pull or entry.issue
    return _linked(there.url, there.number, repository) if there is not None else ""


def _linked(url: str, number: object, repository: Repository) -> str:
    """Relative to the issue's page: GitHub notes no reference in the pull request then."""
    return f"[#{number}]({url.replace(f'{repository.url}/', '../', 1)})"


def _why(entry: Entry, repository: Repository) -> str:
    since = f" since {plain(entry.since)}" if entry.since else ""
    reason = f"{code(entry.reason)}{since}" if entry.reason else ""
    held = ": ".join(filter(None, (reason, _fact(entry.why, repository))))
    return ". ".join(filter(None, (held, f"To unblock: {prose(entry.hint)}" if entry.hint else "")))


def _fact(why: str, repository: Repository) -> str:
    """With a link in place of the address of a pull request."""
    found = re.search(rf"{re.escape(repository.url)}/(?:pull|issues)/([0-9]+)", why)
    if found is None:
        return prose(why) if why else ""
    before, after = why[: found.start()], why[found.end() :]
    link = _linked(found[0], found[1], repository)
    return " ".join(filter(None, (prose(before).strip(), link, prose(after).strip() if after else "")))


def _ring(ring: RingEntry) -> Sequence[str]:
    soak = f"{ring.soak_hours // _DAY}d" if ring.soak_hours % _DAY == 0 else f"{ring.soak_hours}h"
    after = ", ".join(map(code, ring.after))
    after += f", soak {soak}" if ring.soak_hours and after else ""
    health = ", ".join(map(code, ring.contexts)) or "soak"
    return code(ring.group), after, health, "<br>".join(map(prose, ring.waits)) or "nothing"


def _cluster(cluster: ClusterEntry) -> Sequence[str]:
    return code(cluster.name), plain(cluster.version or "unknown"), code(cluster.group) if cluster.group else ""
