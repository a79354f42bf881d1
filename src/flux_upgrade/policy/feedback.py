"""Approvals and rejections of earlier proposals, read from pull requests and issues.

A closed pull request, a deleted branch (GitHub closes its pull request) and a reverted
merge are rejections. A draft that was marked ready and our label are approvals. Approvals count only
from users who may write to the repository, see ``forge.Answers``; rejections from anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, Commit, Issue, PullRequest, PullState, Repository
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.decision import BumpKind, Feedback, Rejection
from flux_upgrade.policy.hold_reasons import HoldReason

APPROVED, REBASE = markers.APPROVED_LABEL, markers.REBASE_LABEL


def feedback_of(  # noqa: PLR0913 three sources, and the four facts that select from them
    branches: Iterable[Branch],
    issues: Iterable[Issue],
    *,
    group: str,
    path: str,
    current: Version,
    asked: Iterable[str],
    former: Sequence[Branch] = (),
) -> Feedback:
    """The feedback on the installation at ``path``, whose manifest content is ``current``.

    ``branches``: those of its update group, one for each kind of bump. ``asked``: what this run approves.
    ``former``: those of groups that are gone: what is about this file counts as if it was of its group.
    """
    rejections: list[Rejection] = []
    moved: list[markers.MarkerState] = []
    stored: list[str] = []
    known = [(branch, _pulls_of(branch, former, path)) for branch in branches]
    all_pulls = [each for _, pulls in known for each in pulls]
    asked = tuple(asked)
    approved = [*asked, *_carried(all_pulls, path, current)]
    for branch, pulls in known:
        given = [*_cut_off(branch), *_approved_since(pulls, path)]
        stored += next((state.stored for pull, state in pulls if pull is branch.open_pull), ())
        reopened: set[str] = set()
        for pull, state in pulls:
            if not markers.target_of(state, path):
                continue
            # One that is still open on a former branch does not approve what was refused after it.
            is_older = pull not in branch.pulls and any(
                each.bump_kind == state.subject and each.target.minor == state.target.minor for each in rejections
            )
            given += () if is_older else _approvals(state, pull, path)
            if _proposed(state, path) not in reopened:
                rejections += _refusals(state, pull, path, current)
            if _is_open(pull):
                # It was opened, or opened again, after all that was said of what it proposes. The merge of an older
                # patch may be reverted later.
                reopened.add(_proposed(state, path))
            elif pull.state is PullState.MERGED:
                moved.append(state)
        # Once its minor is reverted, a patch is an upgrade to that minor, which has no approval.
        is_patch = branch.name.endswith(f"/{BumpKind.PATCH}")
        approved += (each for each in given if not is_patch or BumpKind.between(current, each) is BumpKind.PATCH)
    for issue, state in _newest(issues, group, path):
        if issue.is_open and issue.answers.reopened and state.group == group:
            stored += state.stored
            approved += [_proposed(state, path)] if APPROVED in issue.labels else []
        elif (not issue.is_open or not issue.answers.reopened) and _is_refused(state, issue):
            rejections.append(_closed(BumpKind(state.subject), state.target, issue))
    migrated, since, unmigrated = _migrated(all_pulls, path, current)
    # An approved minor that runs by now does not approve its later patches: each is approved by itself.
    valid = (each for each in approved if each != current.minor or each in asked)
    return Feedback(
        tuple(dict.fromkeys(rejections)),
        tuple(dict.fromkeys(valid)),
        tuple(migrated),
        tuple(since),
        unmigrated,
        tuple(stored),
        tuple(entry for state in moved for entry in state.moved),
        tuple(entry for pull, _ in all_pulls if pull.state is PullState.OPEN for entry in accepted(pull)),
        tuple(dict.fromkeys(state.target for state in moved if state.subject == BumpKind.MIGRATION)),
    )


def _pulls_of(branch: Branch, former: Iterable[Branch], path: str) -> list[tuple[PullRequest, markers.MarkerState]]:
    """The pull requests of a branch, newest first, and those of former branches that are about ``path``.

    A branch has one open pull request at most. It comes first: if others are newer, it was opened again after them.
    """
    own = [(pull, state) for pull in branch.pulls if (state := state_of(pull))]
    own.sort(key=lambda each: each[0].state is not PullState.OPEN)
    kind = branch.name.rpartition("/")[2]
    theirs = [
        (pull, state)
        for each in former
        if each.name.rpartition("/")[2] == kind
        for pull in each.pulls
        # One without paths may be about any file.
        if (state := state_of(pull)) and state.paths and markers.target_of(state, path)
    ]
    return sorted([*own, *theirs], key=lambda each: each[0].number, reverse=True) if theirs else own


def _carried(pulls: Sequence[tuple[PullRequest, markers.MarkerState]], path: str, current: Version) -> Iterator[str]:
    """What was approved of an upgrade with the manifests that were moved for it, and since merged.

    It counts until something else is proposed or refused of the same minor: that is newer.
    """
    for pull, state in pulls:
        minor = state.target.minor
        if not _is_merged_migration(pull, state, path) or not state.approval or minor == current.minor:
            continue
        is_superseded = any(
            each.number > pull.number or (each.state is PullState.CLOSED and each.closed_at >= pull.closed_at)
            for each, its in pulls
            if each is not pull and its.target.minor == minor
        )
        if not is_superseded:
            yield state.approval


def _migrated(
    pulls: Sequence[tuple[PullRequest, markers.MarkerState]], path: str, current: Version
) -> tuple[list[str], list[str], str]:
    """The releases at which `flux migrate` ran, and those at which it ran after the last migration was merged.

    And the merged pull request whose box is not ticked yet. A box in a merged pull request says nothing of what was
    merged later: that leaves entries in `metadata.managedFields` which only another `flux migrate` rewrites, see
    docs/reference/flux-migrate.md.
    """
    unmigrated = ""
    migrated, since = list[str](), list[str]()
    moved = [pull.closed_at for pull, state in pulls if _is_merged_migration(pull, state, path)]
    for pull, state in pulls:
        target = markers.target_of(state, path)
        if not target or not state.migrate:
            continue
        if has_confirmed(pull, markers.MIGRATED):
            tags = state.migrate.split(",")
            migrated += tags
            since += tags if pull.state is PullState.OPEN or pull.closed_at > max(moved, default="") else ()
        elif pull.state is PullState.MERGED and target == current and current in state.migrate.split(","):
            unmigrated = pull.url
    return migrated, since, unmigrated


def _is_merged_migration(pull: PullRequest, state: markers.MarkerState, path: str) -> bool:
    is_migration = state.subject == BumpKind.MIGRATION and pull.state is PullState.MERGED
    return is_migration and bool(markers.target_of(state, path))


def _newest(issues: Iterable[Issue], group: str, path: str) -> Iterable[tuple[Issue, markers.MarkerState]]:
    """The newest issue for each kind of bump: of an update group, or about a file that had another group."""
    found: dict[str, tuple[Issue, markers.MarkerState]] = {}
    for issue in sorted(issues, key=lambda issue: issue.number):
        state = state_of(issue) if is_believed(issue) else None
        if state is None or state.subject not in set(BumpKind):
            continue
        # A run about an artifact has groups of its own, see ``clusters.groups.of_artifact``.
        is_of_run = state.group.partition(".oci-")[2] == group.partition(".oci-")[2]
        if state.group == group or (is_of_run and state.paths and markers.target_of(state, path)):
            found[state.subject] = (issue, state)
    return found.values()


def _closed(bump_kind: BumpKind, target: Version, where: PullRequest | Issue) -> Rejection:
    return Rejection(bump_kind, target, HoldReason.CLOSED_BY_HUMAN, where.closed_at, where.url)


def _is_refused(state: markers.MarkerState, where: PullRequest | Issue) -> bool:
    """Whether it is closed because a person wants that.

    We say why we close something. A bot that closes what is stale gives no opinion about it.
    """
    is_skipped = state.closed == markers.SKIP or markers.is_ticked(where.body, markers.SKIP)
    return is_skipped or (not state.closed and not where.is_closed_by_bot)


def _cut_off(branch: Branch) -> Iterator[str]:
    """What was approved by a run that ended after it had made the branch.

    A commit that was put into an open pull request does not count: somebody may have closed that since.
    """
    head = branch.head
    if head is None or not markers.is_ours(head):
        return
    if all(pull.head is None or pull.head.oid != head.oid for pull in (*branch.pulls, *branch.others)):
        approval = markers.trailers(head.message).get(markers.OPENING, "")
        if approval:
            yield approval


def state_of(answered: PullRequest | Issue) -> markers.MarkerState | None:
    """Return what we wrote into a pull request or an issue.

    It is read from the commit if the body lost it, or if a user without write access edited the body.
    """
    state = markers.state_of(answered.body)
    if state is not None and answered.answers.body:
        return state
    commits = (answered.begun, answered.head) if isinstance(answered, PullRequest) else ()
    committed = next(filter(None, map(_committed, filter(None, commits))), None)
    return committed if state is None else _doubted(state, committed or state)


def _committed(commit: Commit) -> markers.MarkerState | None:
    trailers = markers.trailers(commit.message)
    names = (markers.GROUP, markers.SUBJECT, markers.TARGET, markers.APPROVAL)
    group, subject, target, approval = (trailers.get(name, "") for name in names)
    if not (group and subject and target):
        return None
    return markers.MarkerState(group, subject, Version(target), approval=approval)


def _doubted(state: markers.MarkerState, known: markers.MarkerState) -> markers.MarkerState:
    """Return what may be believed of a state that a stranger may have written: what makes no decision less careful.

    ``known``: what the commit says, or the state itself for want of a commit.
    """
    return markers.MarkerState(
        known.group,
        known.subject,
        known.target,
        approval=known.approval if known is not state else "",
        title=state.title,
        paths=(markers.ANY_PATH,),
        config=state.config,
        given=tuple(sorted({*state.given, markers.AUTO_MERGE})),  # What merges by itself is not turned on again
        rings=state.rings,
    )


def is_believed(issue: Issue) -> bool:
    """Whether an issue is ours. Nothing but its body tells what it is about, so no stranger may have edited it."""
    return issue.is_own and issue.answers.body


def believed_body(answered: PullRequest | Issue) -> str:
    """Return the body. If a stranger may have ticked boxes in it, only the one that refuses stays ticked."""
    return answered.body if answered.answers.body else markers.without_ticks(answered.body, markers.SKIP)


def accepted(pull: PullRequest) -> list[str]:
    """Return the entries of ticked boxes that accept a break, if only users who may write edited the body.

    Boxes outside of our block do not count: we never write those, so they outlive the edit that put them there.
    """
    return markers.accepted(markers.text_of(pull.body) or "") if pull.answers.body else []


def has_confirmed(pull: PullRequest, box: str) -> bool:
    """Whether a box that makes a decision less careful is ticked, and only users who may write edited the body."""
    return pull.answers.body and box in markers.ticked(pull.body)


def _is_open(pull: PullRequest) -> bool:
    """Whether it is open, and was not reopened by a user whose answer does not count."""
    return pull.state is PullState.OPEN and pull.answers.reopened


def issue_of(repository: Repository, slug: str, bump_kind: str) -> Issue | None:
    """The open issue that replaces the draft of a group's bump; None where there is none."""
    return next(iter(issues_of(repository, slug, bump_kind)), None)


