"""What the pull request of a branch should be, and what there is → the steps between. Pure.

The rules that upgrades and bootstraps share: a commit of ours or hands off, one pull request, made again only
where the plan is another one, it conflicts, or a person asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from flux_upgrade.model import markers
from flux_upgrade.model.forge import (
    Branch,
    CommentPull,
    Commit,
    Extras,
    Issue,
    NewCommit,
    OpenPull,
    PullRequest,
    PullState,
    RejectPull,
    Repository,
    Status,
    Step,
    UpdatePull,
    is_merged,
)
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import NO_VERSION
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.feedback import REBASE, believed_body, has_confirmed, state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests import auto_merge

_PLAN = "Flux-Upgrade-Plan"
_UNFREEZE = (
    "exclude the branches of flux-upgrade from that rule (Settings > Rules or Branches), or add its token to the"
    " bypass list"
)
_SIGN = f"use GITHUB_TOKEN or the token of an app, or {_UNFREEZE}"
_REJECTED = (
    "<!-- flux-upgrade:rejected -->\nflux-upgrade closes this pull request, because another account opened it from a "
    "branch of flux-upgrade. Only pull requests that flux-upgrade opened itself count: "
    "if the upgrade is still needed, it opens its own.\n\n"
    "If flux-upgrade ran with this account's token before, add the account to `accounts` in the config file.\n"
)
_STOPPED = (
    "flux-upgrade no longer updates this pull request, because another user pushed to its branch. You can merge or "
    "close it as it is.\n\nTo have it updated again, tick **rebase** in the description or add the label "
    f"`{REBASE}`. flux-upgrade then recreates the branch without the pushed commits."
)


@dataclass(frozen=True)
class Reconciliation:
    steps: tuple[Step, ...] = ()
    hold: Hold | None = None  # Hands off, and why; then the steps only say so
    pull: PullRequest | None = None  # The open pull request, should there be one
    issue: Issue | None = None  # The issue that stands in for it, should it stay open
    waits_for_schedule: bool = False  # It is open, and stays a draft for no other reason


@dataclass(frozen=True, kw_only=True)
class DesiredPull:
    """What the pull request of a branch should be: of an upgrade, or of a bootstrap."""

    branch: str
    digest: str  # Of the plan: a commit with the digest of another one is made again
    message: str  # Of the commit
    files: Mapping[str, bytes]  # Path → content, all of them asked for in the question
    title: str
    body: Callable[[MarkerState], str]  # Our block of the body, with a state in it
    state: MarkerState  # Written into the body
    status: Status
    extras: Extras
    is_draft: bool = False  # For a pull request that is opened
    make_ready: bool = False  # For one that is open, as is `make_draft`
    make_draft: bool = False
    approval: str = ""  # What was approved, if the message says so
    opening: str = ""  # What the message ends with where a pull request is opened with the commit
    answered: tuple[str, ...] = (REBASE,)  # Labels with which a person asks for what is done now: they are dropped

    def is_forgotten(self, pull: PullRequest, head: Commit) -> bool:
        """Whether neither body nor commit tell that one version was approved: what is ready speaks for its minor."""
        is_one = self.approval.startswith("v") and markers.state_of(pull.body) is None
        return is_one and markers.trailers(head.message).get(markers.APPROVAL) != self.approval

    def state_on(self, pull: PullRequest, given: Iterable[str] | None = None) -> MarkerState:
        """The state, once it is written into ``pull``: a title that a person has changed stays theirs.

        ``given``: what it has been given by then, ``MarkerState.given``; None: what it had before.
        """
        before = state_before(pull)
        is_draft = self.make_draft or (pull.is_draft and not self.make_ready)
        state = self.state._replace(given=_sorted(before.given if given is None else given))
        state = recorded(state, pull, is_draft=is_draft)
        is_ours = pull.title == self.title or _is_titled_by_us(pull)
        return state if is_ours else state._replace(title=before.title)


def state_before(pull: PullRequest) -> MarkerState:
    """What an earlier run has written down; nothing but defaults where it cannot be read."""
    return state_of(pull) or MarkerState("", "", NO_VERSION)


def recorded(state: MarkerState, pull: PullRequest, *, is_draft: bool | None = None) -> MarkerState:
    """Add what this run asked about the answers to ``pull``.

    ``is_draft``: whether it is one afterwards; None if that does not change. Who marked a draft ready before is of no
    interest.
    """
    answers = pull.answers.record or state_before(pull).answers
    if pull.is_draft if is_draft is None else is_draft:
        answers = tuple(each for each in answers if not each.startswith("ready "))
    return state._replace(answers=answers)


def with_state(answered: PullRequest | Issue, state: MarkerState) -> str | None:
    """Return the body with another state in our text, or None. What a stranger wrote is not taken over."""
    text = markers.text_of(believed_body(answered))
    return None if text is None else markers.replaced(answered.body, markers.block(text, state))


def reconcile_branch(desired: DesiredPull, repository: Repository) -> Reconciliation:
    """Open the pull request of a branch, or bring it up to date, in one step at most."""
    branch = repository.branches[desired.branch]
    reconciliation = _reconciled(desired, repository, branch)
    blocked = _blocked(branch, reconciliation.steps)
    return reconciliation if blocked is None else Reconciliation(hold=blocked, pull=branch.open_pull)


def unless_queued(reconciliation: Reconciliation) -> Reconciliation:
    """Take no step about a pull request in the merge queue: a push, a draft or a close would remove it from there."""
    pull = reconciliation.pull
    if pull is None or not pull.is_queued or not reconciliation.steps:
        return reconciliation
    hold = Hold(HoldReason.IN_MERGE_QUEUE, "it is in GitHub's merge queue", "wait, or remove it from the queue")
    return replace(reconciliation, steps=(), hold=reconciliation.hold or hold)


def _reconciled(desired: DesiredPull, repository: Repository, branch: Branch) -> Reconciliation:
    if branch.elsewhere:
        return Reconciliation(hold=_taken(branch))
    if branch.is_unread:
        return Reconciliation(hold=_drowned(branch), pull=branch.open_pull)
    if branch.open_pull is not None:
        return _update(desired, repository, branch.open_pull)
    # A branch without an open pull request is ours, or was merged as it is.
    if branch.head is not None and not markers.is_ours(branch.head) and not is_merged(branch):
        return Reconciliation(hold=_edited(f"the branch {branch.name}", "delete the branch to discard these commits"))
    return Reconciliation((*rejections(branch), _open(desired, repository)))


def _open(desired: DesiredPull, repository: Repository) -> OpenPull:
    branch = repository.branches[desired.branch]
    head = branch.head
    fits = (
        head is not None
        and markers.is_ours(head)
        and is_planned(head.message, desired.digest)
        and not is_merged(branch)  # merged and reverted: the same commit once more would change nothing
    )
    extras = _wanted(desired, repository, is_draft=desired.is_draft)
    return OpenPull(
        branch=branch.name,
        base=repository.base,
        before="" if head is None else head.oid,
        commit=None if fits else _commit(desired, repository, desired.opening),
        title=desired.title,
        body=desired.body(desired.state._replace(given=_sorted(auto_merge.given(extras)))),
        is_draft=desired.is_draft,
        status=desired.status,
        extras=extras,
    )


def rejections(branch: Branch) -> tuple[RejectPull, ...]:
    """Close the pull requests that other accounts opened from a branch of ours into the base."""
    return tuple(RejectPull(pull, _REJECTED) for pull in branch.others if pull.state is PullState.OPEN)


def asks_for_rebase(pull: PullRequest) -> bool:
    """Whether a user allows us to discard what others pushed to the branch."""
    return REBASE in pull.labels or pull.is_rebase_asked or has_confirmed(pull, markers.REBASE)


def _update(desired: DesiredPull, repository: Repository, pull: PullRequest) -> Reconciliation:
    if pull.answers.is_unknown:
        return Reconciliation(pull=pull)
    asked = asks_for_rebase(pull)
    head = repository.branches[desired.branch].head
    if head is None:
        # The branch is gone, and the forge has not closed the pull request yet: a person's answer.
        return Reconciliation(pull=pull)
    if not markers.is_ours(head) and not asked:
        return Reconciliation(tuple(_stopped(pull, head, repository)), hold=_edited(pull.url, _IN_A_PULL), pull=pull)
    # A draft cannot be merged: being out of date is no reason to start its checks again.
    is_mergeable = not pull.is_draft or desired.make_ready
    is_outdated = pull.is_outdated and is_mergeable and not repository.branches[desired.branch].is_frozen
    remake = asked or pull.is_conflicting or is_outdated or not is_planned(head.message, desired.digest)
    remake |= desired.is_forgotten(pull, head)
    extras = _wanted(desired, repository, is_draft=not is_mergeable or desired.make_draft)
    # If users removed our text, or the server does not show it, nobody knows what was given.
    is_kept = repository.lists_pulls and markers.state_of(pull.body) is not None
    before = state_before(pull).given
    if remake:  # What the server refused before, it may accept by now.
        before = tuple(name for name in before if not name.startswith(markers.REFUSED))
    tried = {name.removeprefix(markers.REFUSED) for name in before}
    merging = auto_merge.change(pull, before, repository.viewer, extras, makes_draft=desired.make_draft)
    missing = extras.without(tried)._replace(auto_merge=merging.starts) if is_kept else Extras()
    body = desired.body(desired.state_on(pull, (*merging.given, *(missing if is_kept else extras).names)))
    status = desired.status
    is_bare = repository.sees_statuses and head.statuses.get(status.context) != status.state
    is_bare &= markers.STATUS not in tried
    idle = UpdatePull(pull=pull, branch=desired.branch, before=head.oid)
    step = idle._replace(
        commit=_commit(desired, repository) if remake else None,
        title=desired.title if _is_titled_by_us(pull) and desired.title != pull.title else None,
        # A server that cannot be asked for its pull requests gets everything with each push.
        body=new_body(pull.body, body) if repository.lists_pulls else body if remake else None,
        make_ready=desired.make_ready,
        make_draft=desired.make_draft,
        status=status if remake or is_bare else None,
        drop_labels=(*(label for label in desired.answered if label in pull.labels), *pull.answers.labels),
        extras=missing if missing != Extras() else None,
    )
    if step == idle._replace(status=status) and status.context not in head.statuses and not head.merged:
        # The status is the last thing that a new pull request gets: that run was cut off.
        step = step._replace(extras=extras)
    steps = (step,) if step != idle else ()
    return Reconciliation((*steps, *([idle._replace(stop_auto_merge=True)] if merging.stops else [])), pull=pull)


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    """In whatever order they were given, the text is the same."""
    return tuple(sorted(set(names)))


def _wanted(desired: DesiredPull, repository: Repository, *, is_draft: bool) -> Extras:
    """A draft asks for no reviews, as GitHub does not ask code owners; and never one of the token's own account.

    Source: https://docs.github.com/articles/about-code-owners#about-code-owners.
    """
    reviewers = (name for name in desired.extras.reviewers if name.lower() != repository.viewer.lower())
    return desired.extras._replace(reviewers=() if is_draft else tuple(reviewers))


def _commit(desired: DesiredPull, repository: Repository, opening: str = "") -> NewCommit:
    return NewCommit(
        message=desired.message + opening,
        parent=repository.base_oid,
        parent_tree=repository.base_tree,
        files={path: (repository.files[path].mode, content) for path, content in desired.files.items()},
    )


def new_body(body: str, ours: str) -> str | None:
    """The body with our block replaced, or put below if a person has removed it; None where that changes nothing."""
    new = markers.restored(body, ours)
    return None if markers.is_same(new, body) else new


def is_planned(message: str, digest: str) -> bool:
    """Whether a commit is what a plan with ``digest`` makes."""
    return markers.trailers(message).get(_PLAN) == digest


def _is_titled_by_us(pull: PullRequest) -> bool:
    """Whether it has the title that we gave it. If the body was lost, that is the first line of our commit."""
    known = state_before(pull).title
    if known or pull.head is None or not markers.is_ours(pull.head):
        return known == markers.digest_of(pull.title)
    return pull.title == pull.head.message.partition("\n")[0]


_IN_A_PULL = f"merge or close it; to discard these commits, tick its rebase box or add the label {REBASE}"


def _stopped(pull: PullRequest, head: Commit, repository: Repository) -> Iterator[CommentPull]:
    """One comment, for those who subscribed: nothing else in the pull request says why it is no longer updated."""
    state = state_of(pull)
    if state is None or state.stopped or not repository.lists_pulls:
        return
    # If users removed our text, they have taken it over.
    body = with_state(pull, recorded(state._replace(stopped=True), pull))
    if body is not None:
        yield CommentPull(pull, f"<!-- flux-upgrade:stopped {head.oid} -->\n{_STOPPED}\n", body)


def _edited(where: str, hint: str) -> Hold:
    """Another user has pushed to ``where``, a branch or a pull request of ours."""
    return Hold(HoldReason.BRANCH_EDITED, f"another user pushed to {where}", hint)


def _blocked(branch: Branch, steps: Iterable[Step]) -> Hold | None:
    """What keeps the steps from writing to the branch: each of them would fail in every run."""
    commits = [step for step in steps if isinstance(step, OpenPull | UpdatePull) and step.commit is not None]
    if commits and branch.in_the_way:
        fact = f"the branch {branch.in_the_way} exists, so Git cannot create {branch.name}"
        return Hold(HoldReason.BRANCH_BLOCKED, fact, "rename or delete it, or set another `branch-prefix`")
    if commits and branch.forbids_creation:
        fact = f"the repository's rules forbid the creation of {branch.name}"
        return Hold(HoldReason.BRANCH_BLOCKED, fact, _UNFREEZE)
    if commits and branch.needs_signature:
        fact = f"the repository's rules require signed commits on {branch.name}, which this token cannot create"
        return Hold(HoldReason.BRANCH_BLOCKED, fact, _SIGN)
    if branch.is_frozen and any(step.before for step in commits):
        fact = f"the repository's rules forbid force pushes or updates of {branch.name}"
        return Hold(HoldReason.BRANCH_BLOCKED, fact, _UNFREEZE)
    return None


def _drowned(branch: Branch) -> Hold:
    fact = f"forks have so many pull requests from a branch named {branch.name} that GitHub does not list ours"
    return Hold(HoldReason.BRANCH_BLOCKED, fact, "set another `branch-prefix` in the config file")


def _taken(branch: Branch) -> Hold:
    return Hold(
        HoldReason.BRANCH_EDITED,
        f"the branch {branch.name} has a pull request into another base: {branch.elsewhere}",
        "set a different `branch-prefix` in the config file of each base, or close that pull request",
    )
