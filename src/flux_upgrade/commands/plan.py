"""``flux-upgrade plan``."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read import read_inventory
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory, plan_update_groups
from flux_upgrade.report.plans import plans_json, plans_text


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


def show_plans(
    options: UpgradeOptions, inventory: Inventory, plans: Sequence[UpdateGroupPlan], console: Console
) -> None:
    """Print them, after what is wrong with the groups of the config file."""
    for each in inventory.void:
        console.warn(each.text)
    if options.json:
        console.show(plans_json(plans, inventory.reported_only, inventory.void))
    else:
        console.show(plans_text(plans, inventory.reported_only))
