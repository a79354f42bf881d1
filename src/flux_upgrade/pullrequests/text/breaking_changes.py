"""What an upgrade would break: as things to do before it is merged, the most severe first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.findings.finding import Finding, KnownChange, Severity, by_change, change_task
from flux_upgrade.findings.phrases import MARKDOWN, sentences
from flux_upgrade.model import markers
from flux_upgrade.model.markdown import bullets, code, defused, plain
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.text.view import View
from flux_upgrade.route.impact_steps import fixes
from flux_upgrade.route.step import Stage

_FEW = 3


def dangers(view: View) -> list[tuple[Severity, str]]:
    """Markdown, one thing each, the most severe first."""
    assessed = [(known.impact, known.upgrade.target) for known in view.analyzed]
    steps = fixes(assessed, MARKDOWN, Stage.BEFORE_READY, is_patch=not view.crosses_minor)
    findings = [step.finding for step in steps if step.finding is not None]
    return sorted(_tasks(view, findings), key=lambda each: each[0])


def unaccepted(view: View) -> int:
    """How many installations patches would break without anybody having accepted that."""
    return sum(not each.upgrade.is_accepted for each in view.analyzed)


def acceptance(view: View) -> Iterator[str]:
    """How the draft gets ready although patches break something: a box for each installation."""
    boxes = [
        markers.checkbox(
            f"{markers.ACCEPT}-{markers.break_entry(plan.path, upgrade.target, map(str, impact.patch_breaks))}",
            f"accept this in {view.places([plan])}: {'; '.join(map(plain, map(str, impact.patch_breaks)))}",
            is_ticked=upgrade.is_accepted,
        )
        for plan, upgrade, impact, _ in view.analyzed
        if impact.patch_breaks and not any(each.fails for each in impact.patch_breaks)
    ]
    if boxes and view.has_boxes:
        yield (
            "**This stays a draft until nothing breaks.** Fix the patches in the base branch. Or push a fix to this "
            "branch and mark it ready: flux-upgrade does not change a branch with your commits. Or accept the result, "
            f"for these lines and this release:\n\n{chr(10).join(boxes)}"
        )


def _tasks(view: View, findings: Sequence[Finding]) -> Iterator[tuple[Severity, str]]:
    own = {file.path for file in view.moved}
    found: dict[tuple[Severity, str], list[Finding]] = {}
    for each in findings:
        # What waits for a migration that is made here does not wait.
        is_done = HoldReason.MIGRATION_PENDING in each.holds and each.path in own
        if each.task and each.change is None and not is_done:
            found.setdefault((each.severity, each.task), []).append(each)
    for (severity, task), group in found.items():
        heading = task.replace("{target}", view.proposal.target)
        if group[0].path:
            yield severity, f"{heading}:\n{bullets(view.limited(_items(group)))}"
        else:
            lines = dict.fromkeys(each.worded(MARKDOWN) for each in group)
            yield from ((severity, f"{heading}: {line}") for line in lines)
    for change, places in by_change(findings):
        yield places[0].severity, _change(view, change, places)


def _items(findings: Iterable[Finding]) -> list[str]:
    found = {each.order or (each.path, each.line): each for each in findings}
    return [found[at].item or found[at].worded(MARKDOWN) for at in sorted(found)]


def _change(view: View, known: KnownChange, found: Sequence[Finding]) -> str:
    """What changes, where it is met, and the line that keeps the old behavior."""
    keeps = {each.remedy for each in found}
    source = f"([Flux {plain(known.since)}]({defused(known.source)}))"
    change = f"{change_task(known, found)}: {sentences(MARKDOWN, known.what)} {source}"
    hint = sentences(MARKDOWN, known.hint)
    places = [each.worded(MARKDOWN) for each in found]
    if len(keeps) > 1:
        lines = [
            f"{place}: {code(each.remedy) if each.remedy else 'look at it'}"
            for place, each in zip(places, found, strict=True)
        ]
        return f"{_said(change, hint, 'To keep the old behavior')}:\n{bullets(view.limited(lines))}"
    keep = found[0].remedy
    where = f"To keep the old behavior: {code(keep)} in" if keep else "Met in"
    if len(places) <= _FEW:
        return _said(change, f"{where} {', '.join(places)}.", hint)
    return f"{_said(change, hint, where)}:\n{bullets(view.limited(places))}"


def _said(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
