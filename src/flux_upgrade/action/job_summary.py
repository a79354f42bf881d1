"""A run's job summary, in Markdown: the verdict, a table of clusters, what to do, and the one click that approves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.markdown import code, counted, plain, prose, table
from flux_upgrade.model.text import capitalized, capped, enumeration, first_few
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import APPROVED
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.overview import Overview, overview
from flux_upgrade.report.plans import step
from flux_upgrade.report.pull_requests import MOST_NAMES, open_pulls, waiting, without_plans, would_be
from flux_upgrade.route.rows import Remark, Row, State
from flux_upgrade.route.step import Step

MOST_ROWS = 500  # Of the table; the report file has all of them
_MOST_PLACES = 5
_TROUBLE = (Action.HELD, Action.FAILED)


def summary(done: Round, *, written: bool, approve_command: str, workflow_url: str = "") -> str:
    """The whole summary.

    ``written`` false: the run only reported what it would do. ``approve_command`` up to the version,
    and the page with the button "Run workflow": empty where there is none.
    """
    found = overview(done.plans, pulls=open_pulls(done, written=written))
    without = without_plans(done)
    verdict = _verdict(found, done.results, written=written) if found.rows else f"{capitalized(without)}."
    parts = ["## Flux", verdict]
    if done.dashboard is not None and done.dashboard.url:
        parts.append(f"[Dashboard]({done.dashboard.url}): every cluster, and boxes to answer.")
    parts += [f"> **Drift**: {plain(each)}" for each in found.drift]
    rows = list(_rows(found, done.results, written=written))
    parts += [table(("Cluster", "Pull request", "Version", "Size", "State"), rows[:MOST_ROWS])] if rows else []
    if len(rows) > MOST_ROWS:
        parts.append(f"… and {len(rows) - MOST_ROWS} more: see the report.")
    parts += [f"> {plain(each)}" for each in found.left]
    parts += [f"> **Broken today**: {plain(each)}" for each in found.broken_today]
    if found.steps:
        parts += [
            "### Next steps",
            "\n".join(_step(at, each, found.concerned(each)) for at, each in enumerate(found.steps, 1)),
        ]
    parts += _approvals(found.rows, done, approve_command, workflow_url)
    if found.remarks:
        parts += ["### Good to know", "\n".join(map(_remark, found.remarks))]
    warnings = (*done.repository.warnings, *(text for result in done.results for text in result.warnings))
    waits = (f"{each.why} ({first_few(each.names, MOST_NAMES)}) → {each.hint}" for each in waiting(done.results))
    notes = [*waits, *(each.text.replace("\n", " → ") for each in done.void), *dict.fromkeys(warnings)]
    parts += [f"> {plain(note)}" for note in notes]
    return "\n\n".join(parts) + "\n"


def _verdict(found: Overview, results: Sequence[Result], *, written: bool) -> str:
    """``**2 clusters: 1 ready, 1 needs approval.** 1 pull request opened.`` and who needs you."""
    shown = (each for each in results if each.url and not each.is_waiting)
    made = Counter(f"{would_be(each, written=written)}{each.action}" for each in shown)
    counts = [f"{counted(count, 'pull request')} {action}" for action, count in made.items()]
    names = dict.fromkeys(each.update_group.name for each in results if each.action in _TROUBLE and not each.is_waiting)
    sentences = [
        f"**{found.counts}.**",
        *([f"{enumeration(counts)}."] if counts else []),
        *([f"Needs you: {', '.join(map(code, names))}."] if names else []),
    ]
    return " ".join(sentences)


def _rows(found: Overview, results: Sequence[Result], *, written: bool) -> Iterator[tuple[str, ...]]:
    shown: set[int] = set()
    for row in found.rows:
        mine = [
            (at, each)
            for at, each in enumerate(results)
            if each.update_group.slug == row.group and _is_about(row, each, is_first=at not in shown)
        ]
        shown.update(at for at, _ in mine)
        links = "<br>".join(_link(each, written=written) for _, each in mine if each.url)
        trouble = [_trouble(each) for _, each in mine if each.action in _TROUBLE]
        state = "<br>".join([_state(row), *filter(None, trouble)])
        current = row.current or "unknown"
        version = f"{current} → {row.target}" if row.target and row.target != row.current else current
        yield code(row.name), links, version, row.size, state


def _is_about(row: Row, result: Result, *, is_first: bool) -> bool:
    """Whether a pull request is shown in a row; one about none of the rows is shown in the first of its group."""
    if result.proposal is None:
        return is_first and (result.bump_kind == row.bump_kind or not row.bump_kind)
    plan = row.plan
    if not any(
        plan.path in upgrade.waiting if upgrade.waiting else (each.path, each.line) == (plan.path, plan.line)
        for each, upgrade in result.proposal.upgrades
    ):
        return False
    if result.bump_kind is BumpKind.MIGRATION:
        return row.state is State.HELD and row.decision.target == result.proposal.target
    return result.bump_kind == row.bump_kind


def _state(row: Row) -> str:
    if not row.why:
        return str(row.state)
    return f"{row.state}: **{plain(row.why)}**" if row.state is State.HELD else f"{row.state} ({plain(row.why)})"


def _step(number: int, each: Step, concerned: tuple[str, ...]) -> str:
    clusters = f" ({first_few(list(map(code, concerned)), _MOST_PLACES)})" if concerned else ""
    places = "".join(f"\n   - {plain(place)}" for place in capped(each.places, _MOST_PLACES))
    return f"{number}. {prose(each.sentence)}{clusters}{_way(each)}{places}"


def _way(step: Step) -> str:
    """Return how a step is taken, with a link to its pull request."""
    if not step.link:
        return f": {prose(step.way)}" if step.way else ""
    number = f"#{step.link.rpartition('/')[2]}"
    before, _, after = step.way.partition(number)
    return f": {prose(before.rstrip())} [{number}]({step.link}){prose(after)}"


def _remark(each: Remark) -> str:
    places = "".join(f"\n  - {plain(place)}" for place in capped(each.places, _MOST_PLACES))
    return f"- {prose(each.what)}{places}"


def decision_cell(plan: Plan, decision: Upgrade | Hold) -> str:
    """What is to become of an installation, in one cell of a table."""
    if isinstance(decision, Upgrade):
        after = " after `flux migrate` has run in every cluster that follows the tag" if decision.approve_with else ""
        return f"{step(plan, decision)}{'' if decision.approved else f', needs approval{after}'}"
    if decision.reason is HoldReason.UP_TO_DATE:
        return "up to date"
    target = f"{decision.target} " if decision.target else ""
    why = f"{prose(decision.detail)}{_remedy(decision.hint)}"
    return f"held: {target}**{decision.reason}**{decision.dates}: {why}"


def _trouble(result: Result) -> str:
    if result.is_waiting and result.hold is not None:
        return f"waits: **{result.hold.reason}**"
    if result.hold is not None:
        return f"held: **{result.hold.reason}**: {prose(result.hold.detail)}{_remedy(result.hold.hint)}"
    if result.error is None:
        return ""
    return f"failed: **{result.error.slug}**: {prose(result.error.message)}{_remedy(result.error.hint)}"


def _remedy(hint: str) -> str:
    return f"<br>→ {prose(hint)}" if hint else ""


def _link(result: Result, *, written: bool) -> str:
    what = "issue " if result.is_issue else ""
    number = f"{what}[#{result.number}]({result.url})" if result.number else f"[{result.bump_kind}]({result.url})"
    is_open = result.action is Action.UNCHANGED or result.is_waiting
    state = "open" if is_open else f"{would_be(result, written=written)}{result.action}"
    return f"{number} {state}{', draft' if _is_draft(result) else ''}"


def _is_draft(result: Result) -> bool:
    return result.is_draft and not result.is_issue  # it was to be one


def _approvals(rows: Iterable[Row], done: Round, command: str, workflow_url: str) -> Iterator[str]:
    there = [result for result in done.results if result.url and result.action is not Action.CLOSED]
    ways = ["mark the draft as ready for review"] if any(map(_is_draft, there)) else []
    if any(result.is_issue for result in there):
        ways.append(f"add the label `{APPROVED}` to the issue")
    # A later step of an upgrade has no row: it waits for the step before it.
    decisions = (row.decision for row in rows)
    return approvals(decisions, ways, command, workflow_url, of_several=len(done.plans) > 1)


def approvals(
    decisions: Iterable[Upgrade | Hold],
    ways: Sequence[str],
    command: str,
    workflow_url: str,
    *,
    of_several: bool = False,
) -> Iterator[str]:
    """What waits, and the one click or command that lets it go on. ``ways``: those besides the usual ones.

    ``of_several``: there are several groups or clusters, and each may be approved for itself.
    """
    waiting = {
        (each.target, each.approve_with or each.bump_kind.approval(each.target)) for each in decisions if _waits(each)
    }
    if not waiting:
        return
    # A release may have two: of the minor in one cluster, and of the patch in another.
    versions = dict.fromkeys(approval for _, approval in sorted(waiting, key=lambda pair: (pair[0], f"{pair[1]}")))
    others = [f"[run the workflow]({workflow_url}) with `approve`"] if workflow_url else []
    if command:
        others.append("run (all clusters; put `NAME=` before the version for one):" if of_several else "run:")
    how = ", or ".join([*ways, *others]) or (f"run it with {' or '.join(f'`approve: {each}`' for each in versions)}")
    yield f"**To approve**, {how}" + ("" if command else ".")
    if command:
        lines = "\n".join(f"{command}{version}" for version in versions)
        yield f"```sh\n{lines}\n```"


def _waits(decision: Upgrade | Hold) -> bool:
    if isinstance(decision, Upgrade):
        return not decision.approved
    is_declined = bool(decision.reason.effect.verb)
    is_waiting = (is_declined or decision.reason is HoldReason.NEEDS_APPROVAL) and bool(decision.target)
    return bool(decision.approve_with) or is_waiting
