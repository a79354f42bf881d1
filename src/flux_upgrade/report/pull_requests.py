"""What came of the pull requests → text for the log, a line for each failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import first_few, printable_lines
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.report.plans import NO_FLUX, NOTHING_TO_UPGRADE, plans_text
from flux_upgrade.report.wording import whole_path
from flux_upgrade.route.pulls import OpenPull, Pulls

MOST_NAMES = 10
_OPEN = (Action.UNCHANGED, Action.UPDATED)  # Before the run, too


def round_text(done: Round, *, calls: int, written: bool) -> str:
    """Plans first, then what was done about each pull request. ``calls``: to the forge."""
    lines = [*results_lines(done, written=written), f"{counted(calls, 'call')} to {done.repository.name}"]
    plans = plans_text(done.plans) if done.plans else f"{without_plans(done)}\n"
    return f"{plans}\n{printable_lines(lines)}"


def without_plans(done: Round) -> str:
    if done.lacks_flux:
        return NO_FLUX
    return "no cluster or group has the branch of this pull request" if done.branch else NOTHING_TO_UPGRADE


def results_lines(done: Round, *, written: bool) -> list[str]:
    acted = (line for each in done.results if not each.is_waiting for line in _result(each, written=written))
    return [
        *acted,
        *(line for each in waiting(done.results) for line in _waiting(each)),
        *_dashboard(done, written=written),
    ]


def _dashboard(done: Round, *, written: bool) -> Iterator[str]:
    if done.dashboard is not None:
        is_so = written or done.dashboard.action is Action.UNCHANGED
        where = f" · {done.dashboard.url}" if done.dashboard.url else ""
        yield f"dashboard: {'' if is_so else 'would be '}{done.dashboard.action}{where}"


class Waiting(NamedTuple):
    """Pull requests that wait for the same."""

    why: str  # With their number, a sentence without its end
    hint: str
    names: Sequence[str]


def waiting(results: Iterable[Result]) -> Iterator[Waiting]:
    """What waits because of the limits, once for each of them."""
    names: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        if result.is_waiting and result.hold is not None:
            reason, detail, hint, *_ = result.hold
            names.setdefault((reason, detail, hint), []).append(f"{result.update_group.name} ({result.bump_kind})")
    for (slug, why, remedy), each in names.items():
        verb = "waits" if len(each) == 1 else "wait"
        yield Waiting(f"{slug}: {counted(len(each), 'pull request')} {verb}: {why}", remedy, each)


def _waiting(found: Waiting) -> Iterator[str]:
    yield found.why
    yield f"  {first_few(found.names, MOST_NAMES)}"
    yield f"  to unblock: {found.hint}"


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


def open_pulls(done: Round, *, written: bool) -> Pulls:
    """Return the pull requests that are open after a run, as steps name them.

    ``written`` false: it has opened none of those that it reports.
    """
    return {
        (result.update_group.slug, result.bump_kind): _open_pull(result)
        for result in done.results
        if result.action in _OPEN or (written and result.action is Action.OPENED)
    }


def _open_pull(result: Result) -> OpenPull:
    upgrades = result.proposal.upgrades if result.proposal is not None else ()
    waiting = frozenset(path for _, upgrade in upgrades for path in upgrade.waiting)
    return OpenPull(result.number, result.url, result.is_draft, result.is_issue, result.branch, waiting)


def would_be(result: Result, *, written: bool) -> str:
    """What stands before the action in a run that writes nothing."""
    is_so = written or result.action in (Action.UNCHANGED, Action.HELD, Action.FAILED)
    return "" if is_so else "would be "


def round_failures(done: Round) -> Iterator[tuple[str, str, str]]:
    """Slug, what is wrong and what to do: of everything that the run ends red for."""
    for plan in all_plans(done.plans):
        for hold in plan.holds:
            if hold.error is not None:
                path = whole_path(plan.path)
                message = hold.detail if hold.detail.startswith(path) else f"{path}: {hold.detail}"
                yield str(hold.reason), message, hold.hint
    for result in done.results:
        if result.error is not None:
            yield result.error.slug, f"{result.update_group.name}: {result.error.message}", result.error.hint
    yield from ((error.slug, error.message, error.hint) for error in done.errors)


def all_plans(plans: Sequence[UpdateGroupPlan]) -> tuple[Plan, ...]:
    return tuple(plan for group in plans for plan in group.plans)


def round_errors(done: Round) -> Iterator[type[FluxUpgradeError]]:
    for plan in all_plans(done.plans):
        yield from (hold.error for hold in plan.holds if hold.error is not None)
    yield from (type(result.error) for result in done.results if result.error is not None)
    yield from map(type, done.errors)
