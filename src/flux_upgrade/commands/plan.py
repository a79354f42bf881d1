"""``flux-upgrade plan``."""

from __future__ import annotations

from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.output import show, warn
from flux_upgrade.commands.read import read_inventory
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.report.plans import plans_json, plans_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    """Show what would happen and why. Ends with 0 whatever is held: nothing was asked to be done."""
    if settings.artifact is not None:
        from flux_upgrade.commands import artifacts

        return artifacts.plan(settings, settings.artifact, out, err)
    if settings.pull_request:
        from flux_upgrade.commands.pull_requests import preview

        return preview(settings, out, err)
    inventory = read_inventory(settings)
    for each in inventory.void:
        warn(err, each.text)
    plans = plan_update_groups(inventory)
    if settings.json:
        show(out, plans_json(plans, inventory.reported_only, inventory.void))
    else:
        show(out, plans_text(plans, inventory.reported_only))
    return 0
