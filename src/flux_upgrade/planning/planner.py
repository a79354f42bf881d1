"""Everything that was read → the plans of each team of installations. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice

from flux_upgrade.clusters.clusters import Cluster, Member, role_of
from flux_upgrade.clusters.groups import UpdateGroup, branch_name
from flux_upgrade.clusters.ownership.ownership import Around
from flux_upgrade.config.values import Config, Group
from flux_upgrade.model.errors import CheckoutDiffers, Unreadable
from flux_upgrade.model.forge import Repository
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release, minor_of
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.pin import Installation, Pin, Role
from flux_upgrade.planning.cluster_set import together
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.planning.preflight import Guards
from flux_upgrade.policy.decision import Bump, BumpKind, Hold, HoldReason
from flux_upgrade.policy.feedback import answers_of
from flux_upgrade.policy.policy import Feedback, MaxBump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.clusters.void_groups import Void
    from flux_upgrade.impact.running import Neighbours
    from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer
    from flux_upgrade.planning.impact_gate import Weigher
    from flux_upgrade.planning.pin_planner import PinPlanner


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
    migrated: bool = False
    """Whether `flux migrate` ran in the clusters, at the releases that they are at."""


class UpdateGroupPlan(NamedTuple):
    """The plans of installations that share their pull requests."""

    team: UpdateGroup
    plans: tuple[Plan, ...]
    """In the order of the team's members."""
    migrations: tuple[Plan, ...] = ()
    """Of the files whose resources are moved before, each with one decision."""

    @property
    def sets(self) -> Iterator[tuple[Plan, ...]]:
        """The same, cluster by cluster: what moves together. Files that are moved before, one by one."""
        plans = iter(self.plans)
        yield from (tuple(islice(plans, len(cluster.members))) for cluster in self.team.clusters)
        yield from ((plan,) for plan in self.migrations)

    @property
    def moved(self) -> Iterator[str]:
        """Paths of the files whose resources are moved, before or with an upgrade."""
        yield from (plan.path for plan in self.migrations)
        yield from (file.path for plan in self.plans for each in plan.upgrades for file in each.moved)


class Inventory(NamedTuple):
    """What was read before anything is decided."""

    teams: tuple[UpdateGroup, ...]
    config: Config
    releases: tuple[Release, ...]
    world: PinContext
    around: Around
    named: tuple[Member, ...]
    """Pins that are recognised, and never changed."""
    asked: Asked
    now: datetime
    head: str
    """Oid of the commit that is checked out; empty where it is unknown."""
    found: frozenset[str] | None
    """Paths of all installations, ignored ones too; None: only a part of the repository was looked at."""
    explain: Callable[[str, str], CheckoutDiffers]
    """Path, commit of the base → why the checkout differs from the base there."""
    contents: ImpactAnalyzer | None = None
    """What upgrades mean for the repository; None: nobody looks."""
    elsewhere: Callable[[], Sequence[Member]] = tuple
    """What installs clusters that are ignored, or outside of what was named. Asked late."""
    void: tuple[Void, ...] = ()
    """Groups of the config file that match nothing."""


def branches_of(team: UpdateGroup, config: Config) -> tuple[str, ...]:
    """The names of a team's branches, one for each subject."""
    return tuple(branch_name(config.branch_prefix, team.slug, subject) for subject in BumpKind)


def terms_of(group: Group, answers: Feedback, asked: Asked) -> Terms:
    """What governs the installations of a group."""
    take_release = asked.take_release or group.take_release
    return Terms(
        group.policy,
        answers,
        group.flags,
        asked.to,
        take_release,
        group.check_images,
        group.migrate,
        group.ladder,
        group.scan,
        group.kubernetes,
        group.gates,
    )


def plan_teams(gathered: Inventory, repository: Repository | None = None) -> tuple[UpdateGroupPlan, ...]:
    """Plan for all teams. ``repository``: what people answered there; None: nobody was asked.

    Raises ReleaseNotFound for a release that was asked for, SourceUnavailable, UntrustedArchive.
    """
    return tuple(_Teams(gathered, repository).plan())


def unused_approvals(gathered: Inventory, plans: Iterable[UpdateGroupPlan]) -> Iterator[str]:
    """A warning for each approval that nothing was waiting for."""
    decisions = [each for team in plans for plan in team.plans for each in plan.decisions]
    used = {each.candidate.approval for each in decisions if isinstance(each, Upgrade)}
    held = {each.target for each in decisions if isinstance(each, Hold)}
    for approval in gathered.asked.approve:
        if approval not in used and not any(approval in (tag, minor_of(tag)) for tag in held):
            yield f"nothing waits for the approval of {approval}: no installation can go there"


