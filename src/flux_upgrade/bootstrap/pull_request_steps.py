"""A bootstrap that is proposed, and what there is → the steps between. Pure, and safe to repeat.

The rules are those of ``converge``: a commit of ours or hands off, one pull request, made
anew only where the plan is another one, it conflicts, or a person asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.bootstrap import pull_request_title
from flux_upgrade.bootstrap.proposed import SUBJECT, Bootstrap
from flux_upgrade.bootstrap.pull_request_body import body
from flux_upgrade.model import markers
from flux_upgrade.model.forge import (
    Branch,
    Extras,
    NewCommit,
    OpenPull,
    PullRequest,
    PullState,
    Question,
    Repository,
    UpdatePull,
)
from flux_upgrade.model.markers import State
from flux_upgrade.planning.proposal import Surroundings
from flux_upgrade.policy.decision import Hold, HoldReason
from flux_upgrade.policy.feedback import REBASE, state_of
from flux_upgrade.pullrequests.reconcile import (
    Convergence,
    converge_without,
    edited,
    is_merged,
    is_planned,
    may_replace,
    new_body,
    taken,
)

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


def converge_bootstrap(
    proposal: Bootstrap, around: Surroundings, repository: Repository, extras: Extras | None = None
) -> Convergence:
    """Open the pull request of a bootstrap, bring it up to date, or close it where nothing is left of it.

    ``extras``: labels and the like for a pull request that is opened.
    """
    branch = repository.branches[proposal.branch]
    pull = branch.open_pull
    if not proposal.changes:
        return converge_without(branch, None, *_DONE) if pull is not None else Convergence()
    if branch.elsewhere:
        return Convergence(hold=taken(branch))
    if pull is not None:
        return _update(proposal, around, repository, pull, extras)
    answer = None if proposal.is_asked else _answer(proposal, branch)
    if answer is not None:
        return Convergence(hold=answer)
    if not may_replace(branch):
        return Convergence(hold=edited(f"the branch {branch.name}"))
    return Convergence((_open(proposal, around, repository, extras),))


def _open(
    proposal: Bootstrap, around: Surroundings, repository: Repository, extras: Extras | None
) -> OpenPull:
    branch = repository.branches[proposal.branch]
    head = branch.head
    fits = (
        head is not None
        and markers.is_ours(head)
        and is_planned(head.message, pull_request_title.plan_digest(proposal))
        and not is_merged(branch)  # merged and reverted: the same commit once more would change nothing
    )
    return OpenPull(
        branch=branch.name,
        base=repository.base,
        before="" if head is None else head.oid,
        commit=None if fits else _commit(proposal, around, repository),
        title=pull_request_title.title(proposal, around),
        body=body(proposal, around, pull_request_title.state(proposal, around)),
        is_draft=False,
        status=pull_request_title.status(proposal, around),
        extras=extras or Extras(),
    )


def _update(
    proposal: Bootstrap,
    around: Surroundings,
    repository: Repository,
    pull: PullRequest,
    extras: Extras | None,
) -> Convergence:
    head = repository.branches[proposal.branch].head
    if head is None:
        # The branch is gone, and the forge has not closed the pull request yet: a person's answer.
        return Convergence(pull=pull)
    asked = REBASE in pull.labels or markers.is_ticked(pull.body, markers.REBASE)
    if not markers.is_ours(head) and not asked:
        return Convergence(hold=edited(pull.url), pull=pull)
    remake = (
        asked or pull.is_conflicting or not is_planned(head.message, pull_request_title.plan_digest(proposal))
    )
    before = state_of(pull) or State(proposal.slug, SUBJECT, proposal.target)
    title, state = pull_request_title.title(proposal, around), pull_request_title.state(proposal, around)
    is_ours = before.title == markers.digest_of(pull.title)
    if not is_ours:
        state = state._replace(title=before.title)
    ours = body(proposal, around, state)
    status = pull_request_title.status(proposal, around)
    is_bare = repository.sees_statuses and head.statuses.get(status.context) != status.state
    idle = UpdatePull(pull=pull, branch=proposal.branch, before=head.oid)
    step = idle._replace(
        commit=_commit(proposal, around, repository) if remake else None,
        title=title if is_ours and title != pull.title else None,
        # A server that cannot be asked for its pull requests is told everything with each push.
        body=ours if remake and not repository.lists_pulls else new_body(pull.body, ours),
        status=status if remake or is_bare else None,
        drop_labels=(REBASE,) if REBASE in pull.labels else (),
    )
    if step == idle._replace(status=status) and status.context not in head.statuses:
        # The status is the last thing that a new pull request gets: that run was cut off.
        step = step._replace(extras=extras)
    return Convergence((step,) if step != idle else (), pull=pull)


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
        told = f"{last.url} was merged, and the branch is as it was before"
        return Hold(HoldReason.REVERTED, told, _BY_HAND, target=state.target)
    return None


def _commit(proposal: Bootstrap, around: Surroundings, repository: Repository) -> NewCommit:
    return NewCommit(
        message=pull_request_title.commit_message(proposal, around),
        parent=repository.base_oid,
        parent_tree=repository.base_tree,
        files=_files(proposal, repository),
    )


def _files(proposal: Bootstrap, repository: Repository) -> Mapping[str, tuple[str, bytes]]:
    return {each.path: (repository.files[each.path].mode, each.after) for each in proposal.changes}
