"""A run's job summary, in Markdown: one row for each installation, then the one click that approves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.markdown import code, counted, plain, table
from flux_upgrade.model.text import first_few
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.feedback import APPROVED
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.plans import ALL_IGNORED, dates, drift, step
from flux_upgrade.report.pull_requests import all_plans, would_be

MOST_ROWS = 500  # Of installations; the report file has all of them
_FEW_PLACES = 3


def summary(done: Round, *, calls: int, written: bool, approve_command: str, workflow_url: str = "") -> str:
    """The whole summary.

    ``written`` false: the run only reported what it would do. ``approve_command`` up to the version,
    and the page with the button "Run workflow": empty where there is none.
    """
    results: dict[str, list[Result]] = {}
    for result in done.results:
        results.setdefault(result.update_group.slug, []).append(result)
    rows = [
        row
        for group_plan in done.plans
        for row in _rows(group_plan, results.get(group_plan.update_group.slug, ()), written=written)
    ]
    head = ("Installation", "Runs", "What next", "Pull request")
    parts = ["## Flux"]
    for name, releases in drift(cluster for each in done.plans for cluster in each.update_group.clusters):
        parts.append(f"> **Drift** in {code(name)}: {plain('; '.join(releases))}")
    parts += [table(head, rows[:MOST_ROWS]) if rows else f"{ALL_IGNORED.capitalize()}."]
    if len(rows) > MOST_ROWS:
        parts.append(f"… and {len(rows) - MOST_ROWS} more installations: see the report.")
    parts += _broken_today(done)
    parts += _approvals(done, approve_command, workflow_url)
    warnings = (*done.repository.warnings, *(text for result in done.results for text in result.warnings))
    notes = [*(each.text.replace("\n", " → ") for each in done.void), *dict.fromkeys(warnings)]
    parts += [f"> {plain(note)}" for note in notes]
    parts.append(f"{counted(calls, 'call')} to {plain(done.repository.name)}.")
    return "\n\n".join(parts) + "\n"


def _rows(
    group_plan: UpdateGroupPlan, results: Sequence[Result], *, written: bool
) -> Iterator[tuple[str, str, str, str]]:
    linked = [result for result in results if result.url]
    trouble = [_trouble(each) for each in results if each.action in (Action.HELD, Action.FAILED)]
    for plan in group_plan.plans:
        next_ = "<br>".join([*(decision_cell(plan, each) for each in plan.decisions), *trouble])
        line = f":{plan.line}" if plan.line else ""
        links = "<br>".join(_link(result, written=written) for result in linked if _is_in(plan, result))
        yield code(f"{plan.path}{line}"), plan.pin.version or "unknown", next_, links


def _broken_today(done: Round) -> Iterator[str]:
    """What Flux refuses already, of each cluster."""
    for plan in (plan for group in done.plans for plan in group.plans if plan.broken_today):
        places = first_few([code(f"{each.path}:{each.line}") for each in plan.broken_today], _FEW_PLACES)
        count = counted(len(plan.broken_today), "resource")
        yield f"> **Broken today** with {plan.pin.version}, in {code(plan.path)}: {count}: {places}"


def _is_in(plan: Plan, result: Result) -> bool:
    """Whether a pull request is about an installation, or about it as much as any: one that is closed."""
    if result.proposal is None:
        return True
    return any(
        plan.path in upgrade.waiting if upgrade.waiting else (each.path, each.line) == (plan.path, plan.line)
        for each, upgrade in result.proposal.upgrades
    )


def decision_cell(plan: Plan, decision: Upgrade | Hold) -> str:
    """What is to become of an installation, in one cell of a table."""
    if isinstance(decision, Upgrade):
        text = f"{step(plan, decision)}{'' if decision.approved else ', needs approval'}"
        return "".join([text, *(f"<br>→ {each}" for each in _first(decision))])
    if decision.reason is HoldReason.UP_TO_DATE:
        return "up to date"
    target = f"{decision.target} " if decision.target else ""
    why = f"{plain(decision.detail)}{_remedy(decision.hint)}"
    return f"held: {target}**{decision.reason}**{dates(decision)}: {why}"


def _first(upgrade: Upgrade) -> Iterator[str]:
    """What there is to do about it; the pull request says how."""
    impact = upgrade.impact
    if impact is None:
        return
    # Late, as impact/ is: nearly every run has none.
    from flux_upgrade.report.impact_phrases import hops_line, uses_of

    if impact.upgrade_path:
        yield plain(hops_line(impact.upgrade_path))
    managed = impact.managed
    if managed is not None and managed.is_after:
        yield f"run `flux migrate` with the Flux CLI {plain(managed.cli)} right after merging"
    if impact.stored.refused or impact.has_to_migrate:
        yield f"run `flux migrate` with the Flux CLI {plain(impact.cli)} first"
    if impact.moves:
        yield f"{uses_of(impact.moves)} to move"
    if impact.blocking:
        yield f"{counted(len(impact.blocking), 'place')} to change by hand"
    frozen = [each for each in impact.overlay.findings if each.drops] if impact.overlay is not None else []
    if impact.breaks or frozen:
        yield f"{counted(len(impact.breaks) + len(frozen), 'place')} to look at"


def _trouble(result: Result) -> str:
    if result.hold is not None:
        return f"held: **{result.hold.reason}**: {plain(result.hold.detail)}{_remedy(result.hold.hint)}"
    if result.error is None:
        return ""
    return f"failed: **{result.error.slug}**: {plain(result.error.message)}{_remedy(result.error.hint)}"


def _remedy(hint: str) -> str:
    return f"<br>→ {plain(hint)}" if hint else ""


def _link(result: Result, *, written: bool) -> str:
    what = "issue " if result.is_issue else ""
    number = f"{what}[#{result.number}]({result.url})" if result.number else f"[{result.bump_kind}]({result.url})"
    is_open = result.action is Action.UNCHANGED
    state = "open" if is_open else f"{would_be(result, written=written)}{result.action}"
    return f"{number} {state}{', draft' if _is_draft(result) else ''}"


def _is_draft(result: Result) -> bool:
    return result.is_draft and not result.is_issue  # it was to be one


def _approvals(done: Round, command: str, workflow_url: str) -> Iterator[str]:
    there = [result for result in done.results if result.url and result.action is not Action.CLOSED]
    ways = ["mark the draft as ready for review"] if any(map(_is_draft, there)) else []
    if any(result.is_issue for result in there):
        ways.append(f"add the label `{APPROVED}` to the issue")
    decisions = (each for plan in all_plans(done.plans) for each in plan.decisions)
    return approvals(decisions, ways, command, workflow_url)


def approvals(
    decisions: Iterable[Upgrade | Hold], ways: Sequence[str], command: str, workflow_url: str
) -> Iterator[str]:
    """What waits, and the one click or command that lets it go on. ``ways``: those besides the usual ones."""
    waiting = {(each.bump_kind, each.target) for each in decisions if _waits(each)}
    if not waiting:
        return
    versions = dict.fromkeys(kind.approval(target) for kind, target in sorted(waiting, key=lambda each: each[1]))
    others = [f"[run the workflow]({workflow_url}) with `approve`"] if workflow_url else []
    others += ["run:"] if command else []
    how = ", or ".join([*ways, *others]) or (f"run it with {' or '.join(f'`approve: {each}`' for each in versions)}")
    yield f"**To approve**, {how}" + ("" if command else ".")
    if command:
        lines = "\n".join(f"{command}{version}" for version in versions)
        yield f"```sh\n{lines}\n```"


def _waits(decision: Upgrade | Hold) -> bool:
    if isinstance(decision, Upgrade):
        return not decision.approved
    return decision.reason is HoldReason.NEEDS_APPROVAL and bool(decision.target)
