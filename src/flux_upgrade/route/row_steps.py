"""One row of the overview → the steps of its upgrade, or those that end what it is held for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeGuard

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import Finding
from flux_upgrade.findings.kinds import FINDING_KINDS
from flux_upgrade.findings.phrases import TEXT
from flux_upgrade.findings.yaml_values import short
from flux_upgrade.manifests.options import InstallOptions, validate
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import capitalized
from flux_upgrade.pins import before_flux_2
from flux_upgrade.planning.plan import Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.route.impact_steps import before, breaking, right_after
from flux_upgrade.route.pulls import Pulls
from flux_upgrade.route.rollout_steps import after_rollout, after_writing
from flux_upgrade.route.rows import Row, State
from flux_upgrade.route.step import Actor, Need, Stage, Step, Task


def findings_of(row: Row) -> Iterator[Finding]:
    impact = row.plan.impact_of(row.decision)
    if impact is not None and row.state is not State.FAILED:
        for kind in FINDING_KINDS:
            yield from kind.find(impact, row.decision.target, TEXT)


def is_ready(row: Row) -> bool:
    return row.state in (State.READY, State.UPGRADED)


def of_row(row: Row, pulls: Pulls, planned: frozenset[str]) -> Iterator[Step]:
    """Yield the steps of one row, in order. ``planned``: the releases of clusters that have steps."""
    # Why something failed, and what to do about it, is an error of the run.
    if row.state in (State.UP_TO_DATE, State.FAILED):
        return
    steps = sorted(_steps_of(row, pulls, planned), key=lambda step: step.stage)
    for step in steps:
        needs = (Need.STEP, *step.needs) if step.stage > steps[0].stage else step.needs
        yield step._replace(clusters=(row.name,), needs=needs)


def _steps_of(row: Row, pulls: Pulls, planned: frozenset[str]) -> Iterator[Step]:
    if isinstance(row.decision, Upgrade):
        yield from _of_upgrade(row, row.decision, pulls)
    else:
        yield from _of_hold(row, row.decision, planned)


def _of_upgrade(row: Row, upgrade: Upgrade, pulls: Pulls) -> Iterator[Step]:
    if row.state is State.WAITS:
        # If a user has to act, the group before has the step.
        sentence = f"Wait: {'; '.join(upgrade.waits_for)}"
        yield Step(Stage.WAIT, Task.WAIT, sentence, Actor.TIME, (Need.DATE,), f"{row.target} is ready")
        return
    steps = list(_of_impact(row))
    yield from steps
    for task in upgrade.change.todo:
        done = f"{upgrade.change.artifact or row.target} can be used"
        yield Step(Stage.BEFORE_READY, Task.FINISH, capitalized(task.rstrip(".")), afterwards=done)
    pull = pulls.get((row.group, upgrade.bump_kind))
    if row.state is State.UPGRADED:
        yield from after_writing(row)
    elif row.state is State.NEEDS_APPROVAL:
        step = _approval(row, steps)
        yield step if pull is None else step._replace(way=pull.approve, link=pull.url)
    elif pull is None or pull.is_issue:
        yield _upgrade(row, Stage.READY)
    else:
        merged = f"the branch that Flux follows has {row.target}"
        step = _upgrade(row, Stage.READY)
        yield step._replace(task=Task.MERGE, way=pull.merge, afterwards=merged, link=pull.url)


def _of_hold(row: Row, hold: Hold, planned: frozenset[str]) -> Iterator[Step]:
    impact = row.plan.impact_of(hold)
    pending = row.plan.impacts.get(hold.bump_kind) if hold.reason is HoldReason.STEP_PENDING else None
    is_blocked = hold.reason is HoldReason.BLOCKED_BY_API_REMOVAL
    if is_blocked and impact is not None and impact.takes_steps_to(hold.target):  # A user asked for this release
        first = impact.upgrade_path[0]
        has_first = f"the files have {first}"
        yield Step(Stage.APPROVE, Task.UPGRADE_TO, f"Upgrade to {first} first", afterwards=has_first, argument=first)
        return
    steps = list(_of_impact(row, planned))
    yield from steps
    if pending is not None:
        yield from after_rollout(pending, hold)
    elif hold.approve_with or row.state is State.NEEDS_APPROVAL:
        yield _approval(row, steps)
    elif hold.reason is HoldReason.COOLING_DOWN:
        # An approval is possible now. If the policy needs none, the upgrade waits only for the date.
        yield _approval(row, steps) if hold.needs_approval else _wait(row, hold)
    elif any(step.task is Task.PLAN for step in steps):
        return  # The next plan knows more
    elif _ends(hold, impact) or _is_broken(row, hold):
        yield _approval(row, steps) if hold.needs_approval else _upgrade(row, Stage.APPROVE)
    else:
        yield from _unblock(row, hold)


def _of_impact(row: Row, planned: frozenset[str] = frozenset()) -> Iterator[Step]:
    impact = row.plan.impact_of(row.decision)
    if impact is not None:
        ready = is_ready(row)
        steps = list(before(impact, row.decision, row.plan.pin.version, is_ready=ready))
        runs = any(step.task is Task.FLUX_MIGRATE for step in steps)  # In any case, so that there is nothing to check
        yield from (step for step in steps if not (runs and step.task is Task.CHECK_FLUX_MIGRATE))
        yield from right_after(impact, row.decision.target, is_ready=ready)
        yield from breaking(impact, row.decision.target, Stage.BEFORE_READY if ready else Stage.PREPARE, planned)


def _is_broken(row: Row, hold: Hold) -> bool:
    """Return whether steps of the route end a hold: what it holds for is fixed in them."""
    impact = row.plan.impact_of(hold)
    steps = breaking(impact, hold.target, Stage.PREPARE) if impact is not None else ()
    return any(step.finding is not None and hold.reason in step.finding.holds for step in steps)


def _upgrade(row: Row, stage: Stage) -> Step:
    return Step(stage, Task.UPGRADE, f"Upgrade to {row.target}", afterwards=f"the files have {row.target}")


def _wait(row: Row, hold: Hold) -> Step:
    sentence = f"Wait until {hold.until[:10]}" if hold.until else "Wait for the end of the cool-down"
    return Step(Stage.WAIT, Task.WAIT, sentence, Actor.TIME, (Need.DATE,), f"{row.target} is ready")


def _from_flux_0(row: Row, options: InstallOptions) -> Iterator[Step]:
    """Yield the steps from Flux v0 to the first release of Flux 2, whose manifest replaces the file."""
    release = before_flux_2.FIRST
    sentence = f"Write the manifest of {release} with your flags, and restore your manual edits: `git diff` shows them"
    step = Step(Stage.UNBLOCK, Task.RENDER, sentence, afterwards=f"the file has {release}", place=row.plan.path)
    places = (f"{before_flux_2.HELM}. See {before_flux_2.UPGRADE}",)
    yield step._replace(flags=options._replace(version=release).command_line(), places=places)
    merge = f"Review the changed files, commit them, and merge them. Wait until Flux has reconciled {release}"
    yield Step(Stage.UNBLOCK, Task.MERGE, merge, needs=(Need.STEP,), afterwards=f"the cluster runs {release}")
    yield Step(Stage.UNBLOCK, Task.PLAN, "Plan the next step", needs=(Need.RECONCILIATION,))


def _is_usable(options: InstallOptions | None) -> TypeGuard[InstallOptions]:
    """Return whether the recovered flags can be given to Flux."""
    with suppress(UsageError):
        if options is not None:
            validate(options)
            return True
    return False


def _unblock(row: Row, hold: Hold) -> Iterator[Step]:
    pin = row.plan.pin
    options = pin.proof.options if pin.is_manifest and before_flux_2.leads_to_first(pin.stated_version) else None
    if _is_usable(options):
        yield from _from_flux_0(row, options)
        return
    sentence = capitalized((hold.hint or hold.reason.remedy).rstrip("."))
    place = row.name if row.plan.pin.is_manifest else row.plan.pin.place(row.plan.path)
    conflicts = tuple(_conflicts(row))
    # What is listed below is not named twice.
    reason = hold.detail.partition(": ")[0] if conflicts else hold.detail
    ended = f"{row.target or row.name} is no longer held"
    step = Step(Stage.UNBLOCK, Task.UNBLOCK, sentence, afterwards=ended)
    if hold.reason.effect.verb:  # Only an approval ends a rejection
        step = step._replace(task=Task.APPROVE, argument=hold.bump_kind.approval(hold.target))
    yield step._replace(places=(place,), reason=reason)
    yield step._replace(places=conflicts)


def _conflicts(row: Row) -> Iterator[str]:
    """What the release changes, and the file has otherwise: the values before, yours, and the new ones."""
    tried = row.plan.tried.get(row.decision.bump_kind)
    for conflict in tried.carried.conflicts if tried is not None else ():
        base, mine, new = short(conflict.base, conflict.mine, conflict.target)
        yield f"{conflict.object} {conflict.where}: was {base}, yours is {mine}, {row.target} has {new}"


def _ends(hold: Hold, impact: Assessment | None) -> bool:
    """Whether the migration of manifests, which is a step of its own, ends a hold."""
    return hold.reason is HoldReason.MIGRATION_PENDING and impact is not None and bool(impact.moves)


def _approval(row: Row, steps: Iterable[Step]) -> Step:
    """Return the step that approves an upgrade. ``steps``: what has been done by then."""
    approval = BumpKind(row.bump_kind).approval(row.decision.target)
    argument = row.decision.approve_with or approval
    migrates = (Task.FLUX_MIGRATE, Task.CHECK_FLUX_MIGRATE)
    has_migrated: bool | None = any(step.task in migrates and step.stage < Stage.APPROVE for step in steps)
    if row.decision.approve_with:
        has_migrated = False
    elif not has_migrated and not (isinstance(row.decision, Upgrade) and row.decision.impact is not None):
        has_migrated = None
    step = Step(Stage.APPROVE, Task.APPROVE, f"Approve Flux {approval}", afterwards=f"Flux {approval} is approved")
    return step._replace(argument=argument, has_migrated=has_migrated)
