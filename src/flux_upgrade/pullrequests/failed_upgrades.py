"""Merged upgrades after which Flux reports a failure: one comment on each, and one draft that reverts it.

Whoever closes the draft has answered: it is looked for on its branch, open or not, and never opened twice. The forge
makes the revert, because only GitHub has the files from before the merge; its branch is not one of ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, CommentPull, PullState, Repository, RevertPull
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.rings import FailedUpgrade, Rings
from flux_upgrade.pullrequests.desired import Reconciliation
from flux_upgrade.pullrequests.text import failure


def failures(inventory: Inventory, repository: Repository) -> Iterator[FailedUpgrade]:
    """Those to report, or reported already. None if a user removed our text."""
    rings = Rings(inventory.update_groups, inventory.config, repository, inventory.now)
    return (each for each in rings.failures() if markers.text_of(each.pull.body) is not None)


def comment(failed: FailedUpgrade) -> CommentPull | None:
    """None: the pull request remembers that it was written."""
    text, state = markers.text_of(failed.pull.body), markers.state_of(failed.pull.body)
    if text is None or state is None or state.failed:
        return None
    body = markers.replaced(failed.pull.body, markers.block(text, state._replace(failed=failed.report.failed)))
    if body is None:
        return None
    mark = f"<!-- flux-upgrade:failed {failed.report.failed} -->"
    return CommentPull(failed.pull, f"{mark}\n{failure.comment(failed)}\n", body)


def reconcile_revert(failed: FailedUpgrade, branch: Branch, repository: Repository) -> Reconciliation:
    """``branch``: that of the revert, with all pull requests that it ever had."""
    if branch.pulls:
        is_open = (each for each in branch.pulls if each.state is PullState.OPEN)
        return Reconciliation(pull=next(is_open, None))
    step: RevertPull = failure.revert(failed, repository.url)
    return Reconciliation((step,))
