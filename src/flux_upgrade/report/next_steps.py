"""Rows of the overview → what to do about them, in order, and what else to know.

What is the same for several clusters is one step, with all places that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.impact.impact import Harm
from flux_upgrade.impact.migrate.result import Move
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import capitalized, first_few
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.planning.plan import UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.finding_kinds import FINDING_KINDS
from flux_upgrade.report.findings import Finding, Severity, by_change, change_task
from flux_upgrade.report.impact_phrases import (
    OPERATOR_MIGRATES,
    TEXT,
    detour_sentence,
    move_line,
    sentences,
    stored_lines,
    uses_of,
)
from flux_upgrade.report.overview_rows import Command, Remark, Row, Stage, State, Step
from flux_upgrade.report.wording import edit_phrase, short

_FEW = 3


def steps_of(rows: Sequence[Row], plans: Sequence[UpdateGroupPlan]) -> Iterator[Step]:
    """Each once, in order."""
    found: dict[tuple[Stage, str, Command, str], tuple[dict[str, dict[str, None]], dict[str, None]]] = {}
    of_rows = [step for row in rows for step in _of_row(row)]
    for each in (*_migrations(rows, plans), *of_rows, *_of_changes(rows)):
        reasons, clusters = found.setdefault((each.stage, each.what, each.command, each.argument), ({}, {}))
        reasons.setdefault(each.reason, {}).update(dict.fromkeys(each.places))
        clusters.update(dict.fromkeys(each.clusters))
    for (stage, what, command, argument), (reasons, clusters) in sorted(found.items(), key=lambda each: each[0][0]):
        lines: list[str] = []
        for reason, places in reasons.items():
            lines += [f"{first_few(list(places), _FEW)}: {reason}"] if reason else places
        yield Step(stage, what, command, argument, tuple(lines), tuple(clusters))


def _of_changes(rows: Sequence[Row]) -> Iterator[Step]:
    """Known changes of Flux that break something, or may: each is one step for all clusters."""
    for stage in (Stage.BEFORE_READY, Stage.CHECK):
        mine = [row for row in rows if _is_ready(row) == (stage is Stage.BEFORE_READY)]
        for change, places in by_change([each for row in mine for each in _findings_of(row)]):
            if change.harm is not Harm.DIFFERS:
                task, lines = change_task(change, places), (change.what, _where(places))
                rules = ((row.name, each.change.rule) for row in mine for each in _findings_of(row) if each.change)
                concerned = (name for name, rule in rules if rule == change.rule)
                yield Step(stage, task, places=lines, clusters=tuple(dict.fromkeys(concerned)))


def _where(places: Sequence[Finding]) -> str:
    return first_few([f"{each.path}:{each.line}" for each in places], _FEW)


def _migrations(rows: Sequence[Row], plans: Sequence[UpdateGroupPlan]) -> Iterator[Step]:
    """Of the files that are migrated before their clusters are upgraded."""
    moves: dict[str, list[Move]] = {}
    for each in [each for group in plans for plan in group.migrations for each in plan.upgrades]:
        moves.setdefault(str(each.target), []).extend(move for file in each.moved for move in file.moves)
    for target, found in moves.items():
        files = {move.use.path for move in found}
        names = tuple(dict.fromkeys(row.name for row in rows if not files.isdisjoint(_migrated_files(row))))
        what = f"Migrate {uses_of(found)} to API versions that {target} serves"
        places = tuple(move_line(move, TEXT) for move in found)
        yield Step(Stage.MIGRATE, what, Command.MIGRATE, target, places, names)
        yield Step(Stage.RECONCILE, "Merge the migration, and wait until Flux has reconciled it", clusters=names)


def _migrated_files(row: Row) -> Iterator[str]:
    impact = row.plan.impact_of(row.decision)
    yield from (move.use.path for move in impact.moves) if impact is not None and row.state is State.HELD else ()


def _of_row(row: Row) -> Iterator[Step]:
    # Why something failed, and what to do about it, is an error of the run.
    # What waits for another group takes care of itself.
    if row.state in (State.UP_TO_DATE, State.FAILED, State.WAITS):
        return
    clusters = (row.name,)
    impact = row.plan.impact_of(row.decision)
    if impact is not None:
        for step in _of_impact(impact, row):
            yield step._replace(clusters=clusters)
    hold = None if isinstance(row.decision, Upgrade) else row.decision
    if row.state is State.UPGRADED:
        yield Step(Stage.READY, "Review the changed files, then commit and push them", clusters=clusters)
    elif row.state is State.READY:
        yield Step(Stage.READY, f"Upgrade to {row.target}", Command.UPGRADE, clusters=clusters)
    elif hold is None or hold.approve_with or row.state is State.NEEDS_APPROVAL:
        yield _approval(row)
    elif _ends(hold, impact) or any(hold.reason in each.holds for each in _breaking(row)):
        upgrade = Step(Stage.APPROVE, f"Upgrade to {row.target}", Command.UPGRADE, clusters=clusters)
        yield _approval(row) if hold.needs_approval else upgrade
    else:
        what = capitalized((hold.hint or hold.reason.remedy).rstrip("."))
        place = row.name if row.plan.pin.is_manifest else row.plan.pin.place(row.plan.path)
        conflicts = tuple(_conflicts(row))
        # What is listed below is not named twice.
        reason = hold.detail.partition(": ")[0] if conflicts else hold.detail
        yield Step(Stage.UNBLOCK, what, places=(place,), clusters=clusters, reason=reason)
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


def _of_change(row: Row) -> Iterator[tuple[str, Sequence[str]]]:
    """What the new manifest keeps, and what could not be checked: a sentence, and what it is about."""
    change = row.decision.change.manifest if isinstance(row.decision, Upgrade) else None
    if change is None:
        return
    if not change.verified:
        yield f"no-checksum: no checksum is published for the manifests of {row.target}.", (row.name,)
    if change.evidence:
        yield f"{row.target} is newer than this flux-upgrade, but {change.evidence}.", (row.name,)
    for edits, what in ((change.carried.kept, "kept"), (change.carried.dropped, "given up for the release's own")):
        lines = [edit_phrase(each, str, short) for each in edits if not each.is_absence]
        if lines:
            yield f"{row.name}: {counted(len(lines), 'manual edit')} {what}", lines


def _approval(row: Row) -> Step:
    approval = BumpKind(row.bump_kind).approval(row.decision.target)
    argument = row.decision.approve_with or approval
    return Step(Stage.APPROVE, f"Approve Flux {approval}", Command.APPROVE, argument, clusters=(row.name,))


def _is_ready(row: Row) -> bool:
    return row.state in (State.READY, State.UPGRADED)


def _of_impact(impact: Assessment, row: Row) -> Iterator[Step]:
    stage = Stage.BEFORE_READY if _is_ready(row) else Stage.PREPARE
    base = impact.base
    if base is not None and isinstance(base.pin, Unknown) and impact.is_base_uncertain(row.decision.target):
        task = f"Check with `flux version` that the cluster runs {base.written}"
        yield Step(stage, task, Command.FLUX_VERSION, places=(f"The checkout does not show it: {base.pin}",))
    yield from _flux_migrate(impact, row, is_ready=_is_ready(row))
    for found in _breaking(row):
        task = found.task.replace("{target}", row.target)
        if found.wording or not found.path:
            yield Step(stage, task, places=(found.worded(TEXT),))
        else:
            why = sentences(TEXT, found.what, found.remedy)
            place = f"{found.path}:{found.line}: {', '.join(found.names)}"
            yield Step(stage, task, places=tuple(filter(None, (why, place))))


def _breaking(row: Row) -> Iterator[Finding]:
    """What fails, or may. What is migrated for you is a step of its own, and so are known changes."""
    for found in _findings_of(row):
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


def _findings_of(row: Row) -> Iterator[Finding]:
    impact = row.plan.impact_of(row.decision)
    if impact is not None and row.state is not State.FAILED:
        for kind in FINDING_KINDS:
            yield from kind.find(impact, row.decision.target, TEXT)


def remarks_of(rows: Sequence[Row]) -> Iterator[Remark]:
    """What behaves differently, what is to be reviewed, and what was kept: each once, with all places."""
    changed: list[Finding] = []
    reviews: dict[str, dict[str, None]] = {}
    for row in rows:
        for what, about in _of_change(row):
            reviews.setdefault(what, {}).update(dict.fromkeys(about))
        impact = row.plan.impact_of(row.decision)
        if impact is not None and impact.detour is not None:
            why = detour_sentence(impact.detour, row.decision.target, TEXT)
            reviews.setdefault(why, {})[row.name] = None
        for found in _findings_of(row):
            if found.change is not None:
                changed.append(found)
            elif found.severity is Severity.REVIEW and found.task:
                task = found.task.replace("{target}", row.target)
                reviews.setdefault(task, {})[found.worded(TEXT)] = None
    for change, places in by_change(changed):
        if change.harm is Harm.DIFFERS:
            yield Remark(f"{change_task(change, places)}: {change.what}", (_where(places),))
    names = {row.name for row in rows}
    for task, lines in reviews.items():
        # A single cluster is not named again.
        yield Remark(task, tuple(line for line in lines if len(names) > 1 or line not in names))
