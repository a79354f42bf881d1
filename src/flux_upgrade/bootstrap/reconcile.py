"""A bootstrap that is proposed, and what there is → the steps between. Pure, and safe to repeat.

The rules are those of ``pullrequests.desired``; besides, what people answered to an earlier pull request
stands until one of them asks for the bootstrap again.
"""

from __future__ import annotations

from flux_upgrade.bootstrap import pull_request_title
from flux_upgrade.bootstrap.proposed import SUBJECT, Bootstrap
from flux_upgrade.bootstrap.pull_request_body import body
from flux_upgrade.model.forge import Branch, Extras, NewCommit, PullState, Question, Repository
from flux_upgrade.planning.proposal import ProposalContext
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.feedback import state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.desired import (
    DesiredPull,
    Reconciliation,
    is_planned,
    new_commit,
    reconcile_branch,
)
from flux_upgrade.pullrequests.reconcile import reconcile_without

_DONE = ("done", "The base branch has all of it already.")
_BY_HAND = "run the bootstrap by hand (`workflow_dispatch`, or the command line) to have it proposed again"


def question_of(proposal: Bootstrap, base: str = "") -> Question:
    """What has to be known about the repository. ``base``: empty for the default branch."""
    return Question((proposal.branch,), tuple(each.path for each in proposal.changes), base)


def is_stale(proposal: Bootstrap, repository: Repository) -> bool:
    """Whether the base has other files by now than those that were planned for."""
    there = repository.files
    return any(
        bool(there[each.path].oid) if each.before is None else not there[each.path].holds(each.before)
        for each in proposal.changes
    )


def reconcile_bootstrap(
    proposal: Bootstrap, context: ProposalContext, repository: Repository, extras: Extras | None = None
) -> Reconciliation:
    """Open the pull request of a bootstrap, bring it up to date, or close it where nothing is left of it.

    ``extras``: labels and the like for a pull request that is opened.
    """
    branch = repository.branches[proposal.branch]
    pull = branch.open_pull
    if not proposal.changes:
        return reconcile_without(branch, None, *_DONE) if pull is not None else Reconciliation()
    if pull is None and not branch.elsewhere and not proposal.is_asked:
        answer = _answer(proposal, branch)
        if answer is not None:
            return Reconciliation(hold=answer)
    return reconcile_branch(_desired(proposal, context, repository, extras or Extras()), repository)


def _desired(
    proposal: Bootstrap, context: ProposalContext, repository: Repository, extras: Extras
) -> DesiredPull:
    def commit() -> NewCommit:
        files = {each.path: each.after for each in proposal.changes}
        return new_commit(pull_request_title.commit_message(proposal, context), files, repository)

    return DesiredPull(
        branch=proposal.branch,
        digest=pull_request_title.plan_digest(proposal),
        title=pull_request_title.title(proposal, context),
        state=pull_request_title.state(proposal, context),
        body=lambda state: body(proposal, context, state),
        commit=commit,
        opening_commit=commit,
        status=pull_request_title.status(proposal, context),
        extras=extras,
    )


def _answer(proposal: Bootstrap, branch: Branch) -> Hold | None:
    """What a person said to the last pull request; None where there was none, or it was taken as it is."""
    last = next(iter(branch.pulls), None)
    state = state_of(last) if last is not None else None
    if last is None or state is None or state.subject != SUBJECT:
        return None
    if last.state is PullState.CLOSED and not state.closed:
        return Hold(
            HoldReason.CLOSED_BY_HUMAN,
            f"{last.url} was closed by a person",
            _BY_HAND,
            target=state.target,
            since=last.closed_at,
        )
    digest = pull_request_title.plan_digest(proposal)
    if last.state is PullState.MERGED and last.head is not None and is_planned(last.head.message, digest):
        reason = f"{last.url} was merged, and the branch is as it was before"
        return Hold(HoldReason.REVERTED, reason, _BY_HAND, target=state.target)
    return None
