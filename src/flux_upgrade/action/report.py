"""The report of a run about pull requests: JSON and outputs of the Action."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from flux_upgrade.action.action_yml import Outcome, most_severe
from flux_upgrade.planning.plan import Plan
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.plans import drift_value, migration_values, plan_values, void_values
from flux_upgrade.report.pull_requests import all_plans, round_failures

_WRITES = (Outcome.CLOSED, Outcome.UPDATED, Outcome.OPENED)


def run_value(done: Round, *, calls: int, written: bool) -> dict[str, Any]:
    """Everything but the diffs: see docs/reference/report.schema.json."""
    return {
        "outcome": str(outcome_of(done, written=written)),
        "dry-run": not written,
        "repository": done.repository.name,
        "base": done.repository.base,
        "calls": calls,
        "drift": drift_value(cluster for group in done.plans for cluster in group.update_group.clusters),
        "installations": [
            {**each, "update-group": group.update_group.slug} for group in done.plans for each in plan_values(group)
        ],
        "migrations": [
            {**each, "update-group": group.update_group.slug}
            for group in done.plans
            for each in migration_values(group)
        ],
        "pull-requests": [_result(result) for result in done.results if result.action is not Action.NONE],
        "failures": failure_values(round_failures(done)),
        **void_values(done.void),
    }


def outcome_of(done: Round, *, written: bool) -> Outcome:
    """What the run did, in one word. Not ``written``: what would have been done waits."""
    if next(iter(round_failures(done)), None) is not None:
        return Outcome.FAILED
    words = [outcome_of_action(result.action) for result in done.results]
    held = any(hold.reason is not HoldReason.UP_TO_DATE for plan in all_plans(done.plans) for hold in plan.holds)
    outcome = most_severe([*words, Outcome.HELD] if held else words)
    return outcome if written or outcome not in _WRITES else Outcome.HELD


def outputs(done: Round, *, written: bool) -> dict[str, str]:
    """The outputs of the Action, but for the report."""
    plans = all_plans(done.plans)
    pulls = [each for each in done.results if each.number and not each.is_issue]
    open_pulls = [each for each in pulls if each.action is not Action.CLOSED]
    one = open_pulls[0] if len(open_pulls) == 1 else None
    return {
        "outcome": str(outcome_of(done, written=written)),
        **versions_of(plans),
        "pull-request-number": str(one.number) if one else "",
        "pull-request-url": one.url if one else "",
        "pull-requests": json.dumps([_listed(each) for each in pulls]),
        **_artifact(plans),
    }


def _artifact(plans: Sequence[Plan]) -> dict[str, str]:
    """What pins are to stand for, if it is one artifact: the one that needs no approval comes first."""
    upgrades = [each for plan in plans for each in plan.upgrades if each.change.artifact]
    approved = {each.change.artifact for each in upgrades if each.approved}
    artifact, _, digest = only(approved or {each.change.artifact for each in upgrades}).partition("@")
    return {"artifact": artifact, "digest": digest}


def _listed(result: Result) -> dict[str, Any]:
    target = result.proposal.target if result.proposal is not None else None
    operation = str(outcome_of_action(result.action))
    return {"number": result.number, "url": result.url, "operation": operation, "target": target}


def _result(result: Result) -> dict[str, Any]:
    proposal = result.proposal
    return {
        "update-group": result.update_group.slug,
        "bump": str(result.bump_kind),
        "branch": result.branch,
        "action": str(result.action),
        "number": result.number or None,
        "url": result.url or None,
        "is-issue": result.is_issue,
        "target": proposal.target if proposal is not None else None,
        "pending": proposal.is_pending if proposal is not None else None,
        "reason": str(result.hold.reason) if result.hold is not None else None,
        "detail": result.hold.detail if result.hold is not None else None,
        "error": result.error.message if result.error is not None else None,
        "warnings": list(result.warnings),
    }


def only(values: set[str]) -> str:
    """The one value, or nothing where installations differ."""
    return values.pop() if len(values) == 1 else ""


def versions_of(plans: tuple[Plan, ...]) -> dict[str, str]:
    """Current, target and pending version; each empty where installations differ or there is none."""
    return {
        "current-version": only({plan.pin.version for plan in plans}),
        "target-version": only({plan.approved.target if plan.approved else "" for plan in plans}),
        "pending-version": only({next((u.target for u in plan.upgrades if not u.approved), "") for plan in plans}),
    }


def failure_values(failures: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"slug": slug, "message": message, "remedy": hint} for slug, message, hint in failures]


def outcome_of_action(action: Action) -> Outcome:
    """What it means to leave a pull request as it is, or to do something about it."""
    return Outcome.NONE if action is Action.UNCHANGED else Outcome(str(action))
