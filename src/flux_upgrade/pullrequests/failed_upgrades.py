"""Merged upgrades after which Flux reports a failure: one comment says so, and who waits."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model import markers
from flux_upgrade.model.forge import CommentPull, Repository
from flux_upgrade.model.markdown import code, plain
from flux_upgrade.model.text import enumeration
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.rings import FailedUpgrade, Rings


def comments(inventory: Inventory, repository: Repository) -> Iterator[tuple[FailedUpgrade, CommentPull]]:
    """Those that are still to be written. Nothing is said where people have taken our text away."""
    rings = Rings(inventory.update_groups, inventory.config, repository, inventory.now)
    for failed in rings.failures():
        pull = failed.pull
        text, state = markers.text_of(pull.body), markers.state_of(pull.body)
        if text is None or state is None or state.failed:
            continue
        body = markers.replaced(pull.body, markers.block(text, state._replace(failed=failed.report.failed)))
        if body is not None:
            mark = f"<!-- flux-upgrade:failed {failed.report.failed} -->"
            yield failed, CommentPull(pull, f"{mark}\n{_text(failed)}\n", body)


def _text(failed: FailedUpgrade) -> str:
    names = enumeration([code(name) for name in failed.waiting])
    waits = "waits" if len(failed.waiting) == 1 else "wait"
    return (
        f"{plain(failed.report.detail)} after this upgrade was merged. {names} {waits} until it reports success on a "
        "later commit.\n\n"
        f"Fix the problem, or revert this pull request. {failed.report.version} is then held for {names}."
    )
