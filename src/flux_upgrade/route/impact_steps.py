"""Findings about an upgrade → the steps that it takes before or after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import Finding, Severity
from flux_upgrade.findings.kinds import FINDING_KINDS
from flux_upgrade.findings.phrases import OPERATOR_MIGRATES, TEXT, Style, sentences, stored_lines
from flux_upgrade.impact.stored_versions.refused import cli_for
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.planning.plan import Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.route.step import Need, Stage, Step, Task


def before(
    impact: Assessment, decision: Upgrade | Hold, current: Version = NO_VERSION, *, is_ready: bool
) -> Iterator[Step]:
    """Yield what to do in a cluster before its upgrade is merged.

    ``current``: the release that it runs. ``is_ready``: nothing else is in the way.
    """
    target, base = decision.target, impact.base
    stage = Stage.BEFORE_READY if is_ready else Stage.PREPARE
    if base is not None and isinstance(base.pin, Unknown) and impact.is_base_uncertain(target):
        known = f"it is known whether the cluster runs {base.written}"
        yield Step(
            stage,
            Task.CHECK_RELEASE,
            f"Check with `flux version` that the cluster runs {base.written}",
            afterwards=known,
            places=(f"The checkout does not show it: {base.pin}",),
        )
    yield from _in_between(impact, decision, stage)
    yield from _flux_migrate(impact, decision, Stage.BEFORE_READY if is_ready else Stage.FLUX_MIGRATE)
    yield from _after_migration(impact, decision, current)
    if impact.waits_for_operator:
        sentence = f"Check that the FluxInstance is ready: {OPERATOR_MIGRATES}"
        yield Step(stage, Task.CHECK_FLUX_INSTANCE, sentence, afterwards=_stored(target))


def _in_between(impact: Assessment, decision: Upgrade | Hold, stage: Stage) -> Iterator[Step]:
    """Yield what blocks a jump over the steps that lead to a release."""
    is_held = isinstance(decision, Hold) and decision.reason is HoldReason.BLOCKED_BY_API_REMOVAL
    if impact.stored.after_migrate and not impact.upgrade_path and not is_held:  # A hold says it by itself
        task = "Store these objects in other API versions first"
        if impact.skipped:
            task = f"Upgrade to {' and then to '.join(impact.skipped)} first, and run `flux migrate` there"
        yield Step(
            stage,
            Task.UPGRADE_IN_BETWEEN,
            f"{task}: the API server rejects the CRDs of {decision.target}",
            afterwards=_stored(decision.target),
            places=tuple(stored_lines(impact.stored.after_migrate, decision.target, TEXT)),
            refused=impact.stored.after_migrate,
        )


def _flux_migrate(impact: Assessment, decision: Upgrade | Hold, stage: Stage) -> Iterator[Step]:
    target = decision.target
    is_tag = bool(decision.approve_with) and stage is Stage.FLUX_MIGRATE
    if is_tag:
        task = f"Run `flux migrate` with the Flux CLI {impact.cli} in every cluster that follows the tag"
        lines = stored_lines(impact.stored.refused, target, TEXT)
        if impact.stored.unknown is not None:
            lines.append(f"{target} drops API versions that may be stored: {impact.stored.unknown}")
        yield Step(stage, Task.FLUX_MIGRATE, task, afterwards=_stored(target), places=tuple(lines))
    elif impact.repaired or impact.has_to_migrate:
        sentence = f"Run `flux migrate` with the Flux CLI {impact.cli} in the cluster, before the upgrade is merged"
        yield Step(stage, Task.FLUX_MIGRATE, sentence, afterwards=_stored(target), refused=impact.repaired)
    is_covered = impact.is_confirmed or impact.has_to_migrate or impact.by_operator or is_tag
    if impact.stored.unknown and not is_covered and impact.drops_versions:
        sentence = (
            "Run `flux migrate` in the cluster if it never ran there: Git does not show which API versions it stores"
        )
        yield Step(stage, Task.CHECK_FLUX_MIGRATE, sentence, afterwards=_stored(target))


def _after_migration(impact: Assessment, decision: Upgrade | Hold, current: Version) -> Iterator[Step]:
    """Yield `flux migrate` between a migration and its upgrade: the history is read only once nothing is migrated."""
    is_pending = isinstance(decision, Hold) and decision.reason is HoldReason.MIGRATION_PENDING
    is_used = any(move.was_served and move.blocks for move in impact.moves)
    if is_pending and is_used and impact.managed is None and not impact.by_operator and not impact.repaired:
        sentence = (
            f"Run `flux migrate` with the Flux CLI {cli_for(current)} in the cluster, before the upgrade is merged"
        )
        yield Step(Stage.FLUX_MIGRATE, Task.FLUX_MIGRATE, sentence, afterwards=_stored(decision.target))


def right_after(impact: Assessment, target: Version, *, is_ready: bool) -> Iterator[Step]:
    """Yield what to do in a cluster as soon as the upgrade runs there."""
    managed = impact.managed
    if managed is not None and managed.is_after and not managed.is_done:
        yield Step(
            Stage.AFTER_READY if is_ready else Stage.AFTER,
            Task.FLUX_MIGRATE,
            f"Run `flux migrate` with the Flux CLI {managed.cli} in the cluster, right after the upgrade is merged",
            needs=(Need.MERGE, Need.RECONCILIATION),
            afterwards=f"Flux applies objects whose managed fields name API versions that {target} drops",
        )


def _stored(target: Version) -> str:
    return f"no object is stored in an API version that {target} drops"


def before_next(impact: Assessment, target: Version) -> Iterator[Step]:
    """Yield what to do in a cluster once it runs the first of several releases, so that the next can follow."""
    if not impact.upgrade_path:
        return
    stored = f"no object is stored in an API version that the releases after {target} drop"
    step = Step(Stage.THEN, Task.FLUX_MIGRATE, "", needs=(Need.RECONCILIATION,), afterwards=stored)
    if impact.by_operator:
        sentence = f"Wait until the FluxInstance is ready at {target}: {OPERATOR_MIGRATES}"
        yield step._replace(task=Task.CHECK_FLUX_INSTANCE, sentence=sentence)
    else:
        sentence = f"Run `flux migrate` with the Flux CLI {cli_for(target)} in the cluster, once {target} runs there"
        yield step._replace(sentence=sentence)


Assessed = tuple[Assessment, Version]
"""An assessment and its target."""


def fixes(assessed: Iterable[Assessed], style: Style, stage: Stage, *, is_patch: bool = False) -> Iterator[Step]:
    """Yield what fails or changes with upgrades, a step for each place. ``is_patch``: they are of the same minor."""
    every = list(assessed)
    for kind in FINDING_KINDS:
        if is_patch and kind.is_for_minors:
            continue
        for impact, target in every:
            for finding in kind.find(impact, target, style):
                if finding.task:
                    task = Task.FIX if finding.severity <= Severity.RISKS else Task.REVIEW
                    sentence = finding.task.replace("{target}", target)
                    done = f"{target} does not break this"
                    yield Step(stage, task, sentence, afterwards=done, finding=finding)


def breaking(
    impact: Assessment, target: Version, stage: Stage, planned: frozenset[str] = frozenset()
) -> Iterator[Step]:
    """Yield what fails, or may, with its places as text.

    What is migrated for the user is a step of its own, and so are known changes of Flux. ``planned``: the releases of
    clusters that are upgraded by other steps.
    """
    for step in fixes([(impact, target)], TEXT, stage):
        finding = step.finding
        if finding is None or step.task is not Task.FIX:
            continue
        if HoldReason.MIGRATION_PENDING in finding.holds or finding.change is not None:
            continue
        if finding.wording or not finding.path:
            places: tuple[str, ...] = (finding.worded(TEXT),)
        else:
            why = sentences(TEXT, finding.what, finding.remedy)
            places = tuple(filter(None, (why, f"{finding.path}:{finding.line}: {', '.join(finding.names)}")))
        is_later = bool(finding.after) and planned.issuperset(finding.after)
        yield (_planned_later(finding, target) if is_later else step)._replace(places=places)


def _planned_later(finding: Finding, target: Version) -> Step:
    others = enumeration(finding.after)
    sentence = f"Plan the upgrade to {target} again, once the clusters at {others} are upgraded"
    return Step(Stage.THEN, Task.PLAN, sentence, needs=(Need.RECONCILIATION,), finding=finding)
