"""A run of the Action about an artifact: report, outputs and job summary."""

from __future__ import annotations

from typing import Any

from flux_upgrade.action.action_yml import Outcome
from flux_upgrade.action.job_summary import approvals, decision_cell
from flux_upgrade.action.report import NO_FACTS, RunFacts, failure_values, run_values, versions_of
from flux_upgrade.artifacts.promote import ArtifactOutcome, Pushed, Rollback
from flux_upgrade.artifacts.report_text import artifact_failures, artifact_value, overview_of
from flux_upgrade.model.markdown import code, plain, table
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.plans import plan_value
from flux_upgrade.report.route_json import route_value
from flux_upgrade.route.rows import State


def artifact_run_value(outcome: ArtifactOutcome, *, written: bool, run: RunFacts = NO_FACTS) -> dict[str, Any]:
    planned = outcome.plan
    return {
        **run_values(run, (planned.plan,)),
        "outcome": str(artifact_run_outcome(outcome, written=written)),
        "dry-run": not written,
        "repository": planned.pulled.address.repository,
        "repository-url": None,
        "base": planned.pulled.address.tag,
        "calls": 0,
        "drift": [],
        "installations": [
            {**plan_value(planned.plan, str(planned.pulled.address)), "update-group": planned.pulled.address.tag}
        ],
        "migrations": [],
        "pull-requests": [],
        "failures": failure_values(artifact_failures(outcome)),
        "steps": route_value(overview_of(outcome.plan, _state(outcome, written=written)).route),
        "artifact": artifact_value(outcome),
    }


def _state(outcome: ArtifactOutcome, *, written: bool) -> State | None:
    """Return what came of the promotion; None: nothing was written."""
    if not written:
        return None
    return State.UPGRADED if outcome.failure is None else State.FAILED


def artifact_run_outcome(outcome: ArtifactOutcome, *, written: bool) -> Outcome:
    if next(artifact_failures(outcome), None) is not None:
        return Outcome.FAILED
    if outcome.promoted and written:
        return Outcome.UPDATED
    plan = outcome.plan.plan
    waits = bool(plan.upgrades) or any(hold.reason is not HoldReason.UP_TO_DATE for hold in plan.holds)
    return Outcome.HELD if waits else Outcome.NONE


def artifact_outputs(outcome: ArtifactOutcome, *, written: bool) -> dict[str, str]:
    pushed = _reported(outcome)
    if pushed is not None and pushed.is_new and not written:
        pushed = None  # what would be pushed does not exist, and cannot be signed
    digest = pushed.stored.digest if pushed is not None and pushed.stored is not None else ""
    repository = outcome.plan.pulled.address.repository
    return {
        "outcome": str(artifact_run_outcome(outcome, written=written)),
        **versions_of((outcome.plan.plan,)),
        "artifact": f"{repository}:{pushed.successor.tag}" if pushed is not None else "",
        "digest": digest,
        "pull-requests": "[]",
    }


def _reported(outcome: ArtifactOutcome) -> Pushed | None:
    """What was promoted or waits for a signature, else what ``pending-version`` is about."""
    plan = outcome.plan.plan
    waiting = next((each for each in plan.upgrades if not each.approved), None)
    wanted = plan.approved or waiting
    return next((each for each in outcome.pushed if each.successor.upgrade is wanted), None)


def artifact_summary(outcome: ArtifactOutcome, *, written: bool, approve_command: str, workflow_url: str = "") -> str:
    planned, dry = outcome.plan, "" if written else "would be "
    plan, address = planned.plan, planned.pulled.address
    decisions = [decision_cell(plan, each) for each in plan.decisions]
    if outcome.failure is not None:
        decisions.append(f"failed: **{outcome.failure.slug}**: {plain(outcome.failure.message)}")
    next_ = "<br>".join(decisions)
    row = (code(str(address)), plan.pin.stated_version or "unknown", next_, _tag(outcome, dry))
    parts = ["## Flux", table(("Artifact", "Runs", "What next", "Tag"), [row])]
    parts += [_pushed(each, dry) for each in outcome.pushed]
    parts += [f"> {plain(remark)}" for remark in planned.remarks]
    parts += approvals(plan.decisions, (), approve_command, workflow_url)
    return "\n\n".join(parts) + "\n"


def _tag(outcome: ArtifactOutcome, dry: str) -> str:
    tag = code(outcome.plan.pulled.address.tag)
    if outcome.failure is not None and outcome.plan.promoted is not None:
        return f"{tag}: see what failed"
    return f"{tag} {dry}moved" if outcome.promoted else f"{tag} stays"


def _pushed(pushed: Pushed, dry: str) -> str:
    state = f"{dry}pushed" if pushed.is_new else "was pushed before, and not again"
    digest = f", {code(pushed.stored.digest)}" if pushed.stored is not None else ""
    return f"{pushed.successor.version}: {code(pushed.successor.tag)} {state}{digest}"


def rollback_outputs(planned: Rollback, *, written: bool) -> dict[str, str]:
    return {
        "outcome": str(Outcome.UPDATED if written else Outcome.HELD),
        "artifact": f"{planned.address.repository}@{planned.wanted.digest}",
        "digest": planned.wanted.digest,
        "pull-requests": "[]",
    }
