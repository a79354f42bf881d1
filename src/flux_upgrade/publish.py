"""Write what was planned into the tree: with ``pull_requests``, the only step that changes anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.errors import FluxUpgradeError, WriteFailed
from flux_upgrade.plan import Plan
from flux_upgrade.ports import Worktree
from flux_upgrade.values import NamedTuple


class Outcome(NamedTuple):
    """A plan, and what came of it."""

    plan: Plan
    written: bool = False
    failure: FluxUpgradeError | None = None
    """The file could not be written."""

    @property
    def errors(self) -> tuple[type[FluxUpgradeError], ...]:
        """What the run ends with on account of this installation."""
        failures = (type(self.failure),) if self.failure is not None else ()
        return failures + tuple(hold.error for hold in self.plan.holds if hold.error is not None)


def publish(plans: Iterable[Plan], worktree: Worktree) -> Iterator[Outcome]:
    """Write each change whole or not at all; one that fails does not stop the others."""
    for plan in plans:
        upgrade, installation = plan.approved, plan.installation
        try:
            if upgrade is not None:
                worktree.write(installation.path, upgrade.change.new, installation.content)
            yield Outcome(plan, written=upgrade is not None)
        except WriteFailed as error:
            yield Outcome(plan, failure=error)


def exit_code(errors: Iterable[type[FluxUpgradeError]]) -> int:
    """0, or the code of the gravest: the smallest."""
    return min((error.exit_code for error in errors), default=0)
