"""Everything that was read → the plans of each team of installations. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from flux_upgrade.answers import answers_of, minor_of
from flux_upgrade.around import Around
from flux_upgrade.config import Config, Group
from flux_upgrade.decision import Hold, HoldReason, Subject
from flux_upgrade.errors import CheckoutDiffers
from flux_upgrade.forge import Repository
from flux_upgrade.groups import Member, Team, branch_name
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model import Release
from flux_upgrade.plan import Plan, Subjected, Terms, Upgrade
from flux_upgrade.policy import Answers
from flux_upgrade.upgrade import plan_upgrade
from flux_upgrade.values import NamedTuple


class Asked(NamedTuple):
    """What this run was told, beyond the config."""

    to: str = ""
    """A tag, whatever the policy says."""
    approve: tuple[str, ...] = ()
    """``2.9`` or ``v2.9.4``."""
    take_release: bool = False
    base: str = ""
    """Branch that pull requests go into; empty: the default branch."""
    writes: bool = True
    """False: what would be done is told, from any checkout."""


class TeamPlan(NamedTuple):
    """The plans of installations that share their pull requests."""

    team: Team
    plans: tuple[Plan, ...]


class Gathered(NamedTuple):
    """What was read before anything is decided."""

    teams: tuple[Team, ...]
    config: Config
    releases: tuple[Release, ...]
    regenerator: Regenerator
    around: Around
    asked: Asked
    now: datetime
    head: str
    """Oid of the commit that is checked out; empty where it is unknown."""
    found: frozenset[str] | None
    """Paths of all installations, ignored ones too; None: only a part of the repository was looked at."""
    explain: Callable[[str, str], CheckoutDiffers]
    """Path, commit of the base → why the checkout differs from the base there."""


def branches_of(team: Team, config: Config) -> tuple[str, ...]:
    """The names of a team's branches, one for each subject."""
    return tuple(branch_name(config.branch_prefix, team.slug, subject) for subject in Subject)


def plan_teams(gathered: Gathered, repository: Repository | None = None) -> tuple[TeamPlan, ...]:
    """Plan for all teams. ``repository``: what people answered there; None: nobody was asked.

    Raises ReleaseNotFound for a release that was asked for, SourceUnavailable, UntrustedArchive.
    """
    return tuple(_Teams(gathered, repository).plan())


def unused_approvals(gathered: Gathered, plans: Iterable[TeamPlan]) -> Iterator[str]:
    """A warning for each approval that nothing was waiting for."""
    decisions = [each for team in plans for plan in team.plans for each in plan.decisions]
    used = {each.candidate.approval for each in decisions if isinstance(each, Upgrade)}
    held = {each.target for each in decisions if isinstance(each, Hold)}
    for approval in gathered.asked.approve:
        if approval not in used and not any(approval in (tag, minor_of(tag)) for tag in held):
            yield f"nothing waits for the approval of {approval}: no installation can go there"


class _Teams:
    def __init__(self, gathered: Gathered, repository: Repository | None) -> None:
        self._gathered, self._repository = gathered, repository
        # One object for all that share a group and the answers: equal files are planned once.
        self._terms: dict[tuple[int, Answers], Terms] = {}

    def plan(self) -> Iterator[TeamPlan]:
        gathered = self._gathered
        subjected = (
            Subjected(member.installation, member.path, self._terms_of(team, member), self._blocked(member))
            for team in gathered.teams
            for member in team.members
        )
        plans = plan_upgrade(subjected, gathered.regenerator, gathered.releases, gathered.now)
        for team in gathered.teams:
            yield TeamPlan(team, tuple(self._guarded(team, next(plans)) for _ in team.members))

    def _terms_of(self, team: Team, member: Member) -> Terms:
        answers, asked = self._answers(team, member), self._gathered.asked
        key = (id(team.group), answers)
        if key not in self._terms:
            group: Group = team.group
            take_release = asked.take_release or group.take_release
            self._terms[key] = Terms(group.policy, answers, group.flags, asked.to, take_release)
        return self._terms[key]

    def _answers(self, team: Team, member: Member) -> Answers:
        approve = self._gathered.asked.approve
        if self._repository is None:
            return Answers(approved=approve)
        return answers_of(
            [self._repository.branches[name] for name in branches_of(team, self._gathered.config)],
            self._repository.issues,
            team=team.slug,
            path=member.path,
            current=member.installation.proof.version,
            asked=approve,
        )

    def _blocked(self, member: Member) -> Hold | None:
        if self._gathered.asked.to or self._gathered.around.is_referred_to(member.path):
            return None
        return Hold(
            HoldReason.ORPHAN,
            "no kustomization in the tree refers to it",
            "remove the file, refer to it, or list it under `ignore` in the config file",
        )

    def _guarded(self, team: Team, plan: Plan) -> Plan:
        """The plan, held where somebody else writes the file or the checkout is not the base."""
        if not plan.upgrades:
            # What another file than the base's makes superfluous is not closed.
            hold = self._differs(plan) if self._has_open(team) else None
        else:
            hold = self._differs(plan) or self._owned(plan)
        return plan if hold is None else plan._replace(decisions=(hold,), tried={})

    def _has_open(self, team: Team) -> bool:
        if self._repository is None:
            return False
        branches = (self._repository.branches[name] for name in branches_of(team, self._gathered.config))
        return any(branch.open_pull is not None for branch in branches)

    def _differs(self, plan: Plan) -> Hold | None:
        if self._repository is None or not self._gathered.asked.writes:
            return None
        if self._repository.files[plan.path].holds(plan.installation.content):
            return None
        why = self._gathered.explain(plan.path, self._repository.base_oid)
        return Hold(HoldReason.CHECKOUT_DIFFERS, why.message, why.hint, CheckoutDiffers)

    def _owned(self, plan: Plan) -> Hold | None:
        if self._gathered.asked.to:
            return None
        target = plan.upgrades[0].target
        history: Sequence[str] = ()
        if self._repository is not None:
            history = self._repository.files[plan.path].history
        return self._gathered.around.other_writer(plan.path, target, history)
