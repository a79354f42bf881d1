"""What there is and what should be → the steps between them. Pure, and safe to repeat.

A run may end between any two calls to the forge: whatever it left behind, the next
run goes on from there. A branch that somebody else has touched is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from flux_upgrade.model import markers
from flux_upgrade.model.forge import (
    Branch,
    ClosePull,
    Extras,
    Issue,
    NewCommit,
    OpenIssue,
    OpenPull,
    PullRequest,
    PullState,
    Repository,
    Status,
    Step,
    UpdateIssue,
    UpdatePull,
)
from flux_upgrade.model.markers import State
from flux_upgrade.planning.plan import files_after
from flux_upgrade.planning.proposal import Proposal, Surroundings
from flux_upgrade.policy.decision import Hold, HoldReason
from flux_upgrade.policy.feedback import APPROVED, REBASE, issues_of, state_of
from flux_upgrade.pullrequests import text
from flux_upgrade.pullrequests.text.commit import state_for

_PLAN = "Flux-Upgrade-Plan"
_MADE_DRAFT = "draft"
_OPENED = ("opened", "It was approved, and is a pull request now.")
_TWICE = ("twice", "There is another issue that says the same.")


@dataclass(frozen=True)
class Convergence:
    """What is to be done for one branch."""

    steps: tuple[Step, ...] = ()
    hold: Hold | None = None
    """Hands off, and why."""
    pull: PullRequest | None = None
    """The open pull request, should there be one."""
    issue: Issue | None = None
    """The issue that stands in for it, should it stay open."""


def converge(proposal: Proposal, around: Surroundings, repository: Repository) -> Convergence:
    """Open the pull request of a proposal, or bring it up to date."""
    branch = repository.branches[proposal.branch]
    pull = branch.open_pull
    issues = issues_of(repository, proposal.slug, proposal.subject)
    if branch.elsewhere:
        return Convergence(hold=_of(proposal, taken(branch)))
    if pull is not None:
        found = _update(proposal, around, repository, pull)
        steps = (*found.steps, *_closed(issues, *_OPENED))
        return found if found.hold is not None else replace(found, steps=steps)
    head = branch.head
    if issues and proposal.is_pending:
        steps = (*_kept_issue(proposal, around, issues[0]), *_closed(issues[1:], *_TWICE))
        return Convergence(steps, issue=issues[0])
    if head is not None and not may_replace(branch):
        return Convergence(hold=_of(proposal, edited(f"the branch {branch.name}")))
    fits = (
        head is not None
        and markers.is_ours(head)
        and is_planned(head.message, text.plan_digest(proposal))
        and not is_merged(branch)  # merged and reverted: the same commit once more would change nothing
    )
    opening = OpenPull(
        branch=branch.name,
        base=repository.base,
        before="" if head is None else head.oid,
        commit=None if fits else _commit(proposal, around, repository, markers.OPENING),
        title=text.title(proposal, around),
        body=text.body(proposal, around, state_for(proposal, around)),
        is_draft=proposal.is_pending,
        status=_status(proposal, around),
        extras=_extras(proposal),
    )
    return Convergence((opening, *_closed(issues, *_OPENED)))


def converge_without(branch: Branch, issue: Issue | None, closed: str, why: str) -> Convergence:
    """Close what is no longer needed. ``closed``: the reason as a slug; ``why``: one sentence."""
    pull = branch.open_pull
    steps: tuple[Step, ...] = ()
    if pull is not None:
        state = state_of(pull)
        if state is None:
            return Convergence(pull=pull)
        # Whoever pushed to it may want to keep that; whoever ticked the box does not.
        if closed != markers.SKIP and (pull.head is None or not markers.is_ours(pull.head)):
            return Convergence(hold=_touched(pull), pull=pull)
        body = text.closing(pull.body, state._replace(closed=closed), why)
        steps = (ClosePull(pull, body),)
    issues = () if issue is None else (issue,)
    return Convergence((*steps, *_closed(issues, closed, why)), pull=pull)


def converge_held(branch: Branch, hold: Hold, repository: Repository) -> Convergence:
    """What is open, and would break something if it were merged now: a draft that says so.

    It is made a draft once: whoever marks it ready all the same is not argued with.
    """
    pull, head = branch.open_pull, branch.head
    # Where people have taken our text away, or nobody can read it, there is no place to say so.
    state = markers.state_of(pull.body) if pull is not None and repository.lists_pulls else None
    if pull is None or head is None or state is None or not markers.is_ours(head):
        return Convergence(pull=pull)
    held = state.held or ("said" if pull.is_draft else _MADE_DRAFT)
    body = text.held(pull.body, state._replace(held=held), hold)
    status = Status(markers.PROOF, "failure", f"held: {hold.reason}")
    is_said = head.statuses.get(status.context) == status.state
    step = UpdatePull(
        pull=pull,
        branch=branch.name,
        before=head.oid,
        body=body if body.strip() != pull.body.replace("\r\n", "\n").strip() else None,
        make_draft=not state.held and not pull.is_draft,
        status=status if repository.sees_statuses and not is_said else None,
    )
    idle = UpdatePull(pull=pull, branch=step.branch, before=step.before)
    return Convergence(() if step == idle else (step,), pull=pull)


def instead_of_draft(proposal: Proposal, around: Surroundings) -> OpenIssue:
    """The issue that says what a draft would, where the forge has none."""
    title, body = text.issue(proposal, around, state_for(proposal, around))
    return OpenIssue(title, body, (markers.PENDING,))


def _update(
    proposal: Proposal, around: Surroundings, repository: Repository, pull: PullRequest
) -> Convergence:
    asked = REBASE in pull.labels or markers.is_ticked(pull.body, markers.REBASE)
    head = repository.branches[proposal.branch].head
    if head is None:
        # The branch is gone, and the forge has not closed the pull request yet: a person's answer.
        return Convergence(pull=pull)
    if not markers.is_ours(head) and not asked:
        return Convergence(hold=_of(proposal, edited(pull.url)), pull=pull)
    remake = asked or pull.is_conflicting or not is_planned(head.message, text.plan_digest(proposal))
    before = state_of(pull) or State(proposal.slug, proposal.subject, proposal.target)
    state = state_for(proposal, around)
    title = text.title(proposal, around)
    is_ours = before.title == markers.digest_of(pull.title)
    if not is_ours:
        state = state._replace(title=before.title)
    ours = text.body(proposal, around, state)
    # A server that cannot be asked for its pull requests is told everything with each push.
    told_anew = remake and not repository.lists_pulls
    status = _status(proposal, around)
    is_bare = repository.sees_statuses and head.statuses.get(status.context) != status.state
    ready = pull.is_draft and not proposal.is_pending
    step = UpdatePull(
        pull=pull,
        branch=proposal.branch,
        before=head.oid,
        commit=_commit(proposal, around, repository) if remake else None,
        title=title if is_ours and title != pull.title else None,
        body=ours if told_anew else new_body(pull.body, ours),
        make_ready=ready
        and (before.pending or before.held == _MADE_DRAFT or APPROVED in pull.labels or proposal.is_asked),
        # Whatever made it wait, a policy or another range: what is ready has been approved.
        make_draft=proposal.is_pending and not pull.is_draft,
        status=status if remake or is_bare else None,
        drop_labels=tuple(label for label in (REBASE, APPROVED) if label in pull.labels),
    )
    idle = UpdatePull(pull=pull, branch=step.branch, before=step.before)
    if step == idle._replace(status=status) and status.context not in head.statuses:
        # The status is the last thing that a new pull request gets: that run was cut off.
        step = step._replace(extras=_extras(proposal))
    elif step.make_ready:
        step = step._replace(extras=Extras(auto_merge=_extras(proposal).auto_merge))
    recorded = idle
    if step.make_ready and state.approval.startswith("v") and before.approval != state.approval:
        # A pull request that is ready speaks for a minor. That it is about one version is written down first.
        body = text.body(proposal, around, state._replace(pending=True))
        recorded = idle._replace(body=new_body(pull.body, body))
    steps = [each for each in (recorded, step) if each != idle]
    if recorded.body is not None:
        steps[-1] = step._replace(pull=pull._replace(body=recorded.body))
    return Convergence(tuple(steps), pull=pull)


def new_body(body: str, ours: str) -> str | None:
    """The body with our block anew; None where that changes nothing, or a person has removed it."""
    new = markers.replaced(body, ours)
    if new is None or new.replace("\r\n", "\n").strip() == body.replace("\r\n", "\n").strip():
        return None
    return new


def _closed(issues: Iterable[Issue], closed: str, why: str) -> Iterator[UpdateIssue]:
    for issue in issues:
        state = markers.state_of(issue.body)
        if state is not None:
            body = text.closing(issue.body, state._replace(closed=closed), why)
            yield UpdateIssue(issue, body, close=True)


def _kept_issue(proposal: Proposal, around: Surroundings, issue: Issue) -> tuple[Step, ...]:
    _, ours = text.issue(proposal, around, state_for(proposal, around))
    body = new_body(issue.body, ours)
    return () if body is None else (UpdateIssue(issue, body),)


def may_replace(branch: Branch) -> bool:
    """Whether a branch without an open pull request is ours, or was merged as it is."""
    head = branch.head
    return head is None or markers.is_ours(head) or is_merged(branch)


def is_merged(branch: Branch) -> bool:
    """Whether the branch was merged as it is now."""
    merged = (pull.head for pull in branch.pulls if pull.state is PullState.MERGED)
    return any(
        each is not None and branch.head is not None and each.oid == branch.head.oid for each in merged
    )


def is_planned(message: str, digest: str) -> bool:
    """Whether a commit is what a plan with ``digest`` makes."""
    return markers.trailers(message).get(_PLAN) == digest


def _commit(proposal: Proposal, around: Surroundings, repository: Repository, *names: str) -> NewCommit:
    """``names``: trailers that tell what was approved, beside the usual one."""
    message = text.commit_message(proposal, around)
    if proposal.approval:
        # Should the body be lost, the commit tells.
        told = "".join(f"{name}: {proposal.approval}\n" for name in (markers.APPROVAL, *names))
        message = f"{message.rstrip()}\n{told}"
    return NewCommit(
        message=message,
        parent=repository.base_oid,
        parent_tree=repository.base_tree,
        files=_files(proposal, repository),
    )


def _files(proposal: Proposal, repository: Repository) -> Mapping[str, tuple[str, bytes]]:
    after = files_after(proposal.upgrades)
    return {path: (repository.files[path].mode, content) for path, content in after.items()}


def _status(proposal: Proposal, around: Surroundings) -> Status:
    return text.status(proposal)._replace(url=around.run_url)


def _extras(proposal: Proposal) -> Extras:
    group = proposal.group
    patch = group.auto_merge and proposal.is_patch and not proposal.is_pending
    # What has to be done before merging, such as a signature, waits for whoever does it.
    is_ready = not text.has_to_do(proposal)
    return Extras(group.labels, group.assignees, group.reviewers, auto_merge=patch and is_ready)


def edited(where: str) -> Hold:
    """Somebody has pushed to ``where``, a branch or a pull request of ours."""
    return Hold(
        HoldReason.BRANCH_EDITED,
        f"somebody has pushed to {where}",
        "merge or close it as it is; to have it made anew, and what was pushed thrown away, tick the box "
        f"in the pull request or add the label {REBASE}; without a pull request delete the branch",
    )


def taken(branch: Branch) -> Hold:
    """The branch is another base's."""
    return Hold(
        HoldReason.BRANCH_EDITED,
        f"the branch {branch.name} has a pull request into another base: {branch.elsewhere}",
        "give each base a `branch-prefix` of its own in its config file, or close that pull request",
    )


def _of(proposal: Proposal, hold: Hold) -> Hold:
    return hold._replace(subject=proposal.subject, target=proposal.target)


def _touched(pull: PullRequest) -> Hold:
    return Hold(
        HoldReason.BRANCH_EDITED,
        f"{pull.url} is no longer needed, but somebody has pushed to its branch",
        "close it, or merge what you want to keep",
    )
