"""Rows of the overview → what to do about them, in order.

What is the same for several clusters is one step, with all places that it concerns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from flux_upgrade.assessment.assessment import ClusterBase
from flux_upgrade.findings.finding import by_change, change_task, first_places
from flux_upgrade.impact.impact import Harm
from flux_upgrade.model.text import first_few
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.approvals import split
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.route.migration_steps import migrations
from flux_upgrade.route.pulls import Pulls
from flux_upgrade.route.rollout_steps import is_unknown_branch, merge
from flux_upgrade.route.row_steps import findings_of, is_ready, of_row
from flux_upgrade.route.rows import Row, State
from flux_upgrade.route.step import Actor, Need, Stage, Step, Task

_FEW = 3
_ALL_MERGED: Mapping[str, ClusterBase] = {}


def route_of(
    rows: Sequence[Row],
    plans: Sequence[UpdateGroupPlan],
    written: Collection[str] = (),
    pulls: Pulls | None = None,
    unmerged: Mapping[str, ClusterBase] = _ALL_MERGED,
) -> Iterator[Step]:
    """Yield each step once, in order.

    ``written``: paths of the files that this run has migrated. ``pulls``: what is open; None: the run opens none.
    ``unmerged``: path of a file that has the newest release → what the cluster runs instead.
    """
    by = Actor.YOU if pulls is None else Actor.FLUX_UPGRADE
    moving = [row for row in rows if row.state not in (State.UP_TO_DATE, State.FAILED) and not row.is_reference]
    planned = frozenset(row.current for row in moving)
    of_rows = [step for row in rows for step in of_row(row, pulls or {}, planned)]
    for row in rows:
        base = unmerged.get(row.plan.path) if row.state is State.UP_TO_DATE else None
        if base is not None:
            of_rows.append(merge(row.plan.path, str(row.plan.pin.version), base)._replace(clusters=(row.name,)))
    merged = _alike([*migrations(rows, plans, written, pulls or {}, by=by), *of_rows, *_of_changes(rows)])
    # One merge takes all files. A branch is looked for only for clusters: if it is unknown for one, that stays a step.
    merges = [kind for kind in merged if kind.stage is Stage.MERGE]
    unknown = next(filter(is_unknown_branch, merges), None)
    references = {row.name for row in rows if row.is_reference}
    if unknown is not None and len(merges) > 1 and {*_clusters(merged[unknown])} <= references:
        merged.pop(unknown)
    for kind, steps in sorted(merged.items(), key=lambda item: item[0].stage):
        step = _joined(kind, steps)
        is_for_some = step.task is Task.APPROVE and _concerns_others(step, rows)
        yield step._replace(names=step.clusters) if is_for_some else step


def _alike(steps: Sequence[Step]) -> dict[Step, list[Step]]:
    """Return steps by their kind.

    Where nothing is known of stored objects, a step is apart from one whose command says that `flux migrate` ran.
    """
    migrated = {step.kind for step in steps if step.has_migrated}
    alike: dict[Step, list[Step]] = {}
    for step in steps:
        is_apart = step.has_migrated is None and step.kind in migrated
        alike.setdefault(step.kind._replace(has_migrated=None if is_apart else False), []).append(step)
    return alike


def _joined(kind: Step, steps: Sequence[Step]) -> Step:
    """Return steps of one kind as one, about all of their clusters and places."""
    reasons: dict[str, dict[str, None]] = {}
    for step in steps:
        reasons.setdefault(step.reason, {}).update(dict.fromkeys(step.places))
    lines: list[str] = []
    for reason, places in reasons.items():
        lines += [f"{first_few(list(places), _FEW)}: {reason}"] if reason else places
    return kind._replace(
        needs=tuple(need for need in Need if any(need in step.needs for step in steps)),
        afterwards="; ".join(dict.fromkeys(filter(None, (step.afterwards for step in steps)))),
        places=tuple(lines),
        clusters=_clusters(steps),
        # A cluster that is known not to need `flux migrate` decides the same with this flag.
        has_migrated=any(step.has_migrated for step in steps),
    )


def _clusters(steps: Iterable[Step]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for step in steps for name in step.clusters))


def _concerns_others(step: Step, rows: Sequence[Row]) -> bool:
    """Return whether an approval that names no cluster would upgrade clusters that a step is not about."""
    name, version = split(step.argument)
    if name or any(row.name in step.clusters and not row.is_named for row in rows):
        return False
    release = Version(version if version.startswith("v") else f"v{version}.0")
    others = (row for row in rows if not row.is_reference and row.name not in step.clusters)
    return any(row.plan.pin.version and row.plan.pin.version < release for row in others)


def _of_changes(rows: Sequence[Row]) -> Iterator[Step]:
    """Known changes of Flux that break something, or may: each is one step for all clusters."""
    for stage in (Stage.BEFORE_READY, Stage.CHECK):
        mine = [row for row in rows if is_ready(row) == (stage is Stage.BEFORE_READY)]
        for change, places in by_change([finding for row in mine for finding in findings_of(row)]):
            if change.harm is not Harm.DIFFERS:
                task, lines = change_task(change, places), (change.what, first_places(places))
                rules = ((row.name, each.change.rule) for row in mine for each in findings_of(row) if each.change)
                concerned = dict.fromkeys(name for name, rule in rules if rule == change.rule)
                fixed = f"they work with Flux {change.since}"
                yield Step(stage, Task.FIX, task, afterwards=fixed, places=lines, clusters=tuple(concerned))
