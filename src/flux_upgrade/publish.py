"""Write what was planned: the only step that changes anything outside the process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flux_upgrade.errors import FluxUpgradeError, WriteFailed
from flux_upgrade.ports import Worktree
from flux_upgrade.upgrade import Plan, Upgrade


@dataclass(frozen=True)
class Outcome:
    """A plan, and what came of it."""

    plan: Plan
    failure: WriteFailed | None = None
    """The file could not be written."""

    @property
    def error(self) -> type[FluxUpgradeError] | None:
        """What the run ends with on account of this installation."""
        if self.failure is not None:
            return WriteFailed
        decision = self.plan.decision
        return None if isinstance(decision, Upgrade) else decision.error


def publish(plans: Iterable[Plan], worktree: Worktree) -> Iterator[Outcome]:
    """Write each change whole or not at all; one that fails does not stop the others."""
    for plan in plans:
        try:
            if isinstance(plan.decision, Upgrade):
                worktree.write(plan.installation.path, plan.decision.change.new, plan.installation.content)
            yield Outcome(plan)
        except WriteFailed as error:
            yield Outcome(plan, error)


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """0, or the code of the gravest outcome: the smallest code of those that are errors."""
    return min((outcome.error.exit_code for outcome in outcomes if outcome.error), default=0)
