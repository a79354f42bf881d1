"""Rows of the overview → what to do about them, in order.

What is the same for several clusters is one step, with all places that it concerns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import by_change, change_task, first_places
from flux_upgrade.findings.yaml_values import short
from flux_upgrade.impact.impact import Harm
from flux_upgrade.model.text import capitalized, first_few
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.approvals import split
from flux_upgrade.planning.plan import UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.route.impact_steps import breaking, findings_of, is_ready, of_impact
from flux_upgrade.route.migration_steps import migrations
from flux_upgrade.route.rollout_steps import UNKNOWN_BRANCH, after_rollout, after_writing
from flux_upgrade.route.rows import Row, State
from flux_upgrade.route.step import Command, Stage, Step

_FEW = 3


def steps_of(rows: Sequence[Row], plans: Sequence[UpdateGroupPlan], written: Collection[str] = ()) -> Iterator[Step]:
    """Yield each step once, in order. ``written``: paths of the files that this run has migrated."""
    found: dict[Step, tuple[dict[str, dict[str, None]], dict[str, None]]] = {}
    of_rows = [step for row in rows for step in _of_row(row)]
    for each in (*migrations(rows, plans, written), *of_rows, *_of_changes(rows)):
        reasons, clusters = found.setdefault(each._replace(places=(), clusters=(), reason=""), ({}, {}))
        reasons.setdefault(each.reason, {}).update(dict.fromkeys(each.places))
        clusters.update(dict.fromkeys(each.clusters))
    # One merge takes all files. A branch is looked for only for clusters: if it is unknown for one, that stays a step.
    merges = [step for step in found if step.stage is Stage.MERGE]
    references = {row.name for row in rows if row.is_reference}
    if len(merges) > 1 and UNKNOWN_BRANCH in merges and found[UNKNOWN_BRANCH][1].keys() <= references:
        found.pop(UNKNOWN_BRANCH)
    for step, (reasons, clusters) in sorted(found.items(), key=lambda each: each[0].stage):
        lines: list[str] = []
        for reason, places in reasons.items():
            lines += [f"{first_few(list(places), _FEW)}: {reason}"] if reason else places
        is_for_some = step.command is Command.APPROVE and _concerns_others(step, clusters, rows)
        names = tuple(clusters) if is_for_some else ()
        yield step._replace(places=tuple(lines), clusters=tuple(clusters), names=names)


def _concerns_others(step: Step, clusters: Collection[str], rows: Sequence[Row]) -> bool:
    """Return whether an approval that names no cluster would upgrade clusters that a step is not about."""
    name, version = split(step.argument)
    if name or any(row.name in clusters and not row.is_named for row in rows):
        return False
    release = Version(version if version.startswith("v") else f"v{version}.0")
    others = (row for row in rows if not row.is_reference and row.name not in clusters)
    return any(row.plan.pin.version and row.plan.pin.version < release for row in others)


def _of_changes(rows: Sequence[Row]) -> Iterator[Step]:
    """Known changes of Flux that break something, or may: each is one step for all clusters."""
    for stage in (Stage.BEFORE_READY, Stage.CHECK):
        mine = [row for row in rows if is_ready(row) == (stage is Stage.BEFORE_READY)]
        for change, places in by_change([each for row in mine for each in findings_of(row)]):
            if change.harm is not Harm.DIFFERS:
                task, lines = change_task(change, places), (change.what, first_places(places))
                rules = ((row.name, each.change.rule) for row in mine for each in findings_of(row) if each.change)
                concerned = (name for name, rule in rules if rule == change.rule)
                yield Step(stage, task, places=lines, clusters=tuple(dict.fromkeys(concerned)))


def _of_row(row: Row) -> Iterator[Step]:
    # Why something failed, and what to do about it, is an error of the run.
    # What waits for another group takes care of itself.
    if row.state in (State.UP_TO_DATE, State.FAILED, State.WAITS):
        return
    for step in _steps_of(row):
        yield step._replace(clusters=(row.name,))


def _steps_of(row: Row) -> Iterator[Step]:
    hold = None if isinstance(row.decision, Upgrade) else row.decision
    impact = row.plan.impact_of(row.decision)
    is_pending = hold is not None and hold.reason is HoldReason.STEP_PENDING
    pending = row.plan.impacts.get(row.decision.bump_kind) if is_pending else None
    if hold is not None and impact is not None and _is_stepwise(hold, impact):
        first = impact.upgrade_path[0]
        yield Step(Stage.APPROVE, f"Upgrade to {first} first", Command.UPGRADE_TO, first)
        return
    before = list(of_impact(impact, row)) if impact is not None else []
    yield from before
    if row.state is State.UPGRADED:
        yield from after_writing(row)
    elif row.state is State.READY:
        yield Step(Stage.READY, f"Upgrade to {row.target}", Command.UPGRADE)
    elif pending is not None and hold is not None:
        yield from after_rollout(pending, hold)
    elif hold is None or hold.approve_with or row.state is State.NEEDS_APPROVAL:
        yield _approval(row, before)
    elif hold.reason is HoldReason.COOLING_DOWN:
        # An approval is possible now. If the policy needs none, the upgrade waits only for the date.
        yield from [_approval(row, before)] if hold.needs_approval else ()
    elif _ends(hold, impact) or any(hold.reason in each.holds for each in breaking(row)):
        upgrade = Step(Stage.APPROVE, f"Upgrade to {row.target}", Command.UPGRADE)
        yield _approval(row, before) if hold.needs_approval else upgrade
    else:
        yield from _unblock(row, hold)


def _unblock(row: Row, hold: Hold) -> Iterator[Step]:
    what = capitalized((hold.hint or hold.reason.remedy).rstrip("."))
    place = row.name if row.plan.pin.is_manifest else row.plan.pin.place(row.plan.path)
    conflicts = tuple(_conflicts(row))
    # What is listed below is not named twice.
    reason = hold.detail.partition(": ")[0] if conflicts else hold.detail
    yield Step(Stage.UNBLOCK, what, places=(place,), reason=reason)
    yield Step(Stage.UNBLOCK, what, places=conflicts)


def _conflicts(row: Row) -> Iterator[str]:
    """What the release changes, and the file has otherwise: the values before, yours, and the new ones."""
    tried = row.plan.tried.get(row.decision.bump_kind)
    for each in tried.carried.conflicts if tried is not None else ():
        before, mine, new = short(each.base, each.mine, each.target)
        yield f"{each.object} {each.where}: was {before}, yours is {mine}, {row.target} has {new}"


def _ends(hold: Hold, impact: Assessment | None) -> bool:
    """Whether the migration of manifests, which is a step of its own, ends a hold."""
    return hold.reason is HoldReason.MIGRATION_PENDING and impact is not None and bool(impact.moves)


def _approval(row: Row, before: Iterable[Step]) -> Step:
    """Return the step that approves an upgrade. ``before``: what has been done by then."""
    approval = BumpKind(row.bump_kind).approval(row.decision.target)
    argument = row.decision.approve_with or approval
    has_migrated = not row.decision.approve_with and Command.FLUX_MIGRATE in [each.command for each in before]
    return Step(Stage.APPROVE, f"Approve Flux {approval}", Command.APPROVE, argument, has_migrated=has_migrated)


def _is_stepwise(hold: Hold, impact: Assessment) -> bool:
    """Return whether a release was asked for that several steps lead to."""
    return hold.reason is HoldReason.BLOCKED_BY_API_REMOVAL and impact.upgrade_path[:1] not in ((), (hold.target,))
