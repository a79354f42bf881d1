"""Bring pull requests to what is proposed: look, plan, take the steps; and again, if overtaken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from flux_upgrade.clusters.groups import UpdateGroup, branch_name
from flux_upgrade.model import markers
from flux_upgrade.model.errors import (
    CheckoutDiffers,
    DraftsUnavailable,
    FluxUpgradeError,
    ForgeUnavailable,
    Overtaken,
)
from flux_upgrade.model.forge import (
    ClosePull,
    Done,
    OpenIssue,
    OpenPull,
    Question,
    Repository,
    Step,
    UpdateIssue,
    UpdatePull,
)
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.versions import minor_of
from flux_upgrade.planning.planner import (
    Inventory,
    UpdateGroupPlan,
    branches_of,
    plan_teams,
    unused_approvals,
)
from flux_upgrade.planning.proposal import Action, Proposal, Result, Round, Surroundings
from flux_upgrade.policy.decision import BumpKind, Hold, HoldReason
from flux_upgrade.policy.feedback import issue_of, state_of
from flux_upgrade.pullrequests.propose import (
    in_the_way,
    leftovers,
    no_longer_needed,
    proposals_of,
    question_about,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.pullrequests.reconcile import Convergence

_ROUNDS = 3
"""Of looking and acting: somebody who is faster three times in a row is at work on the same branch."""
_TRIES = 2
"""Of the same where a server gives no answer: a write may have been applied all the same."""


_ACTIONS: dict[type[Step], Action] = {
    OpenPull: Action.OPENED,
    OpenIssue: Action.OPENED,
    UpdatePull: Action.UPDATED,
    UpdateIssue: Action.UPDATED,
    ClosePull: Action.CLOSED,
}


def nothing(proposal: Proposal) -> None:
    """Most of what is proposed is ready as it is."""


def run_rounds(
    gathered: Inventory,
    forge: Forge,
    around: Callable[[Repository, UpdateGroupPlan], Surroundings],
    warn: Callable[[str], None],
    prepare: Callable[[Proposal], None] = nothing,
) -> Round:
    """Until everything is as it should be, or three times.

    ``warn`` is told, before the first write, what the forge warns of. ``prepare`` is called with what
    is about to be proposed, before the first step of it; it may be called again with the same, and what
    it raises is the end of that proposal alone. Raises what ``Forge.fetch`` and ``plan_teams`` raise at
    first: it concerns everything.
    """
    results: dict[str, Result] = {}
    repository, plans = looked(gathered, forge)
    _require_base(gathered, repository)
    void = (each.text for each in gathered.void)
    for warning in (*void, *repository.warnings, *unused_approvals(gathered, plans)):
        warn(warning)
    for attempt in range(_ROUNDS):
        acting = _Acting(gathered, forge, around, repository, prepare)
        for planned in plans:
            proposals = proposals_of(planned, gathered.config, gathered.asked.approve)
            for subject in BumpKind:
                name = branch_name(gathered.config.branch_prefix, planned.team.slug, subject)
                before = results.get(name)
                if before is None or _may_change(before, attempt):
                    results[name] = _together(before, acting.act(planned, subject, proposals.get(subject)))
        if not any(_may_change(result, attempt + 1) for result in results.values()):
            break
        try:
            repository, plans = looked(gathered, forge)
        except FluxUpgradeError:
            break  # what was done is told; the next run goes on from there
    results |= {
        each.branch: each for each in _tidied(_Acting(gathered, forge, around, repository, prepare), warn)
    }
    return Round(repository, plans, tuple(results.values()), gathered.void)


def _tidied(acting: _Acting, warn: Callable[[str], None]) -> Iterator[Result]:
    """Close what belongs to no team any more."""
    try:
        yield from acting.tidy()
    except FluxUpgradeError as error:
        # All else was done, and the next run sees to this.
        warn(f"what is left of former installations could not be looked at: {error.message}")


def _require_base(gathered: Inventory, repository: Repository) -> None:
    """Settings and kustomizations are read from the checkout: it has to be the base, or was a while ago."""
    known, head = repository.ancestry, gathered.head
    if gathered.asked.writes and known and head and head not in known:
        raise CheckoutDiffers(
            f"the checkout ({head[:12]}) is none of the last {len(known)} commits of {repository.base}",
            hint="check out the branch that pull requests go into (`ref:` of actions/checkout), or name it "
            "with --base",
        )


def looked(gathered: Inventory, forge: Forge) -> tuple[Repository, tuple[UpdateGroupPlan, ...]]:
    """The repository, and what is planned for it. Raises what ``Forge.fetch`` and ``plan_teams`` raise."""
    repository = forge.fetch(question_of(gathered))
    plans = plan_teams(gathered, repository)
    more = {path for planned in plans for path in planned.moved} - repository.files.keys()
    if not more:
        return repository, plans
    # Which files have to be moved is known once it is known what is proposed: nearly never any.
    repository = forge.fetch(question_of(gathered, sorted(more)))
    return repository, plan_teams(gathered, repository)


def question_of(gathered: Inventory, more: Iterable[str] = ()) -> Question:
    """What has to be known about the repository. ``more``: paths besides those of the installations."""
    return Question(
        branches=tuple(name for team in gathered.teams for name in branches_of(team, gathered.config)),
        paths=(*(member.path for team in gathered.teams for member in team.members), *more),
        base=gathered.asked.base,
        prefix=gathered.config.branch_prefix if gathered.found is not None else "",
    )


def _may_change(result: Result, attempt: int) -> bool:
    """Whether another look may end better: somebody was faster, or an answer was lost on its way."""
    if isinstance(result.error, Overtaken):
        return attempt < _ROUNDS
    return isinstance(result.error, ForgeUnavailable) and attempt < _TRIES


def _is_draft(step: Step, before: Result) -> bool:
    if isinstance(step, OpenPull):
        return step.is_draft
    if isinstance(step, UpdatePull):
        return step.make_draft or (before.is_draft and not step.make_ready)
    return before.is_draft


def _unseen(idle: Result) -> Hold:
    """A server with neither drafts nor issues: what waits is shown in the report alone."""
    target = idle.proposal.target if idle.proposal is not None else ""
    return Hold(
        HoldReason.NEEDS_APPROVAL,
        f"the server has neither drafts nor issues to show {target} in",
        f"approve it with --approve {minor_of(target)}",
        subject=idle.subject,
        target=target,
    )


def _together(before: Result | None, after: Result) -> Result:
    """A write whose answer was lost was this run's all the same."""
    if before is None or isinstance(before.error, Overtaken) or after.action is Action.FAILED:
        return after
    done = Action.UPDATED if after.action is Action.UPDATED else Action.UNCHANGED
    if after.action is done and before.attempted is not Action.NONE:
        return after._replace(action=before.attempted, attempted=before.attempted)
    return after


