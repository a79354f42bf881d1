"""A run's job summary, in Markdown: one row for each installation, then the one click that approves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.decision import Hold, HoldReason
from flux_upgrade.markdown import code, counted, plain, table
from flux_upgrade.plan import Plan, Upgrade
from flux_upgrade.planning import TeamPlan
from flux_upgrade.report.outcomes import step
from flux_upgrade.report.requests import all_plans
from flux_upgrade.report.wording import ALL_IGNORED, approval
from flux_upgrade.results import Action, Result, Round
from flux_upgrade.versions import precedence

MOST_ROWS = 500
"""Of installations; the report file has all of them."""


def summary(
    done: Round, *, calls: int, approve_command: str, workflow_url: str = "", notes: Sequence[str] = ()
) -> str:
    """The whole summary.

    ``approve_command`` up to the version, and the page with the button "Run workflow": empty
    where there is none. ``notes``: lines for which there is no room elsewhere, as plain text.
    """
    by_team = _results_of(done)
    rows = [row for team in done.plans for row in _rows(team, by_team.get(team.team.slug, ()))]
    head = ("Installation", "Runs", "What next", "Pull request")
    parts = ["## Flux", table(head, rows[:MOST_ROWS]) if rows else f"{ALL_IGNORED.capitalize()}."]
    if len(rows) > MOST_ROWS:
        parts.append(f"… and {len(rows) - MOST_ROWS} more installations: see the report.")
    parts += _approvals(done, approve_command, workflow_url)
    parts += [f"> {plain(note)}" for note in (*_warnings(done), *notes)]
    parts.append(f"{counted(calls, 'call')} to {plain(done.repository.name)}.")
    return "\n\n".join(parts) + "\n"


def _results_of(done: Round) -> Mapping[str, tuple[Result, ...]]:
    found: dict[str, tuple[Result, ...]] = {}
    for result in done.results:
        found[result.team.slug] = (*found.get(result.team.slug, ()), result)
    return found


def _rows(team: TeamPlan, results: Sequence[Result]) -> Iterator[tuple[str, str, str, str]]:
    links = "<br>".join(_link(result) for result in results if result.url)
    failed = [result for result in results if result.action in (Action.HELD, Action.FAILED)]
    trouble = [_trouble(result) for result in failed]
    for plan in team.plans:
        next_ = "<br>".join([*(_decision(plan, each) for each in plan.decisions), *trouble])
        yield code(plan.path), plan.installation.proof.version or "unknown", next_, links


def _decision(plan: Plan, decision: Upgrade | Hold) -> str:
    if isinstance(decision, Upgrade):
        return f"{step(plan, decision)}{'' if decision.approved else ', waits for approval'}"
    if decision.reason is HoldReason.UP_TO_DATE:
        return "up to date"
    dates = f" since {decision.since[:10]}" if decision.since else ""
    dates += f" until {decision.until[:10]}" if decision.until else ""
    target = f"{decision.target} " if decision.target else ""
    remedy = f"<br>→ {plain(decision.hint)}" if decision.hint else ""
    return f"held: {target}**{decision.reason}**{dates}: {plain(decision.detail)}{remedy}"


def _trouble(result: Result) -> str:
    if result.hold is not None:
        return f"held: **{result.hold.reason}**: {plain(result.hold.detail)}"
    return "" if result.error is None else f"failed: **{result.error.slug}**: {plain(result.error.message)}"


def _link(result: Result) -> str:
    what = "issue " if result.is_issue else ""
    number = (
        f"{what}[#{result.number}]({result.url})" if result.number else f"[{result.subject}]({result.url})"
    )
    draft = ", draft" if result.proposal is not None and result.proposal.is_pending and not what else ""
    told = result.action if result.action is not Action.UNCHANGED else "open"
    return f"{number} {told}{draft}"


def _approvals(done: Round, command: str, workflow_url: str) -> Iterator[str]:
    """What waits, and the one click or command that lets it go on."""
    decisions = (each for plan in all_plans(done.plans) for each in plan.decisions)
    waiting = {(each.subject, each.target) for each in decisions if _waits(each)}
    if not waiting:
        return
    answers = dict.fromkeys(approval(*each) for each in sorted(waiting, key=lambda each: precedence(each[1])))
    page = f", or [run the workflow]({workflow_url}) with `approve`" if workflow_url else ""
    yield f"**To approve**, mark the draft as ready for review{page}" + (", or run:" if command else ".")
    if command:
        lines = "\n".join(f"{command}{answer}" for answer in answers)
        yield f"```sh\n{lines}\n```"


def _waits(decision: Upgrade | Hold) -> bool:
    if isinstance(decision, Upgrade):
        return not decision.approved
    return decision.reason is HoldReason.NEEDS_APPROVAL and bool(decision.target)


def _warnings(done: Round) -> Iterator[str]:
    yield from dict.fromkeys(
        (*done.repository.warnings, *(warning for result in done.results for warning in result.warnings))
    )
