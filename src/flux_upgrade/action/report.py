"""The report of a run about pull requests: JSON and outputs of the Action."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from flux_upgrade.action.action_yml import Outcome, most_severe
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release
from flux_upgrade.planning.plan import Plan
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report import report_schema
from flux_upgrade.report.overview import overview
from flux_upgrade.report.plans import drift_value, migration_values, plan_values, void_values
from flux_upgrade.report.pull_requests import all_plans, open_pulls, round_failures
from flux_upgrade.report.route_json import route_value

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)  # A directory of releases may say anything


class RunFacts(NamedTuple):
    """When and where a run took place, and what it knew of Flux's releases."""

    now: float = 0.0  # Epoch seconds
    url: str = ""  # The page of the workflow's run; empty: unknown
    releases: tuple[Release, ...] = ()


NO_FACTS = RunFacts()


def run_value(done: Round, *, calls: int, written: bool, run: RunFacts = NO_FACTS) -> dict[str, Any]:
    """Everything but the diffs: see docs/reference/report.schema.json."""
    board = done.dashboard
    return {
        **run_values(run, all_plans(done.plans)),
        "outcome": str(outcome_of(done, written=written)),
        "dry-run": not written,
        "repository": done.repository.name,
        "repository-url": done.repository.url or None,
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
        "pull-requests": [_result(done, each) for each in done.results if each.action is not Action.NONE],
        "failures": failure_values(round_failures(done)),
        "steps": route_value(overview(done.plans, pulls=open_pulls(done, written=written)).route),
        **void_values(done.void),
        **({"dashboard": {"action": str(board.action), "url": board.url or None}} if board is not None else {}),
    }


def run_values(run: RunFacts, plans: Iterable[Plan]) -> dict[str, Any]:
    """When and where the run took place, and when the releases that ``plans`` are about were published."""
    tags = {tag for plan in plans for tag in (plan.pin.version, *(each.target for each in plan.decisions))}
    known = ((each.tag, each.published_at) for each in run.releases if each.tag in tags)
    return {
        "schema-version": report_schema.VERSION,
        "created-at": datetime.fromtimestamp(run.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "run-url": run.url or None,
        "releases": {tag: published for tag, published in known if _MOMENT.fullmatch(published)},
    }


def outcome_of(done: Round, *, written: bool) -> Outcome:
    """What the run did, in one word. Not ``written``: what would have been done waits."""
    if next(iter(round_failures(done)), None) is not None:
        return Outcome.FAILED
    words = [outcome_of_action(result.action) for result in done.results]
    held = any(hold.reason is not HoldReason.UP_TO_DATE for plan in all_plans(done.plans) for hold in plan.holds)
    outcome = most_severe([*words, Outcome.HELD] if held else words)
    return outcome if written or outcome not in (Outcome.CLOSED, Outcome.UPDATED, Outcome.OPENED) else Outcome.HELD


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


def _result(done: Round, result: Result) -> dict[str, Any]:
    proposal = result.proposal
    return {
        "update-group": result.update_group.slug,
        "bump": str(result.bump_kind),
        "branch": result.branch,
        "action": str(result.action),
        "number": result.number or None,
        "url": result.url or None,
        "is-issue": result.is_issue,
        "created-at": _created_at(done, result) or None,
        "action-required": _has_to_do(result),
        "target": proposal.target if proposal is not None else None,
        "pending": proposal.is_pending if proposal is not None else None,
        "reason": str(result.hold.reason) if result.hold is not None else None,
        "detail": result.hold.detail if result.hold is not None else None,
        "error": result.error.message if result.error is not None else None,
        "warnings": list(result.warnings),
    }


def _created_at(done: Round, result: Result) -> str:
    """When its pull request was opened; empty if this run opened it, or if it is an issue instead."""
    branch = done.repository.branches.get(result.branch)
    pulls = branch.pulls if branch is not None and not result.is_issue else ()
    return next((each.created_at for each in pulls if each.number == result.number), "")


def _has_to_do(result: Result) -> bool:
    if result.proposal is None or result.action is Action.CLOSED:
        return False
    from flux_upgrade.pullrequests.text.checklist import has_to_do  # late: nearly every run proposes nothing

    return has_to_do(result.proposal)


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
