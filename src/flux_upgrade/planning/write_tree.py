"""Write what was planned into the tree: with ``pullrequests.apply``, the only step that changes anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.errors import FluxUpgradeError, known
from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.model.files import Worktree
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import Plan, files_after, files_before


class WriteResult(NamedTuple):
    """A plan, and what came of it."""

    plan: Plan
    written: bool = False
    failure: FluxUpgradeError | None = None  # The file could not be written

    @property
    def errors(self) -> tuple[type[FluxUpgradeError], ...]:
        """What the run ends with on account of this installation."""
        failures = (type(self.failure),) if self.failure is not None else ()
        return failures + tuple(hold.error for hold in self.plan.holds if hold.error is not None)


def publish(sets: Iterable[Sequence[Plan]], worktree: Worktree) -> Iterator[WriteResult]:
    """Write each file whole or not at all, and each of ``sets`` whole or not at all.

    A set is the plans of one cluster; one that fails does not stop the others.
    ``worktree``: the whole repository.
    """
    for plans in _joined(sets):
        failure = _write(plans, worktree)
        for plan in plans:
            is_written = plan.approved is not None and failure is None
            yield WriteResult(plan, is_written, failure if plan.approved is not None else None)


def _joined(sets: Iterable[Sequence[Plan]]) -> Iterator[Sequence[Plan]]:
    """Sets that share a file are one: the file is written once."""
    found: list[tuple[set[str], list[Plan]]] = []
    for plans in sets:
        moved = (file.path for plan in plans for each in plan.upgrades for file in each.moved)
        paths_of_pins = (file.path for plan in plans for file in plan.pin.files(plan.path))
        paths, joined = {*paths_of_pins, *moved}, list(plans)
        for other in [each for each in found if not paths.isdisjoint(each[0])]:
            found.remove(other)
            paths, joined = paths | other[0], other[1] + joined
        found.append((paths, joined))
    return (joined for _, joined in found)


def _write(plans: Sequence[Plan], worktree: Worktree) -> FluxUpgradeError | None:
    moving = [(plan, plan.approved) for plan in plans]
    upgrades = [(plan, upgrade) for plan, upgrade in moving if upgrade is not None]
    try:
        # Half a set would be a cluster whose pins disagree.
        worktree.write_all(files_after(upgrades), files_before(upgrades))
    except Exception as error:  # noqa: BLE001 what other sets came to is reported, whatever this one meets
        return known(error)
    return None


def exit_code(errors: Iterable[type[FluxUpgradeError]]) -> int:
    """Return the exit code of a run that met these errors."""
    return ExitCode.of_run(error.exit_code for error in errors)
