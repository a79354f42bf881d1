"""Steps that migrate manifests, and what follows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from flux_upgrade.findings.phrases import TEXT, move_line, uses_of
from flux_upgrade.impact.migrate.result import Move
from flux_upgrade.model.markdown import counted
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.route.pulls import OpenPull, Pulls
from flux_upgrade.route.rows import Row, State
from flux_upgrade.route.step import Actor, Need, Stage, Step, Task

MERGE_AND_WAIT = "Review the changed files, commit them, and merge them. Wait until Flux has reconciled them"


def migrations(
    rows: Sequence[Row], plans: Sequence[UpdateGroupPlan], written: Collection[str], pulls: Pulls, *, by: Actor
) -> Iterator[Step]:
    """Yield the steps about files that are migrated before their clusters are upgraded.

    ``written``: paths of those that this run has migrated. ``by``: who migrates the others.
    """
    moves: dict[str, list[Move]] = {}
    merges: dict[str, list[OpenPull]] = {}
    for group in plans:
        for upgrade in [upgrade for plan in group.migrations for upgrade in plan.upgrades]:
            moves.setdefault(str(upgrade.target), []).extend(move for file in upgrade.moved for move in file.moves)
            pull = pulls.get((group.update_group.slug, BumpKind.MIGRATION))
            if pull is not None and pull not in merges.setdefault(str(upgrade.target), []):
                merges[str(upgrade.target)].append(pull)
    every = {row.name for row in rows if not row.is_reference}
    for target, moving in moves.items():
        files = {move.use.path for move in moving}
        names = tuple(dict.fromkeys(row.name for row in rows if not files.isdisjoint(_migrated_files(row))))
        served = f"these manifests use API versions that {target} serves"
        reconcile = Step(Stage.RECONCILE, Task.MERGE, MERGE_AND_WAIT, afterwards=served, clusters=names)
        if files <= {*written}:
            yield reconcile
            continue
        # Another cluster stays at its release: the files that no other reads are not migrated.
        for clusters in [names] if every <= {*names} else [(name,) for name in names]:
            concerned = _moves_of(clusters, rows, moving) if clusters != names else moving
            task = f"Migrate {uses_of(concerned)} to API versions that {target} serves"
            places = tuple(move_line(move, TEXT) for move in concerned)
            is_named = all(row.is_named for row in rows if row.name in clusters)
            place = clusters[0] if is_named and not every <= {*names} else ""
            step = Step(Stage.MIGRATE, Task.MIGRATE, task, by, argument=target, places=places, place=place)
            yield step._replace(afterwards=f"the files use API versions that {target} serves", clusters=clusters)
        proposed = [(pull.name, pull.url) for pull in merges.get(target, ())]
        for name, link in proposed or [("the migration", "")]:
            sentence = f"Merge {name}, and wait until Flux has reconciled it"
            yield reconcile._replace(sentence=sentence, needs=(Need.STEP,), link=link)


def _moves_of(clusters: Collection[str], rows: Sequence[Row], moves: Iterable[Move]) -> list[Move]:
    files = {path for row in rows if row.name in clusters for path in _migrated_files(row)}
    return [move for move in moves if move.use.path in files]


def _migrated_files(row: Row) -> Iterator[str]:
    impact = row.plan.impact_of(row.decision)
    yield from (move.use.path for move in impact.moves) if impact is not None and row.state is State.HELD else ()


def after_migration(target: str, moves: Sequence[Move], left: int) -> Iterator[Step]:
    """Yield what follows once manifests are migrated. ``left``: how many have to be migrated manually."""
    if left:
        manually = f"Migrate {counted(left, 'other use')} manually, as shown above"
        yield Step(Stage.PREPARE, Task.FIX, manually, afterwards=f"{target} serves them")
    served = f"these manifests use API versions that {target} serves"
    yield Step(Stage.RECONCILE, Task.MERGE, MERGE_AND_WAIT, afterwards=served)
    if any(move.undeclared for move in moves):
        stored = "objects are stored in their new API version"
        migrate = Step(Stage.FLUX_MIGRATE, Task.FLUX_MIGRATE, "Run `flux migrate` in the cluster", afterwards=stored)
        yield migrate._replace(needs=(Need.RECONCILIATION,))
    yield Step(Stage.THEN, Task.PLAN, f"Plan the upgrade to {target}", needs=(Need.RECONCILIATION,))
