"""What upgrades break, on the very lines: annotations for the page of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.impact.impact import Impact
from flux_upgrade.impact.migrate.result import Left, Move
from flux_upgrade.impact.overlay.result import OverlayVerdict
from flux_upgrade.model.text import printable
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade
from flux_upgrade.report.impact_phrases import TEXT, sentences, who
from flux_upgrade.report.wording import Annotation, Level

_MOST = 25
"""Of one run: GitHub shows ten of a level, and what is over stands above the summary."""


def on_lines(plans: Iterable[UpdateGroupPlan]) -> list[Annotation]:
    """One for each line, whatever breaks first; at most ``_MOST``, the last of which says how many more."""
    found: dict[tuple[str, int, str], Annotation] = {}
    decided = [each for group in plans for plan in group.plans for each in _decided(plan)]
    for annotate in (_by_hand, _patches, _breaks, _moves):
        for target, impact in decided:
            for each in annotate(target, impact):
                found.setdefault((each.file, each.line, each.title), each)
    annotations = list(found.values())
    if len(annotations) <= _MOST:
        return annotations
    more = f"{len(annotations) - _MOST + 1} more lines are concerned: see the report"
    return [*annotations[: _MOST - 1], Annotation(Level.WARNING, more)]


def _decided(plan: Plan) -> Iterator[tuple[str, Impact]]:
    for each in plan.decisions:
        impact = each.impact if isinstance(each, Upgrade) else plan.impacts.get(each.bump_kind)
        if impact is not None:
            yield each.target, impact


def _by_hand(target: str, impact: Impact) -> Iterator[Annotation]:
    for left in impact.blocking:
        message = sentences(TEXT, f"{who(left.use)}: {left.detail or left.reason}", left.hint)
        yield _at(left, target, message)
    for use in impact.orphaned:
        title = f"{target} would run without the controller of {use.kind}"
        yield _warning(use.path, use.line, title, f"{who(use)} would be left alone.")


def _moves(target: str, impact: Impact) -> Iterator[Annotation]:
    for move in impact.moves:
        yield _at(move, target, f"{who(move.use)} is moved to {move.to}.")


def _at(each: Move | Left, target: str, message: str) -> Annotation:
    use = each.use
    return _warning(use.path, use.line, f"{target} does not serve {use.group}/{use.version}", message)


def _patches(target: str, impact: Impact) -> Iterator[Annotation]:
    findings = impact.overlay.findings if impact.overlay is not None else ()
    for each in findings:
        if each.holds or each.verdict is OverlayVerdict.FROZEN:
            kept_out = f"kept out: {', '.join(each.drops)}" if each.drops else ""
            message = sentences(TEXT, f"{each.what}: {each.detail}", each.hint, kept_out)
            title = f"{'Does not fit' if each.holds else 'Keeps out what is new in'} {target}"
            yield _warning(each.path, each.line, title, message)


def _breaks(_: str, impact: Impact) -> Iterator[Annotation]:
    for hit in impact.breaks:
        keep = f"to keep the old behaviour: {hit.keep}" if hit.keep else ""
        title = f"Flux {hit.since} changes this: {hit.rule}"
        message = f"{sentences(TEXT, hit.change, hit.hint, keep)} See {hit.source}"
        yield _warning(hit.path, hit.line, title, message)


def _warning(path: str, line: int, title: str, message: str) -> Annotation:
    return Annotation(Level.WARNING, printable(message), printable(title), path, line)
