"""Steps that migrate manifests, and what follows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from flux_upgrade.findings.phrases import TEXT, move_line, uses_of
from flux_upgrade.impact.migrate.result import Left, Move
from flux_upgrade.impact.stored_versions.refused import cli_for
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import capitalized, enumeration
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.route.pulls import OpenPull, Pulls
from flux_upgrade.route.rows import Row, State
from flux_upgrade.route.step import Actor, Need, Stage, Step, Task

_MERGE_FILES = "Review the changed files, commit them, and merge them"
_MERGED = "the branch that Flux follows has the migration"


class _Migration(NamedTuple):
    """Files that are migrated before clusters are upgraded to a release."""

    target: str
    moves: tuple[Move, ...]
    rows: tuple[Row, ...]  # Readers of any of the files
    pulls: tuple[OpenPull, ...]

    @property
    def upgraded(self) -> Sequence[Row]:
        """Return the rows of the clusters that are upgraded to the release; the others wait for the merge."""
        return [row for row in self.rows if row.decision.target == self.target] or self.rows


def migrations(
    rows: Sequence[Row], plans: Sequence[UpdateGroupPlan], written: Collection[str], pulls: Pulls, *, by: Actor
) -> Iterator[Step]:
    """Yield the steps about files that are migrated before their clusters are upgraded.

    ``written``: paths of those that this run has migrated. ``by``: who migrates the others.
    """
    found = list(_found(rows, plans, pulls))
    every = {row.name for row in rows if not row.is_reference}.union(*(group.others for group in plans))
    for migration in found:
        releases = [row.plan.pin.version for row in migration.rows]
        names = tuple(dict.fromkeys(row.name for row in migration.rows))
        if {move.use.path for move in migration.moves} <= {*written}:
            steps = _merged(_MERGE_FILES, "them", migration.target, migration.moves, releases)
            yield from (step._replace(clusters=names) for step in steps)
            continue
        is_whole = len(found) == 1 and every <= {row.name for row in migration.upgraded}
        for step in _migrated(migration, by, is_whole=is_whole):
            yield from _proposed(step, migration.pulls) if migration.pulls else [step]
        merge, it = ("", "the migration") if migration.pulls else ("Merge the migration", "it")
        for step in _merged(merge, it, migration.target, migration.moves, releases):
            yield step._replace(clusters=names, needs=tuple(dict.fromkeys((*step.needs, Need.STEP))))


def _found(rows: Sequence[Row], plans: Sequence[UpdateGroupPlan], pulls: Pulls) -> Iterator[_Migration]:
    moves: dict[str, list[Move]] = {}
    merges: dict[str, dict[OpenPull, None]] = {}
    for group in plans:
        pull = pulls.get((group.update_group.slug, BumpKind.MIGRATION))
        for upgrade in [upgrade for plan in group.migrations for upgrade in plan.upgrades]:
            target = str(upgrade.target)
            moves.setdefault(target, []).extend(move for file in upgrade.moved for move in file.moves)
            merges.setdefault(target, {}).update({pull: None} if pull is not None else {})
    for target, moving in moves.items():
        files = {move.use.path for move in moving}
        reading = [row for row in rows if not files.isdisjoint(_migrated_files(row))]
        paths = {row.plan.path for row in reading}
        awaited = (pull for pull in merges[target] if not paths.isdisjoint(pull.waiting))
        yield _Migration(target, tuple(moving), tuple(reading), tuple(awaited))


def _migrated(migration: _Migration, by: Actor, *, is_whole: bool) -> Iterator[Step]:
    """Yield a step for each cluster; one for all if ``is_whole``: nothing else would be migrated with its files."""
    names = tuple(dict.fromkeys(row.name for row in migration.upgraded))
    for clusters in [names] if is_whole else [(name,) for name in names]:
        concerned = [row for row in migration.upgraded if row.name in clusters]
        files = {path for row in concerned for path in _migrated_files(row)}
        moves = [move for move in migration.moves if clusters == names or move.use.path in files]
        is_named = not is_whole and all(row.is_named for row in concerned)
        yield Step(
            Stage.MIGRATE,
            Task.MIGRATE,
            f"Migrate {uses_of(moves)} to API versions that {migration.target} serves",
            by,
            afterwards=f"the files use API versions that {migration.target} serves",
            argument=migration.target,
            places=tuple(move_line(move, TEXT) for move in moves),
            clusters=clusters,
            place=clusters[0] if is_named else "",
        )


def _proposed(step: Step, pulls: Sequence[OpenPull]) -> Iterator[Step]:
    """Yield a migration that pull requests make, a step for each of them."""
    for pull in pulls:
        merge = step._replace(task=Task.MERGE, way=pull.merge, by=Actor.YOU, afterwards=_MERGED)
        yield merge._replace(link=pull.url, argument="", place="")


def _migrated_files(row: Row) -> Iterator[str]:
    impact = row.plan.impact_of(row.decision)
    yield from (move.use.path for move in impact.moves) if impact is not None and row.state is State.HELD else ()


def _merged(merge: str, it: str, target: str, moves: Sequence[Move], releases: Iterable[str]) -> Iterator[Step]:
    """Yield a merge, and what Flux needs to apply it.

    ``merge``: the sentence; empty if a pull request is merged. ``it``: what Flux reconciles then. ``releases``: those
    that the clusters run.
    """
    wait, served = f"wait until Flux has reconciled {it}", f"Flux applies API versions of {target}"
    waiting = Step(Stage.RECONCILE, Task.WAIT, capitalized(wait), Actor.FLUX, (Need.MERGE,), served)
    if not any(move.undeclared for move in moves):
        both = f"{merge}. {capitalized(wait)}" if merge == _MERGE_FILES else f"{merge}, and {wait}"
        yield Step(Stage.RECONCILE, Task.MERGE, both, afterwards=served) if merge else waiting
        return
    # The API server may reject the merged manifests until `flux migrate` has run.
    if merge:
        yield Step(Stage.RECONCILE, Task.MERGE, merge, afterwards=_MERGED)
    minors = {cli_for(Version(release)) for release in releases if release}
    cli = f" with the Flux CLI {minors.pop()}" if len(minors) == 1 else ""
    sentence = f"Run `flux migrate`{cli} in the cluster, right after the merge"
    stored = "objects are stored in the API versions that the manifests have"
    yield Step(Stage.RECONCILE, Task.FLUX_MIGRATE, sentence, needs=(Need.MERGE,), afterwards=stored)
    yield waiting


def after_migration(
    target: str, moves: Sequence[Move], lefts: Sequence[Left], releases: Sequence[str], *, has_flux: bool = True
) -> Iterator[Step]:
    """Yield what follows once manifests are migrated.

    ``lefts``: the uses that were not. ``releases``: those that the clusters run. ``has_flux`` false: no file installs
    Flux, so that there is nothing to plan.
    """
    manual = [left for left in lefts if not left.after]
    if manual:
        manually = f"Migrate {counted(len(manual), 'other use')} manually, as shown above"
        yield Step(Stage.PREPARE, Task.FIX, manually, afterwards=f"{target} serves them")
    yield from _merged(_MERGE_FILES, "them", target, moves, releases)
    late = dict.fromkeys(release for left in lefts for release in left.after)
    plan = f"Plan the upgrade to {target}"
    if late:
        plan = f"Plan the upgrades: the clusters at {enumeration(late)} come first"
    if has_flux:
        yield Step(Stage.THEN, Task.PLAN, plan, needs=(Need.RECONCILIATION,), afterwards="the next step is planned")
