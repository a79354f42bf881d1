"""What people answered to earlier proposals, read from pull requests and issues.

A closed pull request, a deleted branch (GitHub closes its pull request), a merge that
was reverted: each is an answer. So is a draft that was marked ready, and our label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, Issue, PullRequest, PullState, Repository
from flux_upgrade.model.versions import Version, minor_of
from flux_upgrade.policy.decision import BumpKind, HoldReason
from flux_upgrade.policy.policy import Feedback, Rejection

APPROVED = "flux-upgrade/approved"
REBASE = "flux-upgrade/rebase"
"""Labels that a person sets."""


def answers_of(  # noqa: PLR0913 two sources, and the four facts that select from them
    branches: Iterable[Branch],
    issues: Iterable[Issue],
    *,
    team: str,
    path: str,
    current: str,
    asked: Iterable[str],
) -> Feedback:
    """What was answered for the installation at ``path``, whose body is ``current``.

    ``branches``: those of its team, one for each subject. ``asked``: what this run was told to approve.
    """
    muted: list[Rejection] = []
    approved = [*asked, *_carried(branches, path, current)]
    for branch in branches:
        approved += _cut_off(branch)
        reopened: set[str] = set()
        for pull in branch.pulls:
            state = state_of(pull)
            if state is None or not markers.target_of(state, path):
                continue
            approved += _approvals(state, pull)
            if minor_of(state.target) not in reopened:
                muted += _refusals(state, pull, path, current)
            if pull.state is PullState.OPEN:
                # It was opened, or opened again, after all that was said of this minor before.
                reopened.add(minor_of(state.target))
    for issue, state in _newest(issues, team):
        if not issue.is_open and state.closed in ("", markers.SKIP):
            muted.append(_closed(BumpKind(state.subject), state.target, issue))
        elif issue.is_open and APPROVED in issue.labels:
            approved.append(minor_of(state.target))
    migrated, unmigrated = _migrated(branches, path, current)
    moved = list(_merged(branches, path))
    return Feedback(
        tuple(dict.fromkeys(muted)),
        tuple(dict.fromkeys(approved)),
        tuple(migrated),
        unmigrated,
        tuple(_stored(branches, issues, team)),
        tuple(entry for state in moved for entry in state.moved),
        tuple(dict.fromkeys(state.target for state in moved if state.subject == BumpKind.MIGRATION)),
    )


def _merged(branches: Iterable[Branch], path: str) -> Iterator[markers.State]:
    """Of merged pull requests that are about the installation at ``path``."""
    for branch in branches:
        for pull in branch.pulls:
            state = state_of(pull) if pull.state is PullState.MERGED else None
            if state is not None and markers.target_of(state, path):
                yield state


def _carried(branches: Iterable[Branch], path: str, current: str) -> Iterator[str]:
    """What was approved of an upgrade with the manifests that were moved for it, and since merged.

    It counts until something else is proposed or refused of the same minor: that is newer.
    """
    found = [(pull, state) for branch in branches for pull in branch.pulls if (state := state_of(pull))]
    for pull, state in found:
        minor = minor_of(state.target)
        is_merged = state.subject == BumpKind.MIGRATION and pull.state is PullState.MERGED
        if not is_merged or not state.approval or minor == minor_of(current):
            continue
        others = [each for each, told in found if each is not pull and minor_of(told.target) == minor]
        if markers.target_of(state, path) and not any(_is_later(each, pull) for each in others):
            yield state.approval


def _is_later(pull: PullRequest, merged: PullRequest) -> bool:
    """Whether a pull request was opened after another one, or closed after that was merged."""
    is_closed = pull.state is PullState.CLOSED and pull.closed_at >= merged.closed_at
    return pull.number > merged.number or is_closed


def _stored(branches: Iterable[Branch], issues: Iterable[Issue], team: str) -> Iterator[str]:
    """What was read in histories, and is written in what is open."""
    for branch in branches:
        state = state_of(branch.open_pull) if branch.open_pull is not None else None
        yield from state.stored if state is not None else ()
    for issue, state in _newest(issues, team):
        yield from state.stored if issue.is_open else ()


def _migrated(branches: Iterable[Branch], path: str, current: str) -> tuple[list[str], str]:
    """The releases at which `flux migrate` ran; where it was to run after a merge, and nobody says so."""
    migrated, unmigrated = [], ""
    for branch in branches:
        for pull in branch.pulls:
            state = state_of(pull)
            if state is None or not state.migrate or not markers.target_of(state, path):
                continue
            if markers.is_ticked(pull.body, markers.MIGRATED):
                migrated += state.migrate.split(",")
            elif pull.state is PullState.MERGED and current in state.migrate.split(","):
                unmigrated = pull.url if markers.target_of(state, path) == current else unmigrated
    return migrated, unmigrated


def _newest(issues: Iterable[Issue], team: str) -> Iterator[tuple[Issue, markers.State]]:
    """The last word of a team's issues, one for each subject."""
    found: dict[str, tuple[Issue, markers.State]] = {}
    for issue in sorted(issues, key=lambda issue: issue.number):
        state = markers.state_of(issue.body)
        if state is not None and state.group == team and state.subject in set(BumpKind):
            found[state.subject] = (issue, state)
    yield from found.values()


