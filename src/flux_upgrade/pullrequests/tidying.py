"""What remains once all pull requests are as they should be: record answers, and delete merged branches. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from flux_upgrade.model import markers
from flux_upgrade.model.forge import (
    Branch,
    DeleteBranch,
    Issue,
    PullRequest,
    PullState,
    RecordAnswers,
    Repository,
    UpdateIssue,
    is_merged,
)
from flux_upgrade.planning.proposal import Action, Result
from flux_upgrade.policy.feedback import is_believed, state_of
from flux_upgrade.pullrequests.desired import with_state

Tidying = RecordAnswers | UpdateIssue | DeleteBranch


def tidying(repository: Repository, results: Iterable[Result], names: Collection[str]) -> Iterator[Tidying]:
    """Yield the steps for the branches in ``names``, and for issues. ``results``: of this run.

    What this run wrote to is left to the next one, which looks at it again.
    """
    written = [result for result in results if result.action not in (Action.NONE, Action.UNCHANGED, Action.HELD)]
    numbers, groups = {result.number for result in written}, {result.update_group.slug for result in written}
    busy = {result.branch for result in results if result.action is not Action.NONE}
    branches = [branch for name, branch in repository.branches.items() if name in names]
    for branch in (*branches, *repository.former):
        for pull in branch.pulls:
            body = _recorded(pull)
            if body is not None and pull.number not in numbers and not pull.is_queued:
                yield RecordAnswers(pull, body)
    for issue in repository.issues:
        body, state = _recorded(issue), state_of(issue)
        if is_believed(issue) and body is not None and state is not None and state.group not in groups:
            yield UpdateIssue(issue, body)
    for branch in branches:
        if branch.name not in busy and branch.head is not None and _is_finished(branch):
            yield DeleteBranch(branch.name, branch.head.oid)


def _recorded(answered: PullRequest | Issue) -> str | None:
    """Return the body with a new record of its answers, or None."""
    state, record = state_of(answered), answered.answers.record
    is_new = not answered.answers.is_unknown and record and record != markers.answers_of(answered.body)
    return with_state(answered, state._replace(answers=record)) if state is not None and is_new else None


def _is_finished(branch: Branch) -> bool:
    """Whether a branch holds nothing but a commit of ours that was merged, and no pull request of it may be open.

    A closed pull request may be reopened.
    """
    pulls = (*branch.pulls, *branch.others)
    is_open = branch.is_unread or bool(branch.elsewhere) or any(pull.state is PullState.OPEN for pull in pulls)
    is_ours = branch.head is not None and markers.is_ours(branch.head)
    return is_ours and is_merged(branch) and not is_open and not branch.is_kept
