"""The pull request of a bootstrap: fetch, decide, apply the steps; and again, if overtaken.

The rules are those of ``pullrequests.desired``; besides, what people answered to an earlier pull request
stands until one of them asks for the bootstrap again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from flux_upgrade.bootstrap import pull_request_text as text
from flux_upgrade.bootstrap.files import FileChange
from flux_upgrade.bootstrap.proposed import SUBJECT, Bootstrap
from flux_upgrade.model.errors import FluxUpgradeError, ForgeUnavailable, Overtaken, WriteFailed
from flux_upgrade.model.files import Worktree
from flux_upgrade.model.forge import Branch, Extras, PullState, Question, Repository
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.proposal import Action, ProposalContext
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.feedback import state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.desired import (
    DesiredPull,
    Reconciliation,
    is_planned,
    reconcile_branch,
    rejections,
    unless_queued,
)
from flux_upgrade.pullrequests.reconcile import reconcile_without
from flux_upgrade.pullrequests.rounds import after, carry_out, may_change, rounds, with_lost_answer

_DONE = ("done", "The base branch already has these changes.")
_BY_HAND = "run the bootstrap yourself (`workflow_dispatch`, or the command line) to open it again"


class Published(NamedTuple):
    proposal: Bootstrap
    action: Action
    repository: str = ""
    number: int = 0
    url: str = ""
    hold: Hold | None = None
    error: FluxUpgradeError | None = None
    warnings: tuple[str, ...] = ()
    attempted: Action = Action.NONE


def run_bootstrap(
    forge: Forge,
    propose: Callable[[], Bootstrap],
    context: Callable[[Repository], ProposalContext],
    *,
    base: str = "",
    extras: Extras | None = None,
) -> Published:
    """Open, update or close the pull request, until it is as it should be, or three times.

    ``base``: empty for the default branch. ``extras``: labels and the like for one that is opened.
    ``propose`` is called at the beginning of each round, and plans for the base branch as it is then. Raises
    what it raises, and what ``Forge.fetch`` raises at first.
    """

    def fetch() -> tuple[Bootstrap, Repository]:
        proposal = propose()
        paths = tuple(each.path for each in proposal.changes)
        return proposal, forge.fetch(Question((proposal.branch,), paths, base))

    lost: Published | None = None
    errors: list[FluxUpgradeError] = []
    for number, (proposal, repository) in rounds(fetch(), fetch, errors):
        result = _round(forge, proposal, context, repository, extras)
        result = with_lost_answer(lost, result, Action.UNCHANGED)
        if not may_change(result.error, number):
            break
        if isinstance(result.error, ForgeUnavailable):
            lost = result
    return result._replace(error=errors[0]) if errors else result


def _round(
    forge: Forge,
    proposal: Bootstrap,
    context: Callable[[Repository], ProposalContext],
    repository: Repository,
    extras: Extras | None,
) -> Published:
    idle = Published(proposal, Action.NONE, repository.name, warnings=repository.warnings)
    if _is_stale(proposal, repository):
        moved = Overtaken(f"{repository.base} changed while the bootstrap was planned", hint="run flux-upgrade again")
        return idle._replace(action=Action.FAILED, error=moved)
    reconciliation = unless_queued(reconcile_bootstrap(proposal, context(repository), repository, extras))
    if (pull := reconciliation.pull) is not None:
        idle = idle._replace(action=Action.UNCHANGED, number=pull.number, url=pull.url)
    return carry_out(reconciliation, idle, lambda step, result: after(step, forge.apply(step), result))


def _is_stale(proposal: Bootstrap, repository: Repository) -> bool:
    """Whether the base has other files by now than those that were planned for."""
    there = repository.files
    return any(
        bool(there[each.path].oid) if each.before is None else not there[each.path].holds(each.before)
        for each in proposal.changes
    )


def reconcile_bootstrap(
    proposal: Bootstrap, context: ProposalContext, repository: Repository, extras: Extras | None = None
) -> Reconciliation:
    """Open the pull request of a bootstrap, bring it up to date, or close it where nothing is left of it."""
    branch = repository.branches[proposal.branch]
    pull = branch.open_pull
    if not proposal.changes:
        return reconcile_without(branch, None, *_DONE) if pull is not None else Reconciliation()
    if (pull is None or not pull.answers.reopened) and not branch.elsewhere and not proposal.is_asked:
        answer = _answer(proposal, branch)
        if answer is not None:
            return Reconciliation(rejections(branch), hold=answer, pull=pull)
    desired = DesiredPull(
        branch=proposal.branch,
        digest=text.plan_digest(proposal),
        message=text.commit_message(proposal, context),
        files={each.path: each.after for each in proposal.changes},
        title=text.title(proposal, context),
        body=lambda state: text.body(proposal, context, state),
        state=text.state(proposal, context),
        status=text.status(proposal, context),
        extras=extras or Extras(),
    )
    return reconcile_branch(desired, repository)


def _answer(proposal: Bootstrap, branch: Branch) -> Hold | None:
    """What a person said to the last pull request; None where there was none, or it was taken as it is."""
    last = next(iter(branch.pulls), None)
    state = state_of(last) if last is not None else None
    if last is None or state is None or state.subject != SUBJECT:
        return None
    if (last.state is PullState.CLOSED or not last.answers.reopened) and not state.closed:
        return Hold(
            HoldReason.CLOSED_BY_HUMAN, f"{last.url} was closed", _BY_HAND, target=state.target, since=last.closed_at
        )
    digest = text.plan_digest(proposal)
    if last.state is PullState.MERGED and last.head is not None and is_planned(last.head.message, digest):
        reason = f"{last.url} was merged, then reverted"
        return Hold(HoldReason.REVERTED, reason, _BY_HAND, target=state.target)
    return None


class BootstrapResult(NamedTuple):
    """One run. What it did not come to is empty."""

    proposal: Bootstrap
    is_dry: bool = False  # Nothing was written: all else is what would have been
    repository: str = ""  # `owner/name`, or the remote's address; empty where the local checkout alone was written
    url: str = ""
    is_created: bool = False
    checkout: str = ""
    is_pushed: bool = False  # Files went straight to the branch
    commit: str = ""
    published: Published | None = None
    secret_files: tuple[str, ...] = ()  # Paths of the files with Secrets, on the machine of the run: for the log alone
    ready: Mapping[str, str] = {}  # Name of a cluster that is ready → the revision that it has
    artifact: str = ""
    digest: str = ""
    is_promoted: bool = False
    warnings: tuple[str, ...] = ()
    error: FluxUpgradeError | None = None
    calls: int = 0

    @property
    def errors(self) -> tuple[FluxUpgradeError, ...]:
        step = self.published.error if self.published is not None else None
        return tuple(each for each in (step, self.error) if each is not None)

    @property
    def is_under_way(self) -> bool:
        """Whether the files are where a person can go on from, or would be."""
        return self.is_pushed or not self.errors


def write_all(changes: Iterable[FileChange], worktree: Worktree) -> None:
    """Half a bootstrap would be reconciled, too: where a file cannot be written, the others are put back.

    Raises WriteFailed.
    """
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.before is None:
                worktree.make(change.path, change.after)
            else:
                worktree.write(change.path, change.after, change.before)
            done.append(change)
    except BaseException:
        for change in reversed(done):
            with suppress(WriteFailed):  # the others are put back all the same
                if change.before is None:
                    worktree.remove(change.path, change.after)
                else:
                    worktree.write(change.path, change.before, change.after)
        raise
