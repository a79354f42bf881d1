"""``flux-upgrade plan``."""

from __future__ import annotations

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.output import show, warn
from flux_upgrade.commands.read import read_inventory
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.report.plans import plans_json, plans_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(options: UpgradeOptions, environment: Environment, out: IO[bytes], err: IO[str]) -> int:
    """Show what would happen and why. Ends with 0 whatever is held: nothing was asked to be done."""
    if options.artifact is not None:
        from flux_upgrade.commands import artifacts

        return artifacts.plan(options, options.artifact, environment, out, err)
    if options.pull_request:
        from flux_upgrade.commands.pull_requests import preview

        return preview(options, environment, out, err)
    inventory = read_inventory(options, environment)
    for each in inventory.void:
        warn(err, each.text)
    plans = plan_update_groups(inventory)
    if options.json:
        show(out, plans_json(plans, inventory.reported_only, inventory.void))
    else:
        show(out, plans_text(plans, inventory.reported_only))
    return 0
