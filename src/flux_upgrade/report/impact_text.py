"""What an upgrade means, in lines of plain text; the caller indents them as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.impact.impact import Impact
from flux_upgrade.impact.overlay.result import OverlayVerdict
from flux_upgrade.model.text import capped, enumeration
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.cluster_phrases import (
    idle_line,
    in_cluster,
    is_reportable,
    patches_line,
    remarkable,
    said_apart,
    unserved,
    unserved_line,
)
from flux_upgrade.report.impact_phrases import (
    TEXT,
    by_rule,
    finding_line,
    fit_line,
    hit_place,
    hops_line,
    in_the_way,
    left_line,
    managed_line,
    move_line,
    sentences,
    stored_lines,
    use_line,
    uses_of,
)

_MOST = 12
"""Of the lines of one list; the JSON has all of it."""
_AT = "  "


def _moved(upgrade: Upgrade) -> Iterator[str]:
    """What is moved to other versions of its API: all that a file's own decision does, or what goes along."""
    moves = [move for file in upgrade.moved for move in file.moves]
    if upgrade.moved and not upgrade.waiting:
        yield f"{uses_of(moves)} moved along:"
    yield from _limited([move_line(each, TEXT) for each in moves])
    yield from _limited(list(dict.fromkeys(field for each in moves for field in each.fields)))


def upgrade_lines(upgrade: Upgrade) -> Iterator[str]:
    """Of an upgrade that goes on, or waits for approval: all that is known."""
    yield from done_lines(upgrade)
    if upgrade.impact is not None:
        yield from _changes(upgrade.impact)


def done_lines(upgrade: Upgrade) -> Iterator[str]:
    """Of one that was made: what moved along, and what there is to do or to look at."""
    yield from _moved(upgrade)
    impact = upgrade.impact
    if impact is None:
        return
    if impact.upgrade_path:
        yield hops_line(impact.upgrade_path)
    yield from _in_the_cluster(impact, upgrade.target)
    yield from _in_the_repository(impact)
    yield from _breaks(impact)
    yield from _overlay(impact)
    kubernetes = fit_line(impact, upgrade.target, TEXT)
    if kubernetes:
        yield kubernetes


def hold_lines(plan: Plan, hold: Hold) -> Iterator[str]:
    """What is in the way, line by line, as far as the hold itself does not say so."""
    impact = plan.impacts.get(hold.bump_kind)
    if impact is None:
        return
    lines = in_the_way(hold.reason, impact, TEXT)
    if hold.reason is not HoldReason.OVERLAY_BREAKS or len(lines) > 1:
        yield from _limited(lines)


def _in_the_cluster(impact: Impact, target: str) -> Iterator[str]:
    stored, managed = impact.stored, impact.managed
    is_said = bool(stored.resolved) or (managed is not None and managed.is_done)
    why = [managed_line(managed, target, TEXT)] if managed is not None and not managed.is_done else []
    if managed is not None and managed.is_after:
        yield f"right after merging: run `flux migrate` with the Flux CLI {managed.cli} in the cluster"
        yield from _limited(why)
        why = []
    if stored.refused or why:
        cli = stored.cli or (managed.cli if managed is not None else "")
        yield f"before merging: run `flux migrate` with the Flux CLI {cli} in the cluster"
        yield from _limited([*stored_lines(stored.refused, target, TEXT), *why])
    if stored.after_migrate and not impact.upgrade_path:
        yield "before merging: stop at a release in between, and run `flux migrate` there as well"
        yield from _limited(stored_lines(stored.after_migrate, target, TEXT))
    if is_said:
        yield "`flux migrate` ran in the cluster, as people said"
    elif stored.unknown and not why and (impact.changes is None or unserved(impact.changes)):
        yield "before merging: make sure that `flux migrate` has run in the cluster"
        lacking = (
            f"{target} lacks API versions that older releases stored; which of them ran there is not known"
        )
        yield f"{_AT}{lacking}: {stored.unknown}"


def _in_the_repository(impact: Impact) -> Iterator[str]:
    gone = unserved_line(impact.changes, TEXT) if impact.changes is not None else ""
    if gone:
        yield f"no longer served: {gone}"
    if impact.blocking:
        yield "to move by hand:"
        yield from _limited([left_line(each, TEXT) for each in impact.blocking])
    if impact.orphaned:
        yield "their controller would be gone:"
        yield from _limited([use_line(each, TEXT) for each in impact.orphaned])


def _breaks(impact: Impact) -> Iterator[str]:
    for hits in by_rule(impact.breaks).values():
        yield f"breaks: {sentences(TEXT, hits[0].change, hits[0].hint)} ({hits[0].source})"
        yield from _limited(
            [
                hit_place(hit, TEXT) + (f": {hit.keep} keeps the old behaviour" if hit.keep else "")
                for hit in hits
            ]
        )


def _overlay(impact: Impact) -> Iterator[str]:
    overlay = impact.overlay
    if overlay is None or not is_reportable(overlay):
        return
    yield patches_line(overlay, TEXT)
    news = (OverlayVerdict.BREAKS, OverlayVerdict.FROZEN)
    findings = [each for each in overlay.findings if each.verdict in news or each in remarkable(overlay)]
    idle = idle_line(overlay, TEXT)
    yield from _limited([*(finding_line(each, TEXT) for each in findings), *([idle] if idle else [])])


def _changes(impact: Impact) -> Iterator[str]:
    if impact.changes is None:
        yield "what changes in the cluster, and patches over it, were not looked at"
        return
    from flux_upgrade.impact.diff.sentences import lines  # late: nearly every run changes nothing

    changes = said_apart(in_cluster(impact) or impact.changes, impact.changes)
    if lines(changes._replace(noise=())):
        yield "what changes in the cluster:"
        yield from _limited(lines(changes))
    else:
        names = enumeration(["images", *(name for name, _ in changes.noise)])
        yield f"what changes in the cluster: {names} alone"


def _limited(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"{_AT}{line}" for line in capped(lines, _MOST))
