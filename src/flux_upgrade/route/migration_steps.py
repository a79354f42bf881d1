"""Steps that migrate manifests, and what follows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from flux_upgrade.findings.phrases import TEXT, move_line, uses_of
from flux_upgrade.impact.migrate.result import Left, Move
from flux_upgrade.impact.stored_versions.refused import cli_for
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import capitalized, enumeration
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.route.pulls import OpenPull, Pulls
from flux_upgrade.route.rows import Row, State
from flux_upgrade.route.step import Actor, Need, Stage, Step, Task

MERGE = "Review the changed files, commit them, and merge them"
_IT = "it", "them"


def migrations(
    rows: Sequence[Row], plans: Sequence[UpdateGroupPlan], written: Collection[str], pulls: Pulls, *, by: Actor
) -> Iterator[Step]:
    """Yield the steps about files that are migrated before their clusters are upgraded.

    ``written``: paths of those that this run has migrated. ``by``: who migrates the others.
    """
    moves: dict[str, list[Move]] = {}
    merges: dict[str, dict[OpenPull, None]] = {}
    for group in plans:
        pull = pulls.get((group.update_group.slug, BumpKind.MIGRATION))
        for upgrade in [upgrade for plan in group.migrations for upgrade in plan.upgrades]:
            target = str(upgrade.target)
            moves.setdefault(target, []).extend(move for file in upgrade.moved for move in file.moves)
            merges.setdefault(target, {}).update({pull: None} if pull is not None else {})
    every = {row.name for row in rows if not row.is_reference}.union(*(group.others for group in plans))
    for target, moving in moves.items():
        reading = [row for row in rows if not {move.use.path for move in moving}.isdisjoint(_migrated_files(row))]
        # Another cluster that reads a file waits for its merge, too.
        concerned = [row for row in reading if row.decision.target == target] or reading
        names = tuple(dict.fromkeys(row.name for row in concerned))
        if {move.use.path for move in moving} <= {*written}:
            yield from _merged(MERGE, target, moving, reading)
            continue
        is_whole = every <= {*names} and len(moves) == 1
        migration = Step(Stage.MIGRATE, Task.MIGRATE, "", by, argument=target, clusters=names)
        for step in [migration] if is_whole else [migration._replace(clusters=(name,)) for name in names]:
            files = {path for row in concerned if row.name in step.clusters for path in _migrated_files(row)}
            moved = moving if step.clusters == names else [move for move in moving if move.use.path in files]
            is_named = not is_whole and all(row.is_named for row in concerned if row.name in step.clusters)
            yield step._replace(
                sentence=f"Migrate {uses_of(moved)} to API versions that {target} serves",
                afterwards=f"the files use API versions that {target} serves",
                places=tuple(move_line(move, TEXT) for move in moved),
                place=step.clusters[0] if is_named else "",
            )
        proposed = [(pull.name, pull.url) for pull in merges[target]]
        for name, link in proposed or [("the migration", "")]:
            for step in _merged(f"Merge {name}", target, moving, reading):
                is_merge = step.task is Task.MERGE
                yield step._replace(needs=(*step.needs, Need.STEP), link=link if is_merge else "")


def _migrated_files(row: Row) -> Iterator[str]:
    impact = row.plan.impact_of(row.decision)
    yield from (move.use.path for move in impact.moves) if impact is not None and row.state is State.HELD else ()


def _merged(merge: str, target: str, moves: Sequence[Move], rows: Sequence[Row]) -> Iterator[Step]:
    releases = [row.plan.pin.version for row in rows]
    names = tuple(dict.fromkeys(row.name for row in rows))
    for step in _rollout(merge, target, moves, releases):
        yield step._replace(clusters=names)


def _rollout(merge: str, target: str, moves: Sequence[Move], releases: Iterable[str]) -> Iterator[Step]:
    """Yield a merge, and what Flux needs to apply it. ``releases``: those that the clusters run."""
    wait, served = f"wait until Flux has reconciled {_IT[merge == MERGE]}", f"Flux applies API versions of {target}"
    if not any(move.undeclared for move in moves):
        sentence = f"{merge}. {capitalized(wait)}" if merge == MERGE else f"{merge}, and {wait}"
        yield Step(Stage.RECONCILE, Task.MERGE, sentence, afterwards=served)
        return
    # The API server may reject the merged manifests until `flux migrate` has run.
    yield Step(Stage.RECONCILE, Task.MERGE, merge, afterwards="the branch that Flux follows has the migration")
    minors = {cli_for(Version(release)) for release in releases if release}
    cli = f" with the Flux CLI {minors.pop()}" if len(minors) == 1 else ""
    sentence = f"Run `flux migrate`{cli} in the cluster, right after the merge"
    written = "objects are stored in the API versions that the manifests have"
    yield Step(Stage.RECONCILE, Task.FLUX_MIGRATE, sentence, needs=(Need.MERGE,), afterwards=written)
    yield Step(Stage.RECONCILE, Task.WAIT, capitalized(wait), Actor.FLUX, (Need.STEP,), served)


def after_migration(
    target: str, moves: Sequence[Move], lefts: Sequence[Left], releases: Iterable[str]
) -> Iterator[Step]:
    """Yield what follows once manifests are migrated.

    ``lefts``: the uses that were not. ``releases``: those that the clusters run.
    """
    manual = [left for left in lefts if not left.after]
    if manual:
        manually = f"Migrate {counted(len(manual), 'other use')} manually, as shown above"
        yield Step(Stage.PREPARE, Task.FIX, manually, afterwards=f"{target} serves them")
    yield from _rollout(MERGE, target, moves, releases)
    late = dict.fromkeys(release for left in lefts for release in left.after)
    plan = (
        f"Plan the upgrades: the clusters at {enumeration(late)} come first"
        if late
        else f"Plan the upgrade to {target}"
    )
    yield Step(Stage.THEN, Task.PLAN, plan, needs=(Need.RECONCILIATION,))
