"""What upgrades break, on the very lines: annotations for the page of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.impact.impact import Impact
from flux_upgrade.model.text import printable
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade
from flux_upgrade.report.finding_kinds import FINDING_KINDS
from flux_upgrade.report.findings import Finding
from flux_upgrade.report.impact_phrases import TEXT, sentences
from flux_upgrade.report.wording import Annotation, Level

_MOST = 25
"""Of one run: GitHub shows ten of a level, and what is over stands above the summary."""


def on_lines(plans: Iterable[UpdateGroupPlan]) -> list[Annotation]:
    """One for each line, whatever breaks first; at most ``_MOST``, the last of which says how many more."""
    found: dict[tuple[str, int, str], Annotation] = {}
    decided = [each for group in plans for plan in group.plans for each in _decided(plan)]
    for rank in sorted({kind.rank for kind in FINDING_KINDS}):
        for target, impact in decided:
            for kind in (each for each in FINDING_KINDS if each.rank == rank):
                for each in kind.find(impact, target, TEXT):
                    if each.title:
                        annotation = _annotation(each)
                        found.setdefault((annotation.file, annotation.line, annotation.title), annotation)
    annotations = list(found.values())
    if len(annotations) <= _MOST:
        return annotations
    more = f"{len(annotations) - _MOST + 1} more lines are concerned: see the report"
    return [*annotations[: _MOST - 1], Annotation(Level.WARNING, more)]


def _decided(plan: Plan) -> Iterator[tuple[Version, Impact]]:
    for each in plan.decisions:
        impact = each.impact if isinstance(each, Upgrade) else plan.impacts.get(each.bump_kind)
        if impact is not None:
            yield each.target, impact


def _annotation(found: Finding) -> Annotation:
    message = found.message or sentences(TEXT, found.what, found.remedy)
    return Annotation(Level.WARNING, printable(message), printable(found.title), found.path, found.line)
