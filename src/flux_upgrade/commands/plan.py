"""``flux-upgrade plan``."""

from __future__ import annotations

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.output import Console, show_plans
from flux_upgrade.commands.read import read_inventory
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.planner import plan_update_groups


def run(options: UpgradeOptions, environment: Environment, console: Console) -> int:
    """Show what would happen and why. Ends with 0 whatever is held: nothing was asked to be done."""
    if options.artifact is not None:
        from flux_upgrade.commands import artifacts

        return artifacts.plan(options, environment, console)
    if options.pull_request:
        from flux_upgrade.commands.pull_requests import preview

        return preview(options, environment, console)
    inventory = read_inventory(options, environment)
    show_plans(options, inventory, plan_update_groups(inventory), console)
    return 0
