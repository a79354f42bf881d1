"""A proposal, and what there is → the steps between. Pure, and safe to repeat.

A run may end between any two calls to the forge: whatever it left behind, the next
run goes on from there. A branch that somebody else has touched is left alone. What holds for
any pull request of ours is in ``desired``; drafts, issues and holds are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from flux_upgrade.model import markers
from flux_upgrade.model.forge import (
    Branch,
    ClosePull,
    Extras,
    Issue,
    OpenIssue,
    PullRequest,
    Repository,
    Status,
    Step,
    UpdateIssue,
    UpdatePull,
)
from flux_upgrade.planning.plan import files_after
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import APPROVED, REBASE, accepted, believed_body, issues_of, state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump
from flux_upgrade.pullrequests.desired import (
    DesiredPull,
    Reconciliation,
    asks_for_rebase,
    new_body,
    reconcile_branch,
    recorded,
    rejections,
    state_before,
)
from flux_upgrade.pullrequests.text import body as pages
from flux_upgrade.pullrequests.text import checklist, commit
from flux_upgrade.pullrequests.text.commit import state_for

_MADE_DRAFT = "draft"
_OPENED = ("opened", "It was approved, and is a pull request now.")
_TWICE = ("twice", "Another issue has the same content.")


def reconcile(proposal: Proposal, context: ProposalContext, repository: Repository) -> Reconciliation:
    """Open the pull request of a proposal, or bring it up to date."""
    branch = repository.branches[proposal.branch]
    pull = branch.open_pull
    issues = issues_of(repository, proposal.slug, proposal.bump_kind)
    if issues and proposal.is_draft and pull is None and not branch.elsewhere:
        kept = (*_kept_issue(proposal, context, issues[0]), *_closed(issues[1:], *_TWICE))
        steps = (*rejections(branch), *kept)
        return Reconciliation(steps, issue=issues[0])
    waits = context.is_outside and pull is not None and _would_be_ready_by_itself(proposal, pull)
    proposal = proposal._replace(waits_for_schedule=waits)
    desired = _desired(proposal, context, repository)
    result = reconcile_branch(desired, repository)
    if result.hold is not None:
        return replace(result, hold=result.hold._replace(bump_kind=proposal.bump_kind, target=proposal.target))
    steps = tuple(step for each in result.steps for step in _with_approval(each, desired))
    return replace(result, steps=(*steps, *_closed(issues, *_OPENED)), waits_for_schedule=waits)


def reconcile_without(branch: Branch, issue: Issue | None, closed: str, why: str) -> Reconciliation:
    """Close what is no longer needed. ``closed``: the reason as a slug; ``why``: one sentence."""
    pull = branch.open_pull
    steps: tuple[Step, ...] = ()
    if pull is not None:
        state = state_of(pull)
        if state is None:
            return Reconciliation(pull=pull)
        # Whoever pushed to it may want to keep that; whoever ticked one of the boxes does not.
        is_given_up = closed == markers.SKIP or asks_for_rebase(pull)
        if not is_given_up and (pull.head is None or not markers.is_ours(pull.head)):
            return Reconciliation(hold=_touched(pull), pull=pull)
        body = commit.closing(believed_body(pull), recorded(state._replace(closed=closed), pull), why)
        # Whoever opens it again wants it to stay, and what is pushed to it until then.
        steps = (ClosePull(pull, markers.unticked(body, markers.SKIP, markers.REBASE)),)
    issues = () if issue is None else (issue,)
    return Reconciliation((*steps, *_closed(issues, closed, why)), pull=pull)


def reconcile_held(branch: Branch, hold: Hold, repository: Repository, rings: tuple[str, ...]) -> Reconciliation:
    """What is open, and would break something if it were merged now: a draft that says so.

    Convert it to a draft once. If a user who may write marks it ready again, leave it. ``rings``: what was seen of
    the groups before, ``MarkerState.rings``.
    """
    pull, head = branch.open_pull, branch.head
    # If the server does not show the text, there is no place to say so.
    state = state_of(pull) if pull is not None and repository.lists_pulls else None
    if pull is None or head is None or state is None or not markers.is_ours(head) or pull.answers.is_unknown:
        return Reconciliation(pull=pull)
    is_argued = pull.answers.ready is False  # Who marked it ready may not write
    held = state.held or ("said" if pull.is_draft else _MADE_DRAFT)
    # The branch has no commits of others: the box has nothing to discard, and must not discard what is pushed later.
    make_draft = not pull.is_draft and (not state.held or is_argued)
    known = recorded(state._replace(held=held, rings=rings), pull, is_draft=pull.is_draft or make_draft)
    said = commit.held(believed_body(pull), known, hold)
    body = markers.unticked(said, markers.REBASE)
    status = Status(markers.PROOF, "failure", f"held: {hold.reason}")
    is_said = head.statuses.get(status.context) == status.state or markers.REFUSED + markers.STATUS in state.given
    step = UpdatePull(
        pull=pull,
        branch=branch.name,
        before=head.oid,
        body=None if markers.is_same(body, pull.body) else body,
        make_draft=make_draft,
        status=status if repository.sees_statuses and not is_said else None,
    )
    idle = UpdatePull(pull=pull, branch=step.branch, before=step.before)
    return Reconciliation(() if step == idle else (step,), pull=pull)


def instead_of_draft(proposal: Proposal, context: ProposalContext) -> OpenIssue:
    """The issue that says what a draft would, where the forge has none."""
    title, body = pages.issue(proposal, context, state_for(proposal, context))
    return OpenIssue(title, body, (markers.PENDING,))


def _desired(proposal: Proposal, context: ProposalContext, repository: Repository) -> DesiredPull:
    pull = repository.branches[proposal.branch].open_pull
    draft = pull if pull is not None and pull.is_draft else None
    message, approval = commit.commit_message(proposal, context), proposal.approval
    return DesiredPull(
        branch=proposal.branch,
        digest=commit.plan_digest(proposal),
        # Should the body be lost, the commit tells.
        message=f"{message.rstrip()}\n{markers.APPROVAL}: {approval}\n" if approval else message,
        approval=approval,
        opening=f"{markers.OPENING}: {approval}\n" if approval else "",
        files=files_after(proposal.upgrades),
        title=commit.title(proposal, context),
        body=lambda state: pages.body(proposal, context, state),
        state=state_for(proposal, context),
        status=commit.status(proposal)._replace(url=context.run_url),
        extras=_extras(proposal, context),
        is_draft=proposal.is_draft,
        make_ready=draft is not None and not proposal.is_draft and _is_approved(proposal, draft),
        # Whatever made it wait, a policy or another range: what is ready has been approved.
        make_draft=proposal.is_draft and draft is None,
        answered=(REBASE, APPROVED),
    )


def _is_approved(proposal: Proposal, draft: PullRequest) -> bool:
    """Whether it is a draft only because it had to wait: a draft that a person made stays one."""
    return _has_waited(draft) or APPROVED in draft.labels or proposal.is_asked


def _has_waited(draft: PullRequest) -> bool:
    before = state_before(draft)
    return before.pending or before.held == _MADE_DRAFT


def _would_be_ready_by_itself(proposal: Proposal, pull: PullRequest) -> bool:
    """Whether it is a draft whose wait is over, and no user asks for it now: by dispatch, label or box."""
    is_asked = proposal.is_asked or APPROVED in pull.labels or bool(accepted(pull))
    return pull.is_draft and not proposal.is_draft and _has_waited(pull) and not is_asked


def _with_approval(step: Step, desired: DesiredPull) -> Iterator[Step]:
    """A pull request that is ready speaks for a minor. That it is about one version is written down first."""
    if not isinstance(step, UpdatePull) or not step.make_ready:
        yield step
        return
    pull, state = step.pull, desired.state_on(step.pull)
    merges = desired.extras.auto_merge and pull.answers.body
    step = step._replace(extras=(step.extras or Extras())._replace(auto_merge=merges))
    body = None
    if state.approval.startswith("v") and state_before(pull).approval != state.approval:
        body = new_body(pull.body, desired.body(state._replace(pending=True)))
    if body is None:
        yield step
    else:
        yield UpdatePull(pull=pull, branch=step.branch, before=step.before, body=body)
        yield step._replace(pull=pull._replace(body=body))


def _closed(issues: Iterable[Issue], closed: str, why: str) -> Iterator[UpdateIssue]:
    for issue in issues:
        state = state_of(issue)
        if state is not None:
            body = commit.closing(
                believed_body(issue), state._replace(closed=closed, answers=issue.answers.record or state.answers), why
            )
            yield UpdateIssue(issue, body, close=True)


def _kept_issue(proposal: Proposal, context: ProposalContext, issue: Issue) -> tuple[Step, ...]:
    _, ours = pages.issue(proposal, context, state_for(proposal, context))
    if issue.answers.is_unknown:
        return ()
    body = new_body(issue.body, markers.with_answers(ours, issue.answers.record) or ours)
    return () if body is None else (UpdateIssue(issue, body),)


def _extras(proposal: Proposal, context: ProposalContext) -> Extras:
    group = proposal.group.governance
    merges = not context.is_outside and _merges_by_itself(proposal, context)
    return Extras(group.labels, group.assignees, group.reviewers, auto_merge=merges)


def _merges_by_itself(proposal: Proposal, context: ProposalContext) -> bool:
    """Whether auto-merge is configured for it, and no user has to look at it first.

    A minor needs no user at all: the policy allows it, the groups before have passed it, and no action is required.
    """
    most, kind = proposal.group.governance.auto_merge, proposal.bump_kind
    if most is MaxBump.NONE or proposal.is_draft:
        return False
    if any(upgrade.wait is not None and upgrade.wait.is_stuck for _, upgrade in proposal.upgrades):
        return False  # No group before can test it
    if kind is BumpKind.PATCH:
        # What has to be done before merging, such as a signature, waits for whoever does it.
        return not checklist.has_to_do(proposal)
    is_asked = any(upgrade.bump.approval or upgrade.wait is not None for _, upgrade in proposal.upgrades)
    is_minor = kind is BumpKind.MINOR and most is MaxBump.MINOR
    return is_minor and not is_asked and checklist.needs_nobody(proposal, context)


def _touched(pull: PullRequest) -> Hold:
    return Hold(
        HoldReason.BRANCH_EDITED,
        f"{pull.url} is no longer needed, but another user pushed to its branch",
        "close it, or merge what you want to keep",
    )
