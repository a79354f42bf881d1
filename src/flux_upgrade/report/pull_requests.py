"""What came of the pull requests → text for the log, a line for each failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import printable_lines
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.report.plans import ALL_IGNORED, plans_text


def round_text(done: Round, *, calls: int, written: bool) -> str:
    """Plans first, then what was done about each pull request. ``calls``: to the forge."""
    lines = [*results_lines(done, written=written), f"{counted(calls, 'call')} to {done.repository.name}"]
    plans = plans_text(done.plans) if done.plans else f"{without_plans(done)}\n"
    return f"{plans}\n{printable_lines(lines)}"


def without_plans(done: Round) -> str:
    """Why there are none."""
    return "no cluster or group has the branch of this pull request" if done.branch else ALL_IGNORED


def results_lines(done: Round, *, written: bool) -> list[str]:
    """What was done about each pull request."""
    return [line for result in done.results for line in _result(result, written=written)]


def _result(result: Result, *, written: bool) -> Iterator[str]:
    if result.action is Action.NONE:
        return
    where = result.url or result.branch
    action = f"{would_be(result, written=written)}{result.action}"
    yield f"{result.update_group.name} · {result.bump_kind}: {action} · {where}"
    if result.hold is not None:
        yield f"  {result.hold.reason}: {result.hold.detail}"
        if result.hold.hint:
            yield f"  to unblock: {result.hold.hint}"
    if result.error is not None:
        yield f"  {result.error.slug}: {result.error.message}"
    yield from (f"  warning: {warning}" for warning in result.warnings)


def would_be(result: Result, *, written: bool) -> str:
    """What stands before the action in a run that writes nothing."""
    is_so = written or result.action in (Action.UNCHANGED, Action.HELD, Action.FAILED)
    return "" if is_so else "would be "


def round_failures(done: Round) -> Iterator[tuple[str, str, str]]:
    """Slug, what is wrong and what to do: of everything that the run ends red for."""
    for plan in all_plans(done.plans):
        for hold in plan.holds:
            if hold.error is not None:
                message = hold.detail if hold.detail.startswith(plan.path) else f"{plan.path}: {hold.detail}"
                yield str(hold.reason), message, hold.hint
    for result in done.results:
        if result.error is not None:
            yield result.error.slug, f"{result.update_group.name}: {result.error.message}", result.error.hint


def all_plans(plans: Sequence[UpdateGroupPlan]) -> tuple[Plan, ...]:
    return tuple(plan for group in plans for plan in group.plans)


def round_errors(done: Round) -> Iterator[type[FluxUpgradeError]]:
    for plan in all_plans(done.plans):
        yield from (hold.error for hold in plan.holds if hold.error is not None)
    yield from (type(result.error) for result in done.results if result.error is not None)
