"""What is to become of an artifact, and what came of it → text and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from flux_upgrade.artifacts.promote import ArtifactOutcome, Rollback
from flux_upgrade.artifacts.promotion_plan import ArtifactPlan, Successor
from flux_upgrade.model.oci.manifest import StoredManifest
from flux_upgrade.model.text import printable_lines
from flux_upgrade.planning.plan import Upgrade
from flux_upgrade.report.outcomes import change_lines, hold_lines, waiting_lines
from flux_upgrade.report.overview import Overview
from flux_upgrade.report.plans import plan_lines, plan_value, step
from flux_upgrade.report.remarks import remarks_of
from flux_upgrade.report.route_json import route_value
from flux_upgrade.route.route import route_of
from flux_upgrade.route.rows import Remark, State, decision_rows
from flux_upgrade.route.step import Step


def artifact_text(outcome: ArtifactOutcome, *, written: bool) -> str:
    """What was done, or would be (``written`` false)."""
    return printable_lines(_outcome(outcome, written=written))


def artifact_plan_text(planned: ArtifactPlan) -> str:
    return printable_lines(_plan(planned))


def overview_of(planned: ArtifactPlan, state: State | None = None) -> Overview:
    """What is to become of an artifact, as ``plan`` shows clusters. ``state``: what came of its promotion."""
    plan = planned.plan
    # What is pushed and may not be promoted is both.
    held = {(hold.bump_kind, hold.target) for hold in plan.holds if hold.target}
    rows = [
        row._replace(state=state if state is not None and row.state is State.READY else row.state, is_tag=True)
        for row in decision_rows(plan, str(planned.pulled.address))
        if not (isinstance(row.decision, Upgrade) and (row.decision.bump_kind, row.decision.target) in held)
    ]
    steps = tuple(route_of(rows, ()))
    remarks = (*remarks_of(rows), *(Remark(each, ()) for each in planned.remarks))
    return Overview(tuple(rows), steps, remarks, noun="artifact")


def artifact_changes(planned: ArtifactPlan) -> list[str]:
    """What would be written into the registry, in lines."""
    lines = [f"  push {each.tag}" for each in planned.successors if not each.is_there]
    if planned.promoted is not None:
        lines.append(f"  move {planned.pulled.address.tag} to {planned.promoted.tag}")
    return ["The registry would change:", *lines] if lines else []


def artifact_results(outcome: ArtifactOutcome, *, written: bool) -> list[str]:
    """What was written into the registry, or would be (``written`` false), in lines."""
    lines = [f"  {line}" for line in _writes(outcome, "" if written else "would be ")]
    return ["Registry:", *lines] if lines else []


def rollback_text(planned: Rollback, *, written: bool) -> str:
    would = "" if written else "would be "
    lines = [
        f"{planned.address}" + ("" if written else " · dry run"),
        f"  {would}rolled back: from {planned.current.digest} to {planned.wanted.digest}",
    ]
    if planned.rejected:
        until = "until there is a newer release or it is approved"
        lines.append(f"  {would or 'is '}held: {planned.rejected}, {until}")
    return printable_lines(lines)


def _outcome(outcome: ArtifactOutcome, *, written: bool) -> Iterator[str]:
    planned, would = outcome.plan, "" if written else "would be "
    plan, pulled = planned.plan, planned.pulled
    yield f"{pulled.address}" + ("" if written else " · dry run")
    upgrade = plan.approved
    if upgrade is not None and upgrade.change.manifest is not None:
        yield f"  {plan.path}: {step(plan, upgrade)}"
        yield from change_lines(pulled.pin.proof, upgrade, upgrade.change.manifest)
    yield from (f"  {line}" for line in _writes(outcome, would))
    if outcome.failure is not None:
        yield f"  failed: {outcome.failure.message}"
    yield from (f"  note: {remark}" for remark in planned.remarks)
    for hold in plan.holds:
        yield from hold_lines(plan, hold)
    yield from waiting_lines(plan)


def _writes(outcome: ArtifactOutcome, would: str) -> Iterator[str]:
    pulled = outcome.plan.pulled
    if outcome.kept:
        yield f"{would}kept: {outcome.kept} ({pulled.stored.digest}), what there was before"
    for each in outcome.pushed:
        digest = f" ({each.stored.digest})" if each.stored is not None else ""
        action = f"{would}pushed" if each.is_new else "pushed before, and not again"
        yield f"{action}: {each.successor.tag}{digest}"
    if outcome.promoted:
        yield f"{would}promoted: {pulled.address.tag} to {outcome.promoted}"
    if not any(each.is_new for each in outcome.pushed) and outcome.failure is None:
        yield "nothing to push"


def _plan(planned: ArtifactPlan) -> Iterator[str]:
    pulled = planned.pulled
    yield f"{pulled.address} ({pulled.stored.digest})"
    yield from plan_lines(planned.plan, ())
    for each in planned.successors:
        state = "exists already" if each.is_there else "would be pushed"
        yield f"  {each.tag} {state}"
    if planned.promoted is not None:
        yield f"  {pulled.address.tag} would be moved to {planned.promoted.tag}"
    yield from (f"  note: {remark}" for remark in planned.remarks)


def artifact_plan_json(planned: ArtifactPlan, command_of: Callable[[Step], str]) -> str:
    """Return the output of ``plan --json``: see docs/reference/plan.schema.json.

    ``command_of``: the command line of a step.
    """
    pushed = [_pushed(each, each.stored, is_new=not each.is_there) for each in planned.successors]
    report = {
        "drift": [],
        "installations": [plan_value(planned.plan, str(planned.pulled.address))],
        "migrations": [],
        "reported": [],
        "steps": route_value(overview_of(planned).route, command_of),
        "artifact": {**_shared(planned), "pushed": pushed},
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def artifact_value(outcome: ArtifactOutcome) -> dict[str, Any]:
    return {
        **_shared(outcome.plan),
        "kept": outcome.kept or None,
        "promoted": outcome.promoted or None,
        "pushed": [_pushed(each.successor, each.stored, is_new=each.is_new) for each in outcome.pushed],
    }


def _shared(planned: ArtifactPlan) -> dict[str, Any]:
    return {"address": str(planned.pulled.address), "digest": planned.pulled.stored.digest}


def _pushed(successor: Successor, stored: StoredManifest | None, *, is_new: bool) -> dict[str, Any]:
    return {
        "version": successor.version,
        "tag": successor.tag,
        "digest": stored.digest if stored is not None else None,
        "new": is_new,
    }


def artifact_failures(outcome: ArtifactOutcome) -> Iterator[tuple[str, str, str]]:
    """Slug, what is wrong and what to do: of everything that the run ends red for."""
    address = outcome.plan.pulled.address
    if outcome.failure is not None:
        yield outcome.failure.slug, outcome.failure.message, outcome.failure.hint
    for hold in outcome.plan.plan.holds:
        if hold.error is not None:
            yield str(hold.reason), f"{address}: {hold.detail}", hold.hint
