"""An upgrade that is written into the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.reports import plan_report, tree_report
from flux_upgrade.commands.wiring import build_worktree
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.markdown import counted
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory, plan_update_groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.commands.sink import Applied
    from flux_upgrade.planning.unseen import Unseen


@dataclass(frozen=True)
class TreeSink:
    """As ``Sink``."""

    options: UpgradeOptions
    environment: Environment
    warn: Callable[[str], None]
    read: Callable[[], Inventory]
    unseen: Unseen | None = None  # What it is shown without, if it is shown for pull requests

    def decide(self, inventory: Inventory) -> tuple[UpdateGroupPlan, ...]:
        for each in inventory.void:
            self.warn(each.text)
        if self.unseen is not None:
            self.warn(self.unseen.text)
        self.environment.say(f"planning {counted(len(inventory.update_groups), 'update group')}")
        return plan_update_groups(inventory)

    def show(self, inventory: Inventory, plans: Sequence[UpdateGroupPlan]) -> str:
        return plan_report(inventory, plans, self.options, self.environment, self.unseen)

    def apply(self, inventory: Inventory, plans: Sequence[UpdateGroupPlan]) -> Applied:
        # Late: a plan ends before.
        from contextlib import nullcontext

        from flux_upgrade.adapters.local.worktree import alone
        from flux_upgrade.commands.sink import Applied
        from flux_upgrade.planning.write_tree import publish
        from flux_upgrade.report.outcomes import failures

        path, writes = self.options.path, self.options.request.writes
        sets = [each for group in plans for each in group.sets]
        # Resources that are migrated may be anywhere in the repository.
        root = find(path).root
        with alone(root) if writes else nullcontext():
            outcomes = list(publish(sets, build_worktree(root, writes=writes)))
        return Applied(
            tree_report(inventory, plans, outcomes, self.options, self.environment),
            tuple(dict.fromkeys(failure for outcome in outcomes for failure in failures(outcome, path))),
            tuple(error for outcome in outcomes for error in outcome.errors),
        )