def _can_lead(plan: Plan) -> bool:
    """Whether what is decided about it can be decided for its cluster."""
    found = plan.installation
    if role_of(found) is not Role.INSTALLS or not found.version:
        return False
    if isinstance(found, Pin):
        return found.is_movable
    return all(hold.reason is not HoldReason.ORPHAN for hold in plan.holds)


class _Teams:
    def __init__(self, gathered: Inventory, repository: Repository | None) -> None:
        self._gathered, self._repository = gathered, repository
        # One object for all that share a group and the answers: equal files are planned once.
        self._terms: dict[tuple[int, Feedback], Terms] = {}
        self._guards = Guards(
            repository,
            gathered.around,
            [member for team in gathered.teams for member in team.members],
            gathered.explain,
            writes=gathered.asked.writes,
            is_asked=bool(gathered.asked.to),
        )
        self._versions: dict[str, str] = {}
        """Name of a cluster → the release that it is at; filled as clusters are planned."""
        self._migrations: dict[str, list[Plan]] = {}
        """Slug of a team → the files that are moved before its clusters are upgraded."""
        world = gathered.world
        self._manifests = ManifestPlanner(world.regenerator, world.artifacts, gathered.releases, gathered.now)

    @cached_property
    def _pins(self) -> PinPlanner:
        # Late: nearly every repository of vendored manifests alone needs none of it.
        from flux_upgrade.planning.pin_planner import PinPlanner

        return PinPlanner(self._gathered.world, self._gathered.releases, self._gathered.now)

    def plan(self) -> Iterator[UpdateGroupPlan]:
        # Tools last: what they go to depends on the clusters that they serve.
        clusters = [(team, cluster) for team in self._gathered.teams for cluster in team.clusters]
        plans: dict[int, Sequence[Plan]] = {}
        for team, cluster in sorted(clusters, key=lambda each: each[1].is_tools):
            plans[id(cluster)] = self._cluster(team, cluster)
            version = self._version(plans[id(cluster)])
            if version:
                self._versions.setdefault(cluster.name, version)
        for team in self._gathered.teams:
            yield UpdateGroupPlan(
                team,
                tuple(plan for cluster in team.clusters for plan in plans[id(cluster)]),
                tuple(map(self._guards.differing, self._moved(team))),
            )

    def _cluster(self, team: UpdateGroup, cluster: Cluster) -> Sequence[Plan]:
        """Manifests decide by themselves, the first that can be upgraded speaks for all; pins follow it."""
        plans: list[Plan] = []
        lead: Plan | None = None
        for member in cluster.members:
            subjected = self._subjected(team, member)
            plan = self._member(subjected, cluster, lead)
            if isinstance(member.installation, Installation) or (lead is None and not cluster.is_tools):
                plan = self._weighed(plan, subjected, team, cluster)
            plans.append(plan)
            if lead is None and _can_lead(plan):
                lead = plan
        has_open = self._has_open(team)
        guarded = [self._guards.guarded(plan, cluster, has_open=has_open) for plan in plans]
        return together(guarded, is_asked=bool(self._gathered.asked.to))

    def _member(self, subjected: PlannedTarget, cluster: Cluster, lead: Plan | None) -> Plan:
        found = subjected.installation
        if isinstance(found, Installation):
            return self._manifests.plan(subjected, found)
        if cluster.is_tools and cluster.served:
            known = {name: at for name in cluster.served if (at := self._versions.get(name, ""))}
            if known:
                return self._pins.serve(subjected, found, known)
        if lead is None:
            return self._pins.lead(subjected, found)
        return self._pins.follow(subjected, found, lead)

    def _weighed(self, plan: Plan, subjected: PlannedTarget, team: UpdateGroup, cluster: Cluster) -> Plan:
        """The plan of what speaks for a cluster, as far as nothing that it breaks is in the way."""
        weigher = self._weigher if plan.upgrades else None
        # What is not ours to move needs no look: whatever holds it is said later, for all of the cluster.
        if weigher is None or self._guards.guarded(plan, cluster, has_open=False) is not plan:
            return plan

        from flux_upgrade.planning.impact_gate import joined

        def redirect(candidate: Bump) -> Upgrade | Hold:
            found = subjected.installation
            planner = self._manifests if isinstance(found, Installation) else self._pins
            return planner.carried_out(subjected, candidate)

        try:
            around = self._neighbours(cluster)
            weighed = weigher.weigh(plan, subjected, team.slug, around, redirect)
            patch = self._patch_meanwhile(weighed.plan, subjected, cluster)
            if patch is not None:
                weighed = joined(weigher.weigh(patch, subjected, team.slug, around, redirect), weighed)
        except Unreadable as error:
            hold = Hold(HoldReason.UNREADABLE, error.message, error.hint, Unreadable)
            return plan._replace(decisions=(hold,))
        self._migrations.setdefault(team.slug, []).extend(weighed.migrations)
        return weighed.plan

    def _patch_meanwhile(self, plan: Plan, subjected: PlannedTarget, cluster: Cluster) -> Plan | None:
        """The patch that a larger bump makes unnecessary, as long as that one is held."""
        terms = subjected.terms
        if (
            plan.upgrades
            or terms.to
            or not plan.impacts
            or terms.policy.bump in (MaxBump.NONE, MaxBump.PATCH)
        ):
            return None
        key = (id(terms), terms.feedback)
        if key not in self._terms:
            policy = terms.policy._replace(bump=MaxBump.PATCH)
            self._terms[key] = terms._replace(policy=policy)
        found = self._member(subjected._replace(terms=self._terms[key]), cluster, None)
        patches = tuple(each for each in found.upgrades if each.subject is BumpKind.PATCH)
        return found._replace(decisions=patches) if patches else None

    @cached_property
    def _weigher(self) -> Weigher | None:
        if self._gathered.contents is None:
            return None
        # Late: nearly every run has nothing to weigh.
        from flux_upgrade.planning.impact_gate import Weigher

        return Weigher(self._gathered.contents)

    def _moved(self, team: UpdateGroup) -> Iterator[Plan]:
        """The files that are moved for a team, and not for one that needs nobody's approval any more."""
        for plan in self._migrations.get(team.slug, ()):
            if self._weigher is not None and self._weigher.is_of(plan.path, team.slug):
                yield plan

    def _neighbours(self, cluster: Cluster) -> Neighbours:
        from flux_upgrade.impact.running import neighbours_of

        clusters = (each for team in self._gathered.teams for each in team.clusters)
        return neighbours_of(cluster, clusters, self._gathered.elsewhere())

    def _version(self, plans: Sequence[Plan]) -> str:
        """What the cluster is at when its tools are changed; empty where that is not known."""
        lead = next((plan for plan in plans if _can_lead(plan)), None)
        if lead is None:
            return ""
        # In a tree all is written at once; of pull requests nobody knows when they are merged.
        moves = lead.approved if self._repository is None else None
        return moves.target if moves is not None else lead.installation.version

    def _subjected(self, team: UpdateGroup, member: Member) -> PlannedTarget:
        return PlannedTarget(
            member.installation, member.path, self._terms_of(team, member), self._blocked(member)
        )

    def _terms_of(self, team: UpdateGroup, member: Member) -> Terms:
        answers, asked = self._answers(team, member), self._gathered.asked
        key = (id(team.group), answers)
        if key not in self._terms:
            self._terms[key] = terms_of(team.group, answers, asked)
        return self._terms[key]

    def _answers(self, team: UpdateGroup, member: Member) -> Feedback:
        approve = self._gathered.asked.approve
        current = member.installation.version
        ran = (current,) if self._gathered.asked.migrated else ()
        if self._repository is None:
            return Feedback(approved=approve, migrated=ran)
        found = answers_of(
            [self._repository.branches[name] for name in branches_of(team, self._gathered.config)],
            self._repository.issues,
            team=team.slug,
            path=member.path,
            current=current,
            asked=approve,
        )
        return found._replace(migrated=found.migrated + ran)

    def _blocked(self, member: Member) -> Hold | None:
        if not isinstance(member.installation, Installation):
            return None  # a base may be built by hand, and a tool's file is read by the tool
        if self._gathered.asked.to or self._gathered.around.is_referred_to(member.path):
            return None
        return Hold(
            HoldReason.ORPHAN,
            "no kustomization in the tree refers to it",
            "remove the file, refer to it, or list it under `ignore` in the config file",
        )

    def _has_open(self, team: UpdateGroup) -> bool:
        if self._repository is None:
            return False
        branches = (self._repository.branches[name] for name in branches_of(team, self._gathered.config))
        return any(branch.open_pull is not None for branch in branches)
