"""``flux-upgrade upgrade``: into the tree, or by pull request."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.build import build_worktree
from flux_upgrade.commands.gathering import gather
from flux_upgrade.commands.printing import show
from flux_upgrade.plan import Plan
from flux_upgrade.planning import plan_teams
from flux_upgrade.publish import exit_code, publish
from flux_upgrade.report.outcomes import diff, diff_hunks, failures, upgrade_text
from flux_upgrade.report.wording import located
from flux_upgrade.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    """Upgrade what the policy lets go on."""
    if settings.pull_request:
        from flux_upgrade.commands.pull_requests import propose

        return propose(settings, out, err)
    # All is planned before the first byte is written.
    plans = [plan for team in plan_teams(gather(settings)) for plan in team.plans]
    outcomes = list(publish(plans, build_worktree(settings)))
    if settings.dry_run:
        _show_diffs(plans, settings.path, out)
    show(out, upgrade_text(outcomes, settings.path, written=not settings.dry_run))
    for outcome in outcomes:
        err.writelines(failures(outcome, settings.path))
    return exit_code(error for outcome in outcomes for error in outcome.errors)


def _show_diffs(plans: Sequence[Plan], root: str, out: IO[bytes]) -> None:
    # Identical installations have one change, and its diff is made once.
    hunks: dict[int, str] = {}
    for plan in plans:
        if plan.approved is not None:
            change, found = plan.approved.change, plan.installation
            if id(change) not in hunks:
                hunks[id(change)] = diff_hunks(found.content, change.new)
            show(out, diff(located(root, found.path), hunks[id(change)]) + "\n")
