"""Merged upgrades after which Flux reports a failure: one comment on each, and one draft that reverts it.

Whoever closes the draft has answered: it is looked for on its branch, open or not, and never opened twice. The forge
makes the revert, because only GitHub has the files from before the merge; its branch is not one of ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, CommentPull, PullState, Repository, RevertPull
from flux_upgrade.model.markdown import code, plain, shortened, table
from flux_upgrade.model.markers import WayBack
from flux_upgrade.model.text import enumeration
from flux_upgrade.planning.failed_upgrade import FailedUpgrade
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.rings import Rings
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.policy.feedback import state_of
from flux_upgrade.pullrequests.desired import Reconciliation, recorded, with_state
from flux_upgrade.pullrequests.text.commit import TITLE

_SHORT = 12  # Characters of an oid
# Why there is no revert, by whether the cluster would accept it.
_NO_REVERT = {
    WayBack.SAFE: "the Flux files were changed after the merge",
    WayBack.REFUSED: "the cluster may store objects in API versions that the older CRDs do not have. The API server "
    "would reject those CRDs",
    WayBack.UNKNOWN: "it was not known at the merge whether the API server accepts the older CRDs",
}


def failures(inventory: Inventory, repository: Repository) -> Iterator[FailedUpgrade]:
    """Those to report, or reported already. None if a user removed our text."""
    rings = Rings(inventory.update_groups, inventory.config, repository, inventory.now, inventory.tree)
    return (each for each in rings.failures() if markers.text_of(each.pull.body) is not None)


def comment(failed: FailedUpgrade) -> CommentPull | None:
    """None: the pull request remembers that it was written."""
    state = state_of(failed.pull)
    if state is None or state.failed or failed.pull.answers.is_unknown:
        return None
    body = with_state(failed.pull, recorded(state._replace(failed=failed.report.failed), failed.pull))
    if body is None:
        return None
    mark = f"<!-- flux-upgrade:failed {failed.report.failed} -->"
    return CommentPull(failed.pull, f"{mark}\n{_comment(failed)}\n", body)


def reconcile_revert(failed: FailedUpgrade, branch: Branch, repository: Repository) -> Reconciliation:
    """``branch``: that of the revert, with all pull requests that it ever had."""
    if branch.pulls or branch.others:
        is_open = (each for each in branch.pulls if each.state is PullState.OPEN)
        return Reconciliation(pull=next(is_open, None))
    return Reconciliation((_revert(failed, repository.url),))


def _comment(failed: FailedUpgrade) -> str:
    """The same in every run about one failure, whatever came of the revert."""
    names, version = _waiting(failed), failed.report.version
    waits = "waits" if len(failed.waiting) == 1 else "wait"
    if failed.is_revertible:
        remedy = (
            "flux-upgrade opens a draft that reverts this pull request. Fix the problem, or merge the draft: "
            f"{version} is then held for {names}."
        )
    else:
        remedy = f"Fix the problem, or revert this pull request. {version} is then held for {names}."
        if failed.report.succeeded:
            good, bad = failed.report.succeeded[:_SHORT], failed.report.failed[:_SHORT]
            remedy = (
                f"Flux reported success with {version} on {good}, so look at the commits from there to {bad} first. "
                "flux-upgrade does not open a revert."
            )
        elif failed.asks_for_revert:
            remedy = f"Fix the problem. flux-upgrade does not open a revert, because {_NO_REVERT[failed.way_back]}."
    return (
        f"{plain(failed.report.detail)} after this upgrade was merged. {names} {waits} until it reports success on a "
        f"later commit.\n\n{remedy}"
    )


def _revert(failed: FailedUpgrade, url: str) -> RevertPull:
    """``url``: of the repository, for a browser."""
    report, pull, name = failed.report, failed.pull, code(failed.report.name)
    healthy = failed.update_group.group.ring.healthy
    reported = [
        ("Context", code(report.context)),
        ("Posted by", code(healthy.creator if healthy is not None else "")),
        ("Commit", f"[{report.failed[:_SHORT]}]({url}/commit/{report.failed})"),
    ]
    refused = BumpKind(failed.state.subject).approval(report.version)
    names = _waiting(failed)
    keep = "keeps" if len(failed.waiting) == 1 else "keep"
    merged = (
        f"**If you merge this**, {name} gets back the files from before #{pull.number}. The older CRDs contain every "
        f"API version in which the cluster stores objects, so the API server accepts them. {refused} is then not "
        f"proposed again for {name} until you approve it, and {report.version} is held for {names}. Newer releases are "
        "proposed."
    )
    closed = (
        f"**If you close this**, {names} {keep} waiting until Flux reports success on a later commit. flux-upgrade "
        "does not open another revert."
    )
    paragraphs = (
        f"<!-- flux-upgrade:revert {pull.number} -->",
        f"Reverts #{pull.number}, because Flux reports a failure in {name} after the upgrade to {report.version}.",
        table(("Commit status", ""), reported),
        merged,
        closed,
        "**If Flux reports success in the meantime**, close this. flux-upgrade does not update or close it.",
    )
    return RevertPull(pull, shortened(f'Revert "{pull.title}"', TITLE), "\n\n".join(paragraphs) + "\n")


def _waiting(failed: FailedUpgrade) -> str:
    return enumeration([code(name) for name in failed.waiting])