def _is_refused(step: Step, done: Done) -> bool:
    """Whether nothing was changed: the status was to be set, no more, and could not be."""
    if not isinstance(step, UpdatePull) or not done.warnings:
        return False
    return step == UpdatePull(step.pull, step.branch, step.before, status=step.status, extras=step.extras)


class _Acting:
    """One round: everything is as it was looked at."""

    def __init__(
        self,
        gathered: Inventory,
        forge: Forge,
        around: Callable[[Repository, UpdateGroupPlan], Surroundings],
        repository: Repository,
        prepare: Callable[[Proposal], None],
    ) -> None:
        self._gathered, self._forge, self._around, self._repository = gathered, forge, around, repository
        self._prepare = prepare
        # What stands around a team is read from files: once, for all of its pull requests.
        self._surroundings: dict[str, Surroundings] = {}

    def act(self, planned: UpdateGroupPlan, subject: BumpKind, proposal: Proposal | None) -> Result:
        name = branch_name(self._gathered.config.branch_prefix, planned.team.slug, subject)
        idle = Result(planned.team, subject, name, Action.NONE)
        # Another target may be proposed by now: what was refused is closed all the same.
        is_refused = self._is_refused(idle) and not (proposal is not None and proposal.is_asked)
        if proposal is None or is_refused:
            return self._end(planned, subject, idle)
        # Nearly every run proposes nothing: what makes the texts is imported when there is one.
        from flux_upgrade.pullrequests.reconcile import converge

        slug = planned.team.slug
        if slug not in self._surroundings:
            self._surroundings[slug] = self._around(self._repository, planned)
        surroundings = self._surroundings[slug]
        found = converge(proposal, surroundings, self._repository)
        return self._take(found, idle._replace(proposal=proposal), surroundings)

    def _is_refused(self, idle: Result) -> bool:
        pull = self._repository.branches[idle.branch].open_pull
        return pull is not None and markers.is_ticked(pull.body, markers.SKIP)

    def _end(self, planned: UpdateGroupPlan, subject: BumpKind, idle: Result) -> Result:
        """Close what is open about a subject about which nothing is proposed."""
        branch = self._repository.branches[idle.branch]
        issue = issue_of(self._repository, planned.team.slug, subject)
        pull = branch.open_pull
        if pull is None and issue is None:
            return idle
        from flux_upgrade.pullrequests.reconcile import Convergence, converge_held, converge_without

        state = state_of(pull) if pull is not None else None
        listed = {release.tag for release in self._gathered.releases}
        ending = no_longer_needed(planned, subject, state.target if state is not None else "", listed)
        if self._is_refused(idle):
            ending = (markers.SKIP, "It is not proposed again: the box was ticked.")
        if ending is None:
            hold = in_the_way(planned, subject, state.target if state is not None else "")
            found = Convergence(pull=pull) if hold is None else converge_held(branch, hold, self._repository)
            return self._take(found, idle)
        return self._take(converge_without(branch, issue, *ending), idle)

    def tidy(self) -> Iterator[Result]:
        """Close what is open about installations that are gone, or are proposed elsewhere by now."""
        about = question_about(self._repository, self._gathered)
        if about is None:
            return
        from flux_upgrade.pullrequests.reconcile import converge_without

        why = "What it changes is not in the repository any more, or is proposed in another pull request."
        for branch, state in leftovers(self._forge, about, self._gathered):
            team = UpdateGroup(state.group, state.group, self._gathered.config.default, ())
            idle = Result(team, BumpKind(state.subject), branch.name, Action.NONE)
            yield self._take(converge_without(branch, None, "gone", why), idle)

    def _take(self, found: Convergence, idle: Result, around: Surroundings | None = None) -> Result:
        if found.pull is not None:
            pull = found.pull
            idle = idle._replace(
                action=Action.UNCHANGED, number=pull.number, url=pull.url, is_draft=pull.is_draft
            )
        elif found.issue is not None:
            issue = found.issue
            idle = idle._replace(action=Action.UNCHANGED, number=issue.number, url=issue.url, is_issue=True)
        if found.hold is not None:
            return idle._replace(action=Action.HELD, hold=found.hold)
        failed = self._unprepared(found, idle)
        if failed is not None:
            return failed
        result = idle
        for step in found.steps:
            attempted = _ACTIONS[type(step)]
            try:
                done, is_issue = self._done(step, idle.proposal, around)
            except FluxUpgradeError as error:
                return result._replace(action=Action.FAILED, error=error, attempted=attempted)
            if isinstance(step, OpenPull | OpenIssue) and is_issue and not done.number:
                return result._replace(action=Action.HELD, hold=_unseen(idle), warnings=done.warnings)
            result = result._replace(
                action=attempted if result is idle and not _is_refused(step, done) else result.action,
                number=result.number or done.number,
                url=result.url or done.url,
                warnings=(*result.warnings, *done.warnings),
                is_issue=result.is_issue or (is_issue and not result.number),
                is_draft=_is_draft(step, result) and not is_issue,
            )
        return result

    def _unprepared(self, found: Convergence, idle: Result) -> Result | None:
        if idle.proposal is None or not found.steps:
            return None
        try:
            self._prepare(idle.proposal)
        except FluxUpgradeError as error:
            return idle._replace(action=Action.FAILED, error=error, attempted=_ACTIONS[type(found.steps[0])])
        return None

    def _done(self, step: Step, proposal: Proposal | None, around: Surroundings | None) -> tuple[Done, bool]:
        try:
            return self._forge.apply(step), isinstance(step, OpenIssue | UpdateIssue)
        except DraftsUnavailable:
            if isinstance(step, UpdatePull):
                return self._forge.apply(step._replace(make_draft=False)), False
            if proposal is None or around is None:
                raise
            from flux_upgrade.pullrequests.reconcile import instead_of_draft

            return self._forge.apply(instead_of_draft(proposal, around)), True
