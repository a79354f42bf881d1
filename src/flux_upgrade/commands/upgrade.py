"""``flux-upgrade upgrade``: into the tree, or by pull request."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read import read_inventory
from flux_upgrade.commands.wiring import build_worktree
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.plan import Plan, files_after, files_before
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.write_tree import exit_code, publish
from flux_upgrade.report.outcomes import diff, diff_hunks, failures, upgrade_text
from flux_upgrade.report.plans import drift_text
from flux_upgrade.report.wording import located

TYPE_CHECKING = False


def run(options: UpgradeOptions, environment: Environment, console: Console) -> int:
    """Upgrade what the policy lets go on."""
    if options.artifact is not None:
        from flux_upgrade.commands import artifacts

        return artifacts.upgrade(options, environment, console)
    if options.pull_request:
        from flux_upgrade.commands.pull_requests import propose

        return propose(options, environment, console)
    # All is planned before the first byte is written.
    inventory = read_inventory(options, environment)
    for each in inventory.void:
        console.warn(each.text)
    plans = plan_update_groups(inventory)
    sets = [each for group in plans for each in group.sets]
    # Resources that are moved may be anywhere in the repository.
    worktree = build_worktree(find(options.path).root, writes=options.request.writes)
    outcomes = list(publish(sets, worktree))
    if not options.request.writes:
        _show_diffs([plan for plans in sets for plan in plans], options.path, console)
    console.show(drift_text(inventory.update_groups))
    text = upgrade_text(
        outcomes, options.path, written=options.request.writes, reported=inventory.reported_only
    )
    console.show(text)
    for outcome in outcomes:
        console.err.writelines(failures(outcome, options.path))
    return exit_code(error for outcome in outcomes for error in outcome.errors)


def _show_diffs(plans: Sequence[Plan], root: str, console: Console) -> None:
    upgrades = [(plan, plan.approved) for plan in plans]
    moving = [(plan, upgrade) for plan, upgrade in upgrades if upgrade is not None]
    # Paths are shown as the user named the tree, and those outside of it as they are in the repository.
    shown = {plan.path: located(root, plan.pin.path) for plan, _ in moving}
    before = files_before(moving)
    # Identical manifests have one change, and its diff is made once.
    hunks: dict[tuple[bytes, bytes], str] = {}
    for path, new in files_after(moving).items():
        key = before[path], new
        if key not in hunks:
            hunks[key] = diff_hunks(before[path], new)
        console.show(diff(shown.get(path, path), hunks[key]) + "\n")
