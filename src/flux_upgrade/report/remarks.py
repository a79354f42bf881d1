"""Rows of the overview → what else to know: what keeps working, and is worth a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.findings.finding import Finding, Severity, by_change, change_task, first_places
from flux_upgrade.findings.phrases import TEXT, detour_sentence
from flux_upgrade.findings.yaml_values import short
from flux_upgrade.impact.impact import Harm
from flux_upgrade.model.markdown import counted
from flux_upgrade.planning.plan import Upgrade
from flux_upgrade.report.wording import edit_phrase
from flux_upgrade.route.row_steps import findings_of
from flux_upgrade.route.rows import Remark, Row


def remarks_of(rows: Sequence[Row]) -> Iterator[Remark]:
    """What behaves differently, what is to be reviewed, and what was kept: each once, with all places."""
    changed: list[Finding] = []
    reviews: dict[str, dict[str, None]] = {}
    for row in rows:
        for what, about in _of_change(row):
            reviews.setdefault(what, {}).update(dict.fromkeys(about))
        impact = row.plan.impact_of(row.decision)
        if impact is not None and impact.detour is not None:
            why = detour_sentence(impact.detour, impact.upgrade_path[0], TEXT)
            reviews.setdefault(why, {})[row.name] = None
        for found in findings_of(row):
            if found.change is not None:
                changed.append(found)
            elif found.severity is Severity.REVIEW and found.task:
                task = found.task.replace("{target}", row.target)
                reviews.setdefault(task, {})[found.worded(TEXT)] = None
    for change, places in by_change(changed):
        if change.harm is Harm.DIFFERS:
            yield Remark(f"{change_task(change, places)}: {change.what}", (first_places(places),))
    names = {row.name for row in rows}
    for task, lines in reviews.items():
        # A single cluster is not named again.
        yield Remark(task, tuple(line for line in lines if len(names) > 1 or line not in names))


def _of_change(row: Row) -> Iterator[tuple[str, Sequence[str]]]:
    """What the new manifest keeps, and what could not be checked: a sentence, and what it is about."""
    change = row.decision.change.manifest if isinstance(row.decision, Upgrade) else None
    if change is None:
        return
    if not change.verified:
        yield f"no-checksum: no checksum is published for the manifests of {row.target}.", (row.name,)
    if change.evidence:
        yield f"{row.target} is newer than this flux-upgrade, but {change.evidence}.", (row.name,)
    for edits, what in ((change.carried.kept, "kept"), (change.carried.dropped, "given up for the release's own")):
        lines = [edit_phrase(each, str, short) for each in edits if not each.is_absence]
        if lines:
            yield f"{row.name}: {counted(len(lines), 'manual edit')} {what}", lines
