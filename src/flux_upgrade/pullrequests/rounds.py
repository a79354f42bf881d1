"""Fetch, decide, apply; and again, if somebody was faster or an answer was lost: how often, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self, TypeVar

from flux_upgrade.model.errors import (
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    LimitReached,
    Overtaken,
    known,
)
from flux_upgrade.model.forge import (
    ClosePull,
    CommentPull,
    DeleteBranch,
    Done,
    OpenIssue,
    OpenPull,
    RecordAnswers,
    RejectPull,
    RevertPull,
    Step,
    UpdateIssue,
    UpdatePull,
)
from flux_upgrade.planning.proposal import Action
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.desired import Reconciliation

_ROUNDS = 3  # Somebody who is faster three times in a row is at work on the same branch
_TRIES = 2  # Rounds where a server gives no answer: a write may have been applied all the same

ACTIONS: dict[type[Step], Action] = {
    OpenPull: Action.OPENED,
    OpenIssue: Action.OPENED,
    RevertPull: Action.OPENED,
    UpdatePull: Action.UPDATED,
    CommentPull: Action.UPDATED,
    UpdateIssue: Action.UPDATED,
    ClosePull: Action.CLOSED,
    # What is done besides is told in warnings, or needs no telling.
    RejectPull: Action.NONE,
    RecordAnswers: Action.NONE,
    DeleteBranch: Action.NONE,
}
"""What a step that was applied has done."""

_Fetched = TypeVar("_Fetched")


class _PullResult(Protocol):
    """What came of one pull request, a named tuple: of an upgrade, or of a bootstrap."""

    @property
    def action(self) -> Action: ...
    @property
    def number(self) -> int: ...
    @property
    def url(self) -> str: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def error(self) -> FluxUpgradeError | None: ...
    @property
    def attempted(self) -> Action: ...
    def _replace(self, *args: Any, **changes: Any) -> Self: ...


_Result = TypeVar("_Result", bound=_PullResult)


def rounds(
    first: _Fetched, fetch: Callable[[], _Fetched], errors: list[FluxUpgradeError]
) -> Iterator[tuple[int, _Fetched]]:
    """The number of each round, from 1, and what was fetched for it: ``first``, then anew; at most three.

    The caller acts on it, and ends the rounds where no result ``may_change``. What ``fetch`` raises is the
    end, too: what was done is reported, and the next run goes on from there. What is no failure of the
    server's is added to ``errors``.
    """
    yield 1, first
    for number in range(2, _ROUNDS + 1):
        try:
            fetched = fetch()
        except FluxUpgradeError:
            return
        except Exception as error:  # noqa: BLE001 what was done is reported first, whatever this is
            errors.append(known(error))
            return
        yield number, fetched


def may_change(error: FluxUpgradeError | None, done: int) -> bool:
    """Whether another round may end better than with ``error``: somebody was faster, or an answer was lost.

    ``done``: the rounds so far. A rate limit outlasts the run.
    """
    if isinstance(error, LimitReached):
        return False
    if isinstance(error, Overtaken):
        return done < _ROUNDS
    return isinstance(error, ForgeUnavailable) and done < _TRIES


def carry_out(reconciliation: Reconciliation, idle: _Result, apply: Callable[[Step, _Result], _Result]) -> _Result:
    """The steps in their order, up to the first that fails or is held. ``idle``: before any of them.

    ``apply`` returns the result after a step, see ``after``; what it raises becomes the result's error.
    """
    result, hold = idle, reconciliation.hold
    for step in reconciliation.steps:
        try:
            result = apply(step, result)
        except ForbiddenByForge as error:
            if not isinstance(step, RejectPull):
                return result._replace(action=Action.FAILED, error=error, attempted=ACTIONS[type(step)])
            return result._replace(action=Action.HELD, hold=_not_rejected(step, error))
        except Exception as error:  # noqa: BLE001 what came of the steps before it is reported, whatever this one meets
            return result._replace(action=Action.FAILED, error=known(error), attempted=ACTIONS[type(step)])
        if result.action is Action.HELD:
            break
    return result if hold is None else result._replace(action=Action.HELD, hold=hold)


def _not_rejected(step: RejectPull, error: ForbiddenByForge) -> Hold:
    """What the pull request of another account keeps from being opened: there is one for a branch and a base."""
    fact = f"{step.pull.author} opened {step.pull.url} from this branch, and GitHub refuses to close it"
    return Hold(HoldReason.BRANCH_BLOCKED, f"{fact}: {error.message}", "close it")


def after(step: Step, done: Done, result: _Result) -> _Result:
    if ACTIONS[type(step)] is Action.NONE:
        return result._replace(warnings=(*result.warnings, *done.warnings))
    return result._replace(
        action=ACTIONS[type(step)],
        number=result.number or done.number,
        url=result.url or done.url,
        warnings=(*result.warnings, *done.warnings),
    )


def with_lost_answer(before: _Result | None, result: _Result, *seen: Action) -> _Result:
    """A write whose answer was lost in the round ``before`` was this run's all the same.

    ``seen``: what the next round does about a pull request that such a write left behind.
    """
    if before is None or isinstance(before.error, Overtaken) or before.attempted is Action.NONE:
        return result
    if result.action not in seen:
        return result
    return result._replace(action=before.attempted, attempted=before.attempted)
