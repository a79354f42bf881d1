"""The pull request of a bootstrap: fetch, decide, apply the steps; and again, if overtaken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flux_upgrade.bootstrap.changes import FileChange
from flux_upgrade.bootstrap.proposed import Bootstrap
from flux_upgrade.bootstrap.reconcile import is_stale, question_of, reconcile_bootstrap
from flux_upgrade.model.errors import FluxUpgradeError, ForgeUnavailable, Overtaken, WriteFailed
from flux_upgrade.model.files import Worktree
from flux_upgrade.model.forge import Extras, Repository
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.proposal import Action, ProposalContext
from flux_upgrade.policy.decision import Hold
from flux_upgrade.pullrequests.rounds import after, carry_out, may_change, rounds, with_lost_answer


class Published(NamedTuple):
    """What came of the pull request."""

    proposal: Bootstrap
    action: Action
    repository: str = ""
    """As the forge names it."""
    number: int = 0
    url: str = ""
    hold: Hold | None = None
    error: FluxUpgradeError | None = None
    """What a step failed with."""
    attempted: Action = Action.NONE
    """That step."""
    warnings: tuple[str, ...] = ()


def run_bootstrap(
    forge: Forge,
    propose: Callable[[], Bootstrap],
    context: Callable[[Repository], ProposalContext],
    *,
    base: str = "",
    extras: Extras | None = None,
) -> Published:
    """Open, update or close the pull request, until it is as it should be, or three times.

    ``propose`` is called at the beginning of each round, and plans for the base branch as it is then. Raises
    what it raises, and what ``Forge.fetch`` raises at first.
    """

    def fetch() -> tuple[Bootstrap, Repository]:
        proposal = propose()
        return proposal, forge.fetch(question_of(proposal, base))

    lost: Published | None = None
    for number, (proposal, repository) in rounds(fetch):
        result = _round(forge, proposal, context, repository, extras)
        result = with_lost_answer(lost, result, Action.UNCHANGED)
        if not may_change(result.error, number):
            break
        if isinstance(result.error, ForgeUnavailable):
            lost = result
    return result


def _round(
    forge: Forge,
    proposal: Bootstrap,
    context: Callable[[Repository], ProposalContext],
    repository: Repository,
    extras: Extras | None,
) -> Published:
    idle = Published(proposal, Action.NONE, repository.name, warnings=repository.warnings)
    if is_stale(proposal, repository):
        moved = Overtaken(
            f"{repository.base} has changed while the bootstrap was planned", hint="run flux-upgrade again"
        )
        return idle._replace(action=Action.FAILED, error=moved)
    reconciliation = reconcile_bootstrap(proposal, context(repository), repository, extras)
    if (pull := reconciliation.pull) is not None:
        idle = idle._replace(action=Action.UNCHANGED, number=pull.number, url=pull.url)
    return carry_out(reconciliation, idle, lambda step, result: after(step, forge.apply(step), result))


class BootstrapResult(NamedTuple):
    """One run. What it did not come to is empty."""

    proposal: Bootstrap
    is_dry: bool = False
    """Nothing was written: all else is what would have been."""
    repository: str = ""
    """``owner/name``, or the remote's address; empty where the local checkout alone was written."""
    url: str = ""
    """Of the repository, for a browser."""
    is_created: bool = False
    """The run created the repository."""
    checkout: str = ""
    """The folder that was written, where it is the local checkout."""
    is_pushed: bool = False
    """Files went straight to the branch."""
    commit: str = ""
    """Oid of the commit with them."""
    published: Published | None = None
    secret_files: tuple[str, ...] = ()
    """Paths of the files with Secrets, on the machine of the run: for the log alone."""
    ready: Mapping[str, str] = {}
    """Name of a cluster that is ready → the revision that it has."""
    artifact: str = ""
    """``HOST/REPOSITORY:TAG`` with its immutable tag."""
    digest: str = ""
    is_promoted: bool = False
    """The tag of the artifact was moved."""
    warnings: tuple[str, ...] = ()
    error: FluxUpgradeError | None = None
    """What ended the run after it had done some of it."""
    calls: int = 0
    """To the repository's server."""

    @property
    def errors(self) -> tuple[FluxUpgradeError, ...]:
        """Everything that the run ends red for."""
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
    except WriteFailed:
        for change in reversed(done):
            if change.before is None:
                worktree.remove(change.path, change.after)
            else:
                worktree.write(change.path, change.before, change.after)
        raise
