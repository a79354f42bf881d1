"""How much a run may do: which pull requests are opened first, which wait, and when it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from flux_upgrade.config.config import Limits
from flux_upgrade.model.errors import ForgeUnavailable, LimitReached
from flux_upgrade.model.forge import Repository
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import Action, Proposal, Result, RunDetails
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import issue_of
from flux_upgrade.policy.hold_reasons import HoldReason

_ORDER = (BumpKind.PATCH, BumpKind.MIGRATION, BumpKind.MINOR, BumpKind.MAJOR)
_MINUTE = 60
_UNKNOWN = Version("v0.0.0")


class Subject(NamedTuple):
    """What a pull request may be about."""

    planned: UpdateGroupPlan
    bump_kind: BumpKind
    proposal: Proposal | None  # None: nothing is proposed
    branch: str

    @property
    def is_asked(self) -> bool:
        return self.proposal is not None and self.proposal.is_asked

    def is_new(self, repository: Repository) -> bool:
        """Whether a pull request, or an issue in its place, would have to be opened."""
        if self.proposal is None or repository.branches[self.branch].open_pull is not None:
            return False
        issue = issue_of(repository, self.proposal.slug, self.bump_kind)
        return issue is None or not self.proposal.is_pending

    @property
    def idle(self) -> Result:
        return Result(self.planned.update_group, self.bump_kind, self.branch, Action.NONE)

    def untouched(self, repository: Repository) -> Result:
        """The result of a run that is about other pull requests."""
        pull = repository.branches[self.branch].open_pull
        return self.idle if pull is None else self.idle._replace(action=Action.UNCHANGED, is_draft=pull.is_draft)

    def outside(self, now: datetime) -> Hold | None:
        """Why the schedule of its group keeps it waiting; None: the schedule is open."""
        window = self.planned.update_group.group.governance.window
        if self.proposal is None or window.is_open(now):
            return None
        opening = window.opening(now)
        # The config file is refused if there is none, unless a change of the time zone's rules takes the last one.
        begins = "never begins" if opening is None else f"begins on {opening:%Y-%m-%d at %H:%M}"
        return Hold(
            HoldReason.OUTSIDE_SCHEDULE,
            f"`schedule` {begins} ({window.timezone})",
            "wait, approve the version, or change `schedule` in the config file",
            bump_kind=self.bump_kind,
            target=self.proposal.target,
            until=opening.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if opening else "",
        )


def openings_last(subjects: Sequence[Subject], repository: Repository) -> list[Subject]:
    """Those with something open first, in their order; then those that are new, the most urgent first."""
    new = {subject.branch: subject for subject in subjects if subject.is_new(repository)}
    return [*(each for each in subjects if each.branch not in new), *sorted(new.values(), key=_urgency)]


def _urgency(new: Subject) -> tuple[bool, int, Version]:
    """What was asked for comes first. Clusters that are behind come before those that were upgraded a moment ago."""
    versions = (Version.parse(plan.pin.version) for plan in new.planned.plans)
    oldest = min((version for version in versions if version is not None), default=_UNKNOWN)
    return not new.is_asked, _ORDER.index(new.bump_kind), oldest


class Room:
    """The room that is left for new pull requests, in one round."""

    def __init__(self, limits: Limits, results: Iterable[Result]) -> None:
        self._limits = limits
        self._there, self._opened = Counter[bool](), Counter[bool]()
        """Whether it is a draft → how many are open, and how many of them this run has opened."""
        self._closed: set[str] = set()
        for result in results:
            self.count(result)

    def count(self, result: Result) -> None:
        # Whatever came of it: an answer that was lost may have been a success.
        is_opened = Action.OPENED in (result.action, result.attempted)
        is_draft = result.is_draft or result.is_issue
        if is_opened and result.proposal is not None:
            is_draft = result.proposal.is_draft
        self._opened[is_draft] += is_opened
        self._there[is_draft] += is_opened or _is_there(result)
        if result.action is Action.CLOSED:
            self._closed.add(result.update_group.slug)

    def hold_of(self, new: Subject) -> Hold | None:
        """Why it waits; None: it does not.

        What is asked for in this run never does, because no later run would remember it. Neither does what takes the
        place of another pull request of its group.
        """
        proposal, limits = new.proposal, self._limits
        if proposal is None or proposal.is_asked or (not proposal.is_draft and proposal.slug in self._closed):
            return None
        is_draft = proposal.is_draft
        what = "draft" if is_draft else "pull request"
        most, key = (limits.drafts, "drafts") if is_draft else (limits.open, "open")
        most_new, key_of_new = (limits.new_drafts, "new-drafts") if is_draft else (limits.new, "new")
        if most and self._there[is_draft] >= most:
            detail = f"at most {counted(most, what)} may be open"
            hint = f"merge or close one, or raise `{key}` under `limits` in the config file"
        elif most_new and self._opened[is_draft] >= most_new:
            detail = f"one run opens at most {counted(most_new, what)}"
            hint = f"wait for the next run, or raise `{key_of_new}` under `limits` in the config file"
        else:
            return None
        return Hold(HoldReason.LIMITED, detail, hint, bump_kind=new.bump_kind, target=proposal.target)


def _is_there(result: Result) -> bool:
    """Whether a pull request was open before this run, and still is."""
    if result.action is Action.HELD:
        return bool(result.url)
    return result.action not in (Action.NONE, Action.CLOSED)


class Allowance:
    """The time and the calls that are left for a run."""

    def __init__(self, inventory: Inventory, forge: Forge, run: RunDetails) -> None:
        self._minutes, self._forge, self._now = inventory.config.limits.minutes, forge, run.now
        self._began = inventory.now.timestamp()
        self._is_first = True

    def end(self, idle: Result) -> Result | None:
        """What comes of a pull request about which nothing may begin any more; None: go on.

        One is seen to in any run, however long it took to plan: else a large repository would get nothing, ever.
        """
        detail, is_first = self._forge.exhausted, self._is_first
        self._is_first = False
        is_over = not is_first and self._minutes and self._now() - self._began >= self._minutes * _MINUTE
        if not detail and is_over:
            detail = f"the run took {counted(self._minutes, 'minute')}"
        return self._waiting(idle, detail) if detail else None

    def excused(self, result: Result) -> Result:
        """``result``, held if all that it failed for is the Git host's rate limit: the next run continues."""
        if not isinstance(result.error, LimitReached):
            return result
        return self._waiting(result._replace(error=None, attempted=Action.NONE), result.error.message)

    @staticmethod
    def _waiting(idle: Result, detail: str) -> Result:
        proposal = idle.proposal
        if proposal is not None and proposal.is_asked:
            error = ForgeUnavailable(detail, hint=f"approve {proposal.approval} again in the next run")
            return idle._replace(action=Action.FAILED, error=error)
        target = NO_VERSION if proposal is None else proposal.target
        hold = Hold(HoldReason.LIMITED, detail, "wait for the next run", bump_kind=idle.bump_kind, target=target)
        return idle._replace(action=Action.HELD, hold=hold)