def issues_of(repository: Repository, slug: str, bump_kind: str) -> tuple[Issue, ...]:
    """Those that are open, oldest first: two runs at once make two, for issues may be alike."""
    states = ((issue, state_of(issue)) for issue in repository.issues if is_believed(issue))
    found = (
        issue
        for issue, state in states
        if state is not None and issue.is_open and (state.group, state.subject) == (slug, str(bump_kind))
    )
    return tuple(sorted(found, key=lambda issue: issue.number))


def _proposed(state: markers.MarkerState, path: str) -> str:
    """What a user approves with a pull request or an issue: a minor with its patches, or a patch by itself."""
    if state.subject == BumpKind.PATCH:
        return markers.target_of(state, path) or state.target
    return state.target.minor


def _approvals(state: markers.MarkerState, pull: PullRequest, path: str) -> Iterator[str]:
    if not _is_open(pull) or markers.is_ticked(pull.body, markers.SKIP):
        return
    proposed = _proposed(state, path)
    is_patch = state.subject == BumpKind.PATCH
    # Whatever was approved of a patch, it was the one in the pull request: another file's may be another one.
    given = proposed if state.approval and is_patch else state.approval
    # Whether a patch had to wait only our block tells, and an approval would keep a later one away.
    is_mute = (markers.state_of(pull.body) is None or not pull.answers.body) and not is_patch
    if APPROVED in pull.labels:
        yield proposed
    elif not pull.is_draft and not state.held and (given or _is_marked_ready(pull, state, is_mute=is_mute)):
        # Marked ready by a person, or by us once a person had approved; or whoever took our block
        # out of the body saw what is ready.
        yield given or proposed
    elif state.pending and given:
        # A run approved it, and was cut off before it had marked it ready.
        yield given


