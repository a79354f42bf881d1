"""What is to become of an artifact, and what came of it → text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flux_upgrade.artifacts.promote import ArtifactOutcome, Pushed
from flux_upgrade.artifacts.promotion_plan import ArtifactPlan
from flux_upgrade.artifacts.rollback import Rollback
from flux_upgrade.artifacts.successor import Successor
from flux_upgrade.model.text import printable_lines
from flux_upgrade.report.outcomes import change_lines, hold_lines, step, waiting_lines
from flux_upgrade.report.plans import plan_lines, plan_value


def artifact_text(outcome: ArtifactOutcome, *, written: bool) -> str:
    """What was done, or would be (``written`` false)."""
    return printable_lines(_outcome(outcome, written=written))


def artifact_plan_text(planned: ArtifactPlan) -> str:
    """What would be done, and why."""
    return printable_lines(_plan(planned))


def rollback_text(planned: Rollback, *, written: bool) -> str:
    """What was done, or would be (``written`` false)."""
    return printable_lines(_rollback(planned, written=written))


def _outcome(outcome: ArtifactOutcome, *, written: bool) -> Iterator[str]:
    planned, would = outcome.plan, "" if written else "would be "
    plan, pulled = planned.plan, planned.pulled
    yield f"{pulled.address}" + ("" if written else " · dry run")
    upgrade = plan.approved
    if upgrade is not None and upgrade.change.manifest is not None:
        yield f"  {plan.path}: {step(plan, upgrade)}"
        yield from change_lines(pulled.installation.proof, upgrade, upgrade.change.manifest)
    if outcome.kept:
        yield f"  {would}kept: {outcome.kept} ({pulled.stored.digest}), what there was before"
    yield from (f"  {_pushed(each, would)}" for each in outcome.pushed)
    if outcome.promoted:
        yield f"  {would}promoted: {pulled.address.tag} to {outcome.promoted}"
    if not any(each.is_new for each in outcome.pushed) and outcome.failure is None:
        yield "  nothing to push"
    if outcome.failure is not None:
        yield f"  failed: {outcome.failure.message}"
    yield from (f"  note: {remark}" for remark in planned.remarks)
    for hold in plan.holds:
        yield from hold_lines(plan, hold)
    yield from waiting_lines(plan)


def _pushed(pushed: Pushed, would: str) -> str:
    digest = f" ({pushed.stored.digest})" if pushed.stored is not None else ""
    action = f"{would}pushed" if pushed.is_new else "pushed before, and not again"
    return f"{action}: {pushed.successor.tag}{digest}"


def _plan(planned: ArtifactPlan) -> Iterator[str]:
    pulled = planned.pulled
    yield f"{pulled.address} ({pulled.stored.digest})"
    yield from plan_lines(planned.plan, ())
    for each in planned.successors:
        state = "is there already" if each.is_there else "would be pushed"
        yield f"  {each.tag} {state}"
    if planned.promoted is not None:
        yield f"  {pulled.address.tag} would be moved to {planned.promoted.tag}"
    yield from (f"  note: {remark}" for remark in planned.remarks)


def _rollback(planned: Rollback, *, written: bool) -> Iterator[str]:
    would = "" if written else "would be "
    yield f"{planned.address}" + ("" if written else " · dry run")
    yield f"  {would}rolled back: from {planned.current.digest} to {planned.wanted.digest}"
    if planned.rejected:
        yield f"  {would or 'is '}held: {planned.rejected}, until there is a newer release or it is approved"


def artifact_plan_json(planned: ArtifactPlan) -> str:
    """What ``plan --json`` prints: see docs/reference/plan.schema.json."""
    report = {
        "drift": [],
        "installations": [plan_value(planned.plan, str(planned.pulled.address))],
        "migrations": [],
        "named": [],
        "artifact": {**_shared(planned), "pushed": [_successor(each) for each in planned.successors]},
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def artifact_value(outcome: ArtifactOutcome) -> dict[str, Any]:
    """Of the report of a run."""
    return {
        **_shared(outcome.plan),
        "kept": outcome.kept or None,
        "promoted": outcome.promoted or None,
        "pushed": [
            {
                "version": each.successor.version,
                "tag": each.successor.tag,
                "digest": each.stored.digest if each.stored is not None else None,
                "new": each.is_new,
            }
            for each in outcome.pushed
        ],
    }


def _shared(planned: ArtifactPlan) -> dict[str, Any]:
    return {"address": str(planned.pulled.address), "digest": planned.pulled.stored.digest}


def _successor(successor: Successor) -> dict[str, Any]:
    return {
        "version": successor.version,
        "tag": successor.tag,
        "digest": successor.stored.digest if successor.stored is not None else None,
        "new": not successor.is_there,
    }


def artifact_failures(outcome: ArtifactOutcome) -> Iterator[tuple[str, str, str]]:
    """Slug, what is wrong and what to do: of everything that the run ends red for."""
    address = outcome.plan.pulled.address
    if outcome.failure is not None:
        yield outcome.failure.slug, outcome.failure.message, outcome.failure.hint
    for hold in outcome.plan.plan.holds:
        if hold.error is not None:
            yield str(hold.reason), f"{address}: {hold.detail}", hold.hint
