"""One round over pull requests: what is proposed, or no longer is, becomes steps, and the forge takes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from flux_upgrade.clusters.groups import UpdateGroup, branch_name, is_chosen
from flux_upgrade.model import markers
from flux_upgrade.model.errors import DraftsUnavailable, FluxUpgradeError, Overtaken
from flux_upgrade.model.forge import (
    Done,
    OpenIssue,
    OpenPull,
    Question,
    Repository,
    RevertPull,
    Step,
    UpdateIssue,
    UpdatePull,
    revert_branch,
)
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.versions import NO_VERSION
from flux_upgrade.pins.own_artifact import pin as own_artifact
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import Action, Proposal, ProposalContext, Result, RunDetails
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import issue_of, state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.desired import Reconciliation, rejections, unless_queued
from flux_upgrade.pullrequests.limits import Allowance, Room, Subject
from flux_upgrade.pullrequests.propose import (
    context_of,
    in_the_way,
    no_longer_needed,
    question_about,
    stale_pull_requests,
)
from flux_upgrade.pullrequests.rounds import ACTIONS, after, carry_out
from flux_upgrade.pullrequests.tidying import tidying

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.planning.failed_upgrade import FailedUpgrade


def _is_draft(step: Step, before: Result) -> bool:
    if isinstance(step, OpenPull | RevertPull):
        return isinstance(step, RevertPull) or step.is_draft
    if isinstance(step, UpdatePull):
        return step.make_draft or (before.is_draft and not step.make_ready)
    return before.is_draft


def _unseen(idle: Result) -> Hold:
    """A server with neither drafts nor issues: what waits is shown in the report alone."""
    target = idle.proposal.target if idle.proposal is not None else NO_VERSION
    return Hold(
        HoldReason.NEEDS_APPROVAL,
        f"the server has neither drafts nor issues to show {target} in",
        f"approve it with --approve {target.minor}",
        bump_kind=idle.bump_kind,
        target=target,
    )


def _is_refused(step: Step, done: Done) -> bool:
    """Whether nothing was changed: the status, a label or a person were to be set, no more, and could not be."""
    if not isinstance(step, UpdatePull) or not done.warnings:
        return False
    body = step.pull.body if step.body is None else markers.without_given(step.body, done.missing)
    only = UpdatePull(step.pull, step.branch, step.before, status=step.status, extras=step.extras)
    return step._replace(body=None) == only and markers.is_same(body, step.pull.body)


class Reconciler:
    """One round: everything is as it was looked at."""

    def __init__(
        self, inventory: Inventory, forge: Forge, run: RunDetails, repository: Repository, allowance: Allowance
    ) -> None:
        self._inventory, self._forge, self._run, self._repository = inventory, forge, run, repository
        self._allowance = allowance
        # What the texts say of an update group is read from files: once, for all of its pull requests.
        self._contexts: dict[str, ProposalContext] = {}

    def act(self, subject: Subject, room: Room) -> Result:
        planned, proposal, idle = subject.planned, subject.proposal, subject.idle
        # Another target may be proposed by now: what was refused is closed all the same.
        is_refused = self._is_refused(idle) and not (proposal is not None and proposal.is_asked)
        if proposal is None or is_refused:
            return self._end(planned, idle)
        outside = subject.outside(self._inventory.now)
        if subject.is_new(self._repository):
            hold = (None if proposal.approval else outside) or room.hold_of(subject)
            if hold is not None:
                return idle._replace(action=Action.HELD, hold=hold, proposal=proposal)
        slug = planned.update_group.slug
        if slug not in self._contexts:
            self._contexts[slug] = context_of(self._inventory, self._run, self._repository, planned)
        context = self._contexts[slug]
        # Late, as impact/ is: the text needs it, and nearly every run proposes nothing.
        from flux_upgrade.pullrequests.reconcile import reconcile

        reconciliation = reconcile(proposal, context, self._repository)
        # In no variable here, as in `reconcile_pull_requests`: its error knows this frame.
        return _held_by(
            outside if reconciliation.waits_for_schedule else None,
            self._take(reconciliation, idle._replace(proposal=proposal), context),
        )

    def _is_refused(self, idle: Result) -> bool:
        pull = self._repository.branches[idle.branch].open_pull
        return pull is not None and markers.is_ticked(pull.body, markers.SKIP)

    def _end(self, planned: UpdateGroupPlan, idle: Result) -> Result:
        """Close what is open about a subject about which nothing is proposed."""
        branch, bump_kind = self._repository.branches[idle.branch], idle.bump_kind
        issue = issue_of(self._repository, planned.update_group.slug, bump_kind)
        pull = branch.open_pull
        if pull is None and issue is None and not branch.others:
            return idle
        # Late: as above.
        from flux_upgrade.pullrequests.reconcile import reconcile_held, reconcile_without

        if pull is None and issue is None:
            return self._take(Reconciliation(rejections(branch)), idle)
        state = state_of(pull) if pull is not None else None
        listed = {release.tag for release in self._inventory.releases}
        target = state.target if state is not None else NO_VERSION
        ending = no_longer_needed(planned, bump_kind, target, listed)
        if self._is_refused(idle):
            ending = (markers.SKIP, "It is not proposed again because you ticked its skip box.")
        if ending is None:
            hold = in_the_way(planned, bump_kind, target)
            if hold is None:
                return self._take(Reconciliation(pull=pull), idle)
            return self._take(reconcile_held(branch, hold, self._repository, planned.rings), idle)
        return self._take(reconcile_without(branch, issue, *ending), idle)

    def close_stale(self, warn: Callable[[str], None]) -> Iterator[Result]:
        """Close what is open about installations that are gone, or are proposed elsewhere by now."""
        about = question_about(self._repository, self._inventory)
        if about is None:
            return
        # Late: as above.
        from flux_upgrade.pullrequests.reconcile import reconcile_without

        try:
            known = {each.name: each for each in self._repository.former}
            branches = known if known.keys() >= set(about.branches) else self._forge.fetch(about).branches
            for each in stale_pull_requests(branches.values(), self._inventory):
                group = UpdateGroup(each.state.group, each.state.group, self._inventory.config.default, ())
                idle = Result(group, BumpKind(each.state.subject), each.branch.name, Action.NONE)
                yield self._take(reconcile_without(each.branch, None, each.closed, each.why), idle)
        except FluxUpgradeError as error:
            # All else was done, and the next run sees to this.
            warn(f"open pull requests of former installations could not be read: {error.message}")

    def tidy(self, results: Collection[Result], names: Collection[str], warn: Callable[[str], None]) -> None:
        """Record answers, and delete merged branches. What fails is only a warning, since the next run tries again."""
        for step in tidying(self._repository, results, names):
            if self._forge.exhausted:
                return
            try:
                self._forge.apply(step)
            except Overtaken:
                continue
            except FluxUpgradeError as error:
                warn(f"{error.message} ({error.hint})")

    def tell_failures(self) -> Iterator[Result]:
        """Comment on merged upgrades after which Flux reports a failure, and open their reverts where that is wanted.

        Each once: what an earlier round reported is not reported again.
        """
        if not self._repository.commits:
            return
        # Late: as above.
        from flux_upgrade.pullrequests.failed_upgrades import comment, failures

        config, branch = self._inventory.config, self._inventory.request.branch
        for failed in failures(self._inventory, self._repository):
            if not is_chosen(failed.update_group, config, branch):
                continue
            bump_kind = BumpKind(failed.state.subject)
            name = branch_name(config.branch_prefix, failed.update_group.slug, bump_kind)
            idle = Result(failed.update_group, bump_kind, name, Action.NONE)
            step = comment(failed)
            if step is not None:
                yield self._take(Reconciliation((step,), pull=failed.pull), idle)
            if failed.is_revertible:
                yield self._revert(failed, idle._replace(branch=revert_branch(failed.pull.number, name)))

    def _revert(self, failed: FailedUpgrade, idle: Result) -> Result:
        from flux_upgrade.pullrequests.failed_upgrades import reconcile_revert

        try:
            branch = self._forge.fetch(Question((idle.branch,), ())).branches[idle.branch]
        except FluxUpgradeError as error:
            return self._allowance.excused(idle._replace(action=Action.FAILED, error=error))
        return self._take(reconcile_revert(failed, branch, self._repository), idle)

    def _take(self, reconciliation: Reconciliation, idle: Result, context: ProposalContext | None = None) -> Result:
        reconciliation = unless_queued(reconciliation)
        if reconciliation.pull is not None:
            pull = reconciliation.pull
            idle = idle._replace(action=Action.UNCHANGED, number=pull.number, url=pull.url, is_draft=pull.is_draft)
        elif reconciliation.issue is not None:
            issue = reconciliation.issue
            idle = idle._replace(action=Action.UNCHANGED, number=issue.number, url=issue.url, is_issue=True)
        begins = reconciliation.hold is None and reconciliation.steps
        failed = (self._allowance.end(idle) if begins else None) or self._unprepared(reconciliation, idle)
        if failed is not None:
            return failed

        def apply(step: Step, result: Result) -> Result:
            done, is_issue = self._done(step, idle.proposal, context)
            if isinstance(step, OpenPull | OpenIssue) and is_issue and not done.number:
                return result._replace(action=Action.HELD, hold=_unseen(idle), warnings=done.warnings)
            taken = after(step, done, result)._replace(
                is_issue=result.is_issue or (is_issue and not result.number),
                is_draft=_is_draft(step, result) and not is_issue,
            )
            # The first step tells what was done.
            is_told = result.action is not idle.action or _is_refused(step, done)
            return taken._replace(action=result.action) if is_told else taken

        return self._allowance.excused(carry_out(reconciliation, idle, apply))

    def _unprepared(self, reconciliation: Reconciliation, idle: Result) -> Result | None:
        """Push what pins are to name before they name it. None: it is there."""
        own = self._inventory.pin_context.own
        if own is None or idle.proposal is None or not reconciliation.steps or reconciliation.hold is not None:
            return None
        try:
            for plan, upgrade in idle.proposal.upgrades:
                if plan.pin.kind == own_artifact.NAME:
                    own.push(own_artifact.reference_of(plan.pin), upgrade.target, plan.pin.path)
        except FluxUpgradeError as error:
            return idle._replace(action=Action.FAILED, error=error, attempted=ACTIONS[type(reconciliation.steps[0])])
        return None

    def _done(self, step: Step, proposal: Proposal | None, context: ProposalContext | None) -> tuple[Done, bool]:
        try:
            return self._forge.apply(step), isinstance(step, OpenIssue | UpdateIssue)
        except DraftsUnavailable:
            if isinstance(step, UpdatePull):
                return self._forge.apply(step._replace(make_draft=False)), False
            if proposal is None or context is None:
                raise
            # Late: as above.
            from flux_upgrade.pullrequests.reconcile import instead_of_draft

            return self._forge.apply(instead_of_draft(proposal, context)), True


def _held_by(outside: Hold | None, result: Result) -> Result:
    """With the hold of a schedule, unless something was opened or failed."""
    waits = outside is not None and result.action in (Action.UNCHANGED, Action.UPDATED)
    return result._replace(action=Action.HELD, hold=outside) if waits else result