def _is_marked_ready(pull: PullRequest, state: markers.MarkerState, *, is_mute: bool) -> bool:
    """Whether a pull request that is ready was approved by whoever made it so.

    If its state is lost, we may have marked it ready for another reason than an approval, unless there was a label.
    """
    answers = pull.answers
    if state.pending and answers.body:
        return bool(answers.ready)
    is_approved = bool(answers.approved_at) if answers.is_readied_by_us else bool(answers.ready)
    return is_mute and is_approved


def _approved_since(pulls: Iterable[tuple[PullRequest, markers.MarkerState]], path: str) -> Iterator[str]:
    """What got our label after it was closed. Who closes what has the label already has changed their mind.

    Only the newest pull request about a minor counts: the label stays on the others.
    """
    seen: set[str] = set()
    for pull, state in pulls:
        minor = state.target.minor
        if not markers.target_of(state, path) or minor in seen:
            continue
        seen.add(minor)
        is_labelled = pull.state is PullState.CLOSED and APPROVED in pull.labels
        if is_labelled and pull.labeled.get(APPROVED, "") > pull.closed_at:
            yield _proposed(state, path)


def _refusals(state: markers.MarkerState, pull: PullRequest, path: str, current: Version) -> Iterator[Rejection]:
    if state.subject not in set(BumpKind):
        return
    bump_kind = BumpKind(state.subject)
    if pull.state is PullState.MERGED and bump_kind is not BumpKind.MIGRATION:
        tag = markers.target_of(state, path)
        if tag == state.target and pull.head is not None and markers.is_ours(pull.head):
            # What was merged, whatever the body said by then.
            tag = Version(markers.trailers(pull.head.message).get(markers.TARGET, "")) or tag
        target, own = Version.parse(tag or ""), Version.parse(current)
        if target is not None and own is not None and own < target:
            # When it was reverted nobody tells; `closed_at` is when it was merged.
            yield Rejection(bump_kind, target, HoldReason.REVERTED, "", pull.url)
    elif pull.state is PullState.CLOSED or (pull.state is PullState.OPEN and not pull.answers.reopened):
        # Whoever closes what a stranger reopened does not withdraw the refusal before.
        is_still = pull.state is PullState.CLOSED and not pull.answers.reopened
        if is_still or _is_refused(state, pull):
            yield _closed(bump_kind, state.target, pull)
    elif markers.is_ticked(pull.body, markers.SKIP):
        yield _closed(bump_kind, state.target, pull)
