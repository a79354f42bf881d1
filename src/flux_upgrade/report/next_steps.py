"""Rows of the overview → what to do about them, in order, and what else to know.

What is the same for several clusters is one step, with all places that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.impact.impact import Impact
from flux_upgrade.impact.migrate.result import Move
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import first_few
from flux_upgrade.planning.plan import UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.finding_kinds import FINDING_KINDS
from flux_upgrade.report.findings import Finding, Severity, by_change
from flux_upgrade.report.impact_phrases import TEXT, detour_sentence, move_line, sentences, uses_of
from flux_upgrade.report.overview_rows import Row, State
from flux_upgrade.report.steps import Command, Remark, Stage, Step
from flux_upgrade.report.wording import edit_phrase, short

_FEW = 3


def steps_of(rows: Sequence[Row], plans: Sequence[UpdateGroupPlan]) -> Iterator[Step]:
    """Each once, in order."""
    found: dict[tuple[Stage, str, Command, str], tuple[dict[str, None], dict[str, None]]] = {}
    for each in (*_migrations(rows, plans), *(step for row in rows for step in _of_row(row))):
        places, clusters = found.setdefault((each.stage, each.what, each.command, each.argument), ({}, {}))
        places.update(dict.fromkeys(each.places))
        clusters.update(dict.fromkeys(each.clusters))
    for (stage, what, command, argument), (places, clusters) in sorted(found.items(), key=lambda each: each[0][0]):
        yield Step(stage, what, command, argument, tuple(places), tuple(clusters))


def _migrations(rows: Sequence[Row], plans: Sequence[UpdateGroupPlan]) -> Iterator[Step]:
    """Of the files that are migrated before their clusters are upgraded."""
    moves: dict[str, list[Move]] = {}
    for each in (each for group in plans for plan in group.migrations for each in plan.upgrades):
        moves.setdefault(str(each.target), []).extend(move for file in each.moved for move in file.moves)
    for target, found in moves.items():
        files = {move.use.path for move in found}
        names = tuple(dict.fromkeys(row.name for row in rows if not files.isdisjoint(_migrated_files(row))))
        what = f"Migrate {uses_of(found)} to API versions that {target} serves"
        places = tuple(move_line(move, TEXT) for move in found)
        yield Step(Stage.MIGRATE, what, Command.MIGRATE, target, places, names)
        yield Step(Stage.RECONCILE, "Merge the migration, and wait until Flux has reconciled it", clusters=names)


def _migrated_files(row: Row) -> Iterator[str]:
    impact = _impact(row)
    yield from (move.use.path for move in impact.moves) if impact is not None and row.state is State.HELD else ()


def _of_row(row: Row) -> Iterator[Step]:
    if row.state is State.UP_TO_DATE:
        return
    clusters = (row.name,)
    impact = _impact(row)
    is_ready = row.state in (State.READY, State.UPGRADED)
    steps = [] if impact is None else [*_of_impact(impact, row, is_ready=is_ready)]
    yield from (step._replace(clusters=clusters) for step in steps)
    hold = None if isinstance(row.decision, Upgrade) else row.decision
    if row.state is State.UPGRADED:
        yield Step(Stage.READY, "Review the changed files, then commit and push them", clusters=clusters)
    elif row.state is State.READY:
        yield Step(Stage.READY, f"Upgrade to {row.target}", Command.UPGRADE, clusters=clusters)
    elif hold is None or row.state is State.NEEDS_APPROVAL:
        yield _approval(row)
    elif _ends(hold, impact) or any(step.stage is Stage.PREPARE for step in steps):
        yield _approval(row) if hold.needs_approval else _upgrade_later(row)
    else:
        what = hold.hint or hold.reason.remedy
        places = (": ".join(filter(None, (row.name, hold.detail))), *_conflicts(row))
        yield Step(Stage.UNBLOCK, f"{what[:1].upper()}{what[1:].rstrip('.')}", places=places, clusters=clusters)


def _conflicts(row: Row) -> Iterator[str]:
    """What the release changes, and the file has otherwise: the values before, yours, and the new ones."""
    tried = row.plan.tried.get(row.decision.bump_kind)
    for each in tried.carried.conflicts if tried is not None else ():
        before, mine, new = (
            "nothing" if value is None else short(value) for value in (each.base, each.mine, each.target)
        )
        yield f"{each.object} {each.where}: was {before}, yours is {mine}, {row.target} has {new}"


def _ends(hold: Hold, impact: Impact | None) -> bool:
    """Whether the migration of manifests, which is a step of its own, ends a hold."""
    return hold.reason is HoldReason.MIGRATION_PENDING and impact is not None and bool(impact.moves)


def _of_change(row: Row) -> Iterator[tuple[str, Sequence[str]]]:
    """What the new manifest keeps, and what could not be checked: a sentence, and what it is about."""
    change = row.decision.change.manifest if isinstance(row.decision, Upgrade) else None
    if change is None:
        return
    if not change.verified:
        yield f"no-checksum: there is no published checksum for the manifests of {row.target}.", (row.name,)
    if change.evidence:
        yield f"{row.target} is newer than the rules of this flux-upgrade, but {change.evidence}.", (row.name,)
    for edits, what in ((change.carried.kept, "kept"), (change.carried.dropped, "given up for the release's own")):
        if edits:
            lines = [edit_phrase(each, str, short) for each in edits]
            yield f"{row.name}: {counted(len(edits), 'manual edit')} {what}", lines


def _impact(row: Row) -> Impact | None:
    return row.decision.impact if isinstance(row.decision, Upgrade) else row.plan.impacts.get(row.decision.bump_kind)


def _approval(row: Row) -> Step:
    approval = BumpKind(row.bump_kind).approval(row.decision.target)
    return Step(Stage.APPROVE, f"Approve Flux {approval}", Command.APPROVE, approval, clusters=(row.name,))


def _upgrade_later(row: Row) -> Step:
    return Step(Stage.APPROVE, f"Upgrade to {row.target}", Command.UPGRADE, clusters=(row.name,))


def _of_impact(impact: Impact, row: Row, *, is_ready: bool) -> Iterator[Step]:
    yield from _flux_migrate(impact, is_ready=is_ready)
    stage = Stage.BEFORE_READY if is_ready else Stage.PREPARE
    for found in _findings(impact, row):
        # What is migrated for you is a step of its own.
        if found.severity is Severity.BREAKS and found.task and HoldReason.MIGRATION_PENDING not in found.holds:
            task = found.task.replace("{target}", row.target)
            if found.wording or not found.path:
                yield Step(stage, task, places=(found.worded(TEXT),))
            else:
                why = sentences(TEXT, found.what, found.remedy)
                place = f"{found.path}:{found.line}: {', '.join(found.names)}"
                yield Step(stage, ": ".join(filter(None, (task, why.rstrip(".")))), places=(place,))


def _flux_migrate(impact: Impact, *, is_ready: bool) -> Iterator[Step]:
    stage = Stage.BEFORE_READY if is_ready else Stage.FLUX_MIGRATE
    if impact.stored.refused or impact.has_to_migrate:
        what = f"Run `flux migrate` with the Flux CLI {impact.cli} in the cluster, before the upgrade is merged"
        yield Step(stage, what, Command.FLUX_MIGRATE)
    elif impact.stored.unknown and not impact.is_confirmed and _drops_versions(impact):
        what = "Run `flux migrate` in the cluster if it never ran there: Git does not show which API versions it stores"
        yield Step(stage, what, Command.FLUX_MIGRATE)
    managed = impact.managed
    if managed is not None and managed.is_after and not managed.is_done:
        what = f"Run `flux migrate` with the Flux CLI {managed.cli} in the cluster, right after the upgrade is merged"
        yield Step(Stage.AFTER_READY if is_ready else Stage.AFTER, what, Command.FLUX_MIGRATE)


def _drops_versions(impact: Impact) -> bool:
    return impact.changes is None or any(each.unserved or each.removed for each in impact.changes.crds)


def _findings(impact: Impact, row: Row) -> Iterator[Finding]:
    for kind in FINDING_KINDS:
        yield from kind.find(impact, row.decision.target, TEXT)


def remarks_of(rows: Iterable[Row]) -> Iterator[Remark]:
    """What behaves differently, what is to be reviewed, and what was kept: each once, with all places."""
    changed: list[Finding] = []
    reviews: dict[str, dict[str, None]] = {}
    for row in rows:
        for what, places in _of_change(row):
            reviews.setdefault(what, {}).update(dict.fromkeys(places))
        impact = _impact(row)
        if impact is not None and impact.detour is not None:
            why = detour_sentence(impact.detour, row.decision.target, TEXT)
            reviews.setdefault(why, {})[row.name] = None
        for found in _findings(impact, row) if impact is not None else ():
            if found.change is not None:
                changed.append(found)
            elif found.severity is Severity.REVIEW and found.task:
                task = found.task.replace("{target}", row.target)
                reviews.setdefault(task, {})[found.worded(TEXT)] = None
    for found_places in by_change(changed):
        change = found_places[0].change
        assert change is not None  # noqa: S101 `by_change` has seen to it
        where = first_few([f"{each.path}:{each.line}" for each in found_places], _FEW)
        yield Remark(
            f"Flux {change.since} behaves differently: {change.what}",
            (f"{counted(len(found_places), 'resource')}: {where}",),
        )
    for task, lines in reviews.items():
        yield Remark(task, tuple(lines))
