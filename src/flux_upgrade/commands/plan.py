"""``flux-upgrade plan``."""

from __future__ import annotations

from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.output import show, warn
from flux_upgrade.commands.read import gather
from flux_upgrade.planning.planner import plan_teams
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
    gathered = gather(settings)
    for each in gathered.void:
        warn(err, each.text)
    plans = plan_teams(gathered)
    if settings.json:
        show(out, plans_json(plans, gathered.named, gathered.void))
    else:
        show(out, plans_text(plans, gathered.named))
    return 0