def _closed(subject: BumpKind, target: str, where: PullRequest | Issue) -> Rejection:
    return Rejection(subject, target, HoldReason.CLOSED_BY_HUMAN, where.closed_at, where.url)


def _cut_off(branch: Branch) -> Iterator[str]:
    """What was approved by a run that ended after it had made the branch.

    A commit that was put into an open pull request does not count: somebody may have closed that since.
    """
    head = branch.head
    if head is None or not markers.is_ours(head):
        return
    if all(pull.head is None or pull.head.oid != head.oid for pull in branch.pulls):
        approval = markers.trailers(head.message).get(markers.OPENING, "")
        if approval:
            yield approval


def state_of(pull: PullRequest) -> markers.State | None:
    """What we wrote into the pull request; from its commit, should the body have lost it."""
    state = markers.state_of(pull.body)
    if state is not None or pull.head is None:
        return state
    told = markers.trailers(pull.head.message)
    names = ("Flux-Upgrade-Group", "Flux-Upgrade-Subject", markers.TARGET, markers.APPROVAL)
    group, subject, target, approval = (told.get(name, "") for name in names)
    if not (group and subject and target):
        return None
    return markers.State(group, subject, target, approval=approval)


def issue_of(repository: Repository, slug: str, subject: str) -> Issue | None:
    """The open issue that stands in for the draft of a team's subject."""
    return next(iter(issues_of(repository, slug, subject)), None)


def issues_of(repository: Repository, slug: str, subject: str) -> tuple[Issue, ...]:
    """Those that are open, oldest first: two runs at once make two, for issues may be alike."""
    states = ((issue, markers.state_of(issue.body)) for issue in repository.issues)
    found = (
        issue
        for issue, state in states
        if state is not None and issue.is_open and (state.group, state.subject) == (slug, str(subject))
    )
    return tuple(sorted(found, key=lambda issue: issue.number))


def _approvals(state: markers.State, pull: PullRequest) -> Iterator[str]:
    if pull.state is not PullState.OPEN or markers.is_ticked(pull.body, markers.SKIP):
        return
    if APPROVED in pull.labels:
        yield minor_of(state.target)
    elif (
        not pull.is_draft
        and not state.held
        and (state.pending or state.approval or markers.state_of(pull.body) is None)
    ):
        # Marked ready by a person, or by us once a person had approved; or whoever took our block
        # out of the body saw what is ready.
        yield state.approval or minor_of(state.target)
    elif state.pending and state.approval:
        # A run was told so, and was cut off before it had marked it ready.
        yield state.approval


def _merged_target(pull: PullRequest) -> str:
    """What was merged is the commit, whatever the body told by then."""
    if pull.head is None or not markers.is_ours(pull.head):
        return ""
    return markers.trailers(pull.head.message).get(markers.TARGET, "")


def _refusals(state: markers.State, pull: PullRequest, path: str, current: str) -> Iterator[Rejection]:
    if state.subject not in set(BumpKind):
        return
    subject = BumpKind(state.subject)
    if pull.state is PullState.MERGED and subject is not BumpKind.MIGRATION:
        own_target = markers.target_of(state, path)
        tag = own_target if own_target != state.target else _merged_target(pull) or own_target
        target, own = Version.parse(tag), Version.parse(current)
        if target is not None and own is not None and own < target:
            # When it was reverted nobody tells; `closed_at` is when it was merged.
            yield Rejection(subject, tag, HoldReason.REVERTED, "", pull.url)
    elif pull.state is PullState.CLOSED:
        if state.closed in ("", markers.SKIP):
            yield _closed(subject, state.target, pull)
    elif markers.is_ticked(pull.body, markers.SKIP):
        yield _closed(subject, state.target, pull)
