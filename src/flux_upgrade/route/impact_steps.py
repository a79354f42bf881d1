"""Findings about an upgrade → the steps that it takes before or after it."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import Finding, Severity
from flux_upgrade.findings.kinds import FINDING_KINDS
from flux_upgrade.findings.phrases import OPERATOR_MIGRATES, TEXT, sentences, stored_lines
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.route.rows import Row, State
from flux_upgrade.route.step import Command, Stage, Step


def of_impact(impact: Assessment, row: Row) -> Iterator[Step]:
    stage = Stage.BEFORE_READY if is_ready(row) else Stage.PREPARE
    base = impact.base
    if base is not None and isinstance(base.pin, Unknown) and impact.is_base_uncertain(row.decision.target):
        task = f"Check with `flux version` that the cluster runs {base.written}"
        yield Step(stage, task, Command.FLUX_VERSION, places=(f"The checkout does not show it: {base.pin}",))
    yield from _refused(impact, row, stage)
    yield from _flux_migrate(impact, row, is_ready=is_ready(row))
    for found in breaking(row):
        task = found.task.replace("{target}", row.target)
        if found.wording or not found.path:
            yield Step(stage, task, places=(found.worded(TEXT),))
        else:
            why = sentences(TEXT, found.what, found.remedy)
            place = f"{found.path}:{found.line}: {', '.join(found.names)}"
            yield Step(stage, task, places=tuple(filter(None, (why, place))))


def _refused(impact: Assessment, row: Row, stage: Stage) -> Iterator[Step]:
    """Yield what blocks a jump over the steps that lead to a release."""
    is_held = isinstance(row.decision, Hold) and row.decision.reason is HoldReason.BLOCKED_BY_API_REMOVAL
    if impact.stored.after_migrate and not impact.upgrade_path and not is_held:  # A hold says it by itself
        task = "Store these objects in other API versions first"
        if impact.skipped:
            task = f"Upgrade to {' and then to '.join(impact.skipped)} first, and run `flux migrate` there"
        lines = stored_lines(impact.stored.after_migrate, row.decision.target, TEXT)
        yield Step(stage, f"{task}: the API server rejects the CRDs of {row.target}", places=tuple(lines))


def breaking(row: Row) -> Iterator[Finding]:
    """What fails, or may. What is migrated for you is a step of its own, and so are known changes."""
    for found in findings_of(row):
        is_own = HoldReason.MIGRATION_PENDING in found.holds or found.change is not None
        if found.severity <= Severity.RISKS and found.task and not is_own:
            yield found


def _flux_migrate(impact: Assessment, row: Row, *, is_ready: bool) -> Iterator[Step]:
    stage = Stage.BEFORE_READY if is_ready else Stage.FLUX_MIGRATE
    if row.decision.approve_with and not is_ready:
        task = f"Run `flux migrate` with the Flux CLI {impact.cli} in every cluster that follows the tag"
        lines = stored_lines(impact.stored.refused, row.decision.target, TEXT)
        if impact.stored.unknown is not None:
            lines.append(f"{row.target} drops API versions that may be stored: {impact.stored.unknown}")
        yield Step(stage, task, Command.FLUX_MIGRATE, places=tuple(lines))
    elif impact.stored.refused or impact.has_to_migrate:
        what = f"Run `flux migrate` with the Flux CLI {impact.cli} in the cluster, before the upgrade is merged"
        yield Step(stage, what, Command.FLUX_MIGRATE)
    elif impact.stored.unknown and not impact.is_confirmed and impact.drops_versions and not impact.by_operator:
        what = "Run `flux migrate` in the cluster if it never ran there: Git does not show which API versions it stores"
        yield Step(stage, what, Command.FLUX_MIGRATE)
    if impact.waits_for_operator:
        yield Step(stage, f"Check that the FluxInstance is ready: {OPERATOR_MIGRATES}")
    managed = impact.managed
    if managed is not None and managed.is_after and not managed.is_done:
        what = f"Run `flux migrate` with the Flux CLI {managed.cli} in the cluster, right after the upgrade is merged"
        yield Step(Stage.AFTER_READY if is_ready else Stage.AFTER, what, Command.FLUX_MIGRATE)


def findings_of(row: Row) -> Iterator[Finding]:
    impact = row.plan.impact_of(row.decision)
    if impact is not None and row.state is not State.FAILED:
        for kind in FINDING_KINDS:
            yield from kind.find(impact, row.decision.target, TEXT)


def is_ready(row: Row) -> bool:
    return row.state in (State.READY, State.UPGRADED)
