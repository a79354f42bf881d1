"""What upgrades break, on the very lines: annotations for the page of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from flux_upgrade.impact.impact import Impact
from flux_upgrade.impact.migrate.result import Left, Move
from flux_upgrade.impact.overlay.result import Verdict
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.planner import UpdateGroupPlan
from flux_upgrade.report.impact_phrases import TEXT, sentences, who
from flux_upgrade.report.wording import printable


class Level(StrEnum):
    """Of an annotation."""

    ERROR = "error"
    WARNING = "warning"


class Annotation(NamedTuple):
    """A message that GitHub shows on the run's page."""

    level: Level
    message: str
    title: str = ""
    file: str = ""
    """Relative to the repository's root."""
    line: int = 0
    """Counted from 1; 0: the file as a whole."""

    @property
    def note(self) -> str:
        """For the summary, which has no lines to stand on."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.title}: {self.message}" if place else self.message


_MOST = 25
"""Of one run: GitHub shows ten of a level, and what is over stands above the summary."""


def on_lines(plans: Iterable[UpdateGroupPlan]) -> list[Annotation]:
    """One for each line, whatever breaks first; at most ``_MOST``, the last of which says how many more."""
    found: dict[tuple[str, int, str], Annotation] = {}
    decided = [each for team in plans for plan in team.plans for each in _decided(plan)]
    for said in (_by_hand, _patches, _breaks, _moves):
        for target, impact in decided:
            for each in said(target, impact):
                found.setdefault((each.file, each.line, each.title), each)
    told = list(found.values())
    if len(told) <= _MOST:
        return told
    more = f"{len(told) - _MOST + 1} more lines are concerned: see the report"
    return [*told[: _MOST - 1], Annotation(Level.WARNING, more)]


def _decided(plan: Plan) -> Iterator[tuple[str, Impact]]:
    for each in plan.decisions:
        impact = each.impact if isinstance(each, Upgrade) else plan.impacts.get(each.subject)
        if impact is not None:
            yield each.target, impact


def _by_hand(target: str, impact: Impact) -> Iterator[Annotation]:
    for left in impact.blocking:
        told = sentences(TEXT, f"{who(left.use)}: {left.detail or left.reason}", left.hint)
        yield _at(left, target, told)
    for use in impact.orphaned:
        title = f"{target} would run without the controller of {use.kind}"
        yield _warning(use.path, use.line, title, f"{who(use)} would be left alone.")


def _moves(target: str, impact: Impact) -> Iterator[Annotation]:
    for move in impact.moves:
        yield _at(move, target, f"{who(move.use)} is moved to {move.to}.")


def _at(each: Move | Left, target: str, told: str) -> Annotation:
    use = each.use
    return _warning(use.path, use.line, f"{target} does not serve {use.group}/{use.version}", told)


def _patches(target: str, impact: Impact) -> Iterator[Annotation]:
    findings = impact.overlay.findings if impact.overlay is not None else ()
    for each in findings:
        if each.holds or each.verdict is Verdict.FROZEN:
            kept_out = f"kept out: {', '.join(each.drops)}" if each.drops else ""
            told = sentences(TEXT, f"{each.what}: {each.detail}", each.hint, kept_out)
            title = f"{'Does not fit' if each.holds else 'Keeps out what is new in'} {target}"
            yield _warning(each.path, each.line, title, told)


def _breaks(_: str, impact: Impact) -> Iterator[Annotation]:
    for hit in impact.breaks:
        keep = f"to keep the old behaviour: {hit.keep}" if hit.keep else ""
        title = f"Flux {hit.since} changes this: {hit.rule}"
        told = f"{sentences(TEXT, hit.told, hit.hint, keep)} See {hit.source}"
        yield _warning(hit.path, hit.line, title, told)


def _warning(path: str, line: int, title: str, told: str) -> Annotation:
    return Annotation(Level.WARNING, printable(told), printable(title), path, line)
