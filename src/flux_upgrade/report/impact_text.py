"""What an upgrade means, in lines of plain text; the caller indents them as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import Finding, KnownChange, by_change, change_task
from flux_upgrade.findings.kinds import FINDING_KINDS, in_the_way
from flux_upgrade.findings.phrases import TEXT, hops_line, move_line, sentences, uses_of
from flux_upgrade.model.text import capped, enumeration
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.listed_changes import in_cluster, said_apart

_MOST = 12  # Of the lines of one list; the JSON has all of it


def upgrade_lines(upgrade: Upgrade, *, is_done: bool = False) -> Iterator[str]:
    """What moves along, and what there is to do or to look at; unless it is done, also what changes."""
    # Of a file's own decision these are all that it does.
    moves = [move for file in upgrade.moved for move in file.moves]
    if upgrade.moved and not upgrade.waiting:
        yield f"{uses_of(moves)} migrated in the same commit:"
    yield from _limited([move_line(each, TEXT) for each in moves])
    yield from _limited(list(dict.fromkeys(field for each in moves for field in each.fields)))
    impact = upgrade.impact
    if impact is None:
        return
    if impact.upgrade_path:
        yield hops_line(impact.upgrade_path)
    yield from _findings(impact, upgrade.target)
    if not is_done:
        yield from _changes(impact)


def _findings(impact: Assessment, target: Version, said: HoldReason | None = None) -> Iterator[str]:
    """All but those that hold the upgrade for the reason ``said``, with which they are shown."""
    for kind in FINDING_KINDS:
        found = [each for each in kind.find(impact, target, TEXT) if said not in each.holds]
        headings: dict[str, list[str]] = {}
        for each in found:
            if each.heading is not None:
                line = each.worded(TEXT)
                headings.setdefault(each.heading, []).extend([line] if line else [])
        for heading, lines in headings.items():
            yield from (heading, *_limited(lines)) if heading else lines
        for change, places in by_change(found):
            yield from changed_lines(change, places)


def changed_lines(change: KnownChange, places: Sequence[Finding]) -> Iterator[str]:
    """A known change of behaviour, and whom it concerns."""
    task = change_task(change, places)
    yield f"{task[:1].lower()}{task[1:]}: {sentences(TEXT, change.what, change.hint)} ({change.source})"
    kept = (f": {each.remedy} keeps the old behavior" if each.remedy else "" for each in places)
    yield from _limited([f"{each.worded(TEXT)}{keep}" for each, keep in zip(places, kept, strict=True)])


def hold_lines(plan: Plan, hold: Hold) -> Iterator[str]:
    """What is in the way, line by line, as far as the hold itself does not say so; and what else it would break."""
    impact = plan.impact_of(hold)
    if impact is None:
        return
    lines = in_the_way(hold, impact, TEXT)
    if hold.reason is not HoldReason.OVERLAY_BREAKS or len(lines) > 1:
        yield from _limited(lines)
    yield from _findings(impact, hold.target, hold.reason)


def _changes(impact: Assessment) -> Iterator[str]:
    if isinstance(impact.changes, Unknown):
        yield "changes in the cluster and Kustomize patches were not checked"
        return
    from flux_upgrade.impact.diff.sentences import lines  # late: nearly every run changes nothing

    changes = said_apart(known_or(in_cluster(impact), impact.changes), impact.changes)
    if lines(changes._replace(noise=())):
        yield "changes in the cluster:"
        yield from _limited(lines(changes))
    else:
        names = enumeration(["images", *(name for name, _ in changes.noise)])
        yield f"changes in the cluster: only {names}"


def _limited(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in capped(lines, _MOST)]
