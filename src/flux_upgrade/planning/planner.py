"""Everything that was read → the plans of each update group. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from flux_upgrade.assessment.evidence import Evidence, broken_today
from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup, branches_of
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.config.config import Config, Migrate
from flux_upgrade.model.errors import ImplausibleRelease, Unexpected, Unreadable, known
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Release, Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.planning.approvals import split, versions_in
from flux_upgrade.planning.impact_gate import ImpactGate, migrations_of, only_patches, patches_alone
from flux_upgrade.planning.later_steps import with_later_steps_held
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import OnBreak, Plan, PlannedTarget, Terms, UpdateGroupPlan, Upgrade, UpgradeRequest
from flux_upgrade.planning.preflight import PreflightChecks, hold_cluster_set
from flux_upgrade.policy.decision import Feedback, Hold
from flux_upgrade.policy.hold_reasons import HoldReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.clusters.known import WithoutEffect
    from flux_upgrade.clusters.void_groups import Void
    from flux_upgrade.model.files import Checkout
    from flux_upgrade.model.forge import Branch, Repository
    from flux_upgrade.planning.rings import Rings
    from flux_upgrade.snapshot.snapshot import Snapshot


class Inventory(NamedTuple):
    update_groups: tuple[UpdateGroup, ...]
    config: Config
    releases: tuple[Release, ...]
    pin_context: PinContext
    ownership: Ownership
    reported_only: tuple[Member, ...]  # Pins that are recognized and reported, and never changed
    request: UpgradeRequest
    now: datetime
    head: str  # Oid of the commit that is checked out; empty where it is unknown
    all_paths: frozenset[str] | None
    """Paths of all installations, ignored ones too; None: only a part of the repository was looked at."""
    checkout: Checkout
    evidence: Evidence | None = None  # Of what upgrades mean for the repository; None: they are not assessed
    void: tuple[Void | WithoutEffect, ...] = ()  # Parts of the config file that have no effect
    lacks_flux: bool = False  # The whole repository was read, and has no Flux

    @property
    def tree(self) -> Snapshot | None:
        """The whole repository; None if nothing is assessed."""
        return self.evidence.tree if self.evidence is not None else None


def plan_update_groups(inventory: Inventory, repository: Repository | None = None) -> tuple[UpdateGroupPlan, ...]:
    """Plan for all update groups. ``repository``: what people answered there; None: nobody was asked.

    Raises ReleaseNotFound for a release that was asked for, SourceUnavailable, UntrustedArchive.
    """
    return tuple(_UpdateGroups(inventory, repository).plan())


def unused_approvals(inventory: Inventory, plans: Iterable[UpdateGroupPlan]) -> Iterator[str]:
    """A warning for each approval that nothing was waiting for."""
    decided = [
        (decision, plan.impact_of(decision), group_plan.update_group, cluster)
        for group_plan in plans
        for cluster, its in zip(group_plan.update_group.clusters, group_plan.sets, strict=False)
        for plan in its
        for decision in plan.decisions
    ]
    for approval in inventory.request.approve:
        name, version = split(approval)
        mine = [
            (decision, impact)
            for decision, impact, group, cluster in decided
            if versions_in((approval,), group, (cluster,))
        ]
        is_used = any(each.bump.is_approved_by(version) for each, _ in mine if isinstance(each, Upgrade))
        held = {each.target for each, _ in mine if isinstance(each, Hold)}
        held |= {tag for _, impact in mine if impact is not None for tag in impact.upgrade_path}
        if not is_used and not any(version in (tag, tag.minor) for tag in held):
            where = f" in {name}" if name else ""
            yield f"the approval of {version}{where} has no effect: no installation can be upgraded to it"


class _UpdateGroups:
    def __init__(self, inventory: Inventory, repository: Repository | None) -> None:
        self._inventory, self._repository = inventory, repository
        clusters = [each for group in inventory.update_groups for each in group.clusters]
        self._preflight = PreflightChecks(
            repository,
            inventory.ownership,
            [member for cluster in clusters for member in cluster.members],
            inventory.checkout,
            writes=inventory.request.writes,
            is_asked=bool(inventory.request.to),
        )
        self._versions: dict[str, Version] = {}
        """Name of a cluster → the release that it is at; filled as clusters are planned."""
        self._migrations: dict[str, list[Plan]] = {}
        """Slug of an update group → the files that are moved before its clusters are upgraded."""
        self._rings: Rings | None = None
        if any(each.group.ring.after for each in inventory.update_groups):
            # Late: most repositories have no groups that come after others.
            from flux_upgrade.planning.rings import Rings

            self._rings = Rings(inventory.update_groups, inventory.config, repository, inventory.now, inventory.tree)
        context = inventory.pin_context
        self._manifests = ManifestPlanner(context.regenerator, context.artifacts, inventory.releases, inventory.now)
        self._pins = PinPlanner(context, inventory.releases, inventory.now)
        self._evidence: Evidence | None = None
        self._gate: ImpactGate | None = None
        if inventory.evidence is not None:
            # A plan that is made again asks again, and keeps nothing in memory once it is made.
            followed = inventory.evidence.followed if repository is None else None
            self._evidence = replace(inventory.evidence, followed=followed)
            self._gate = ImpactGate(self._evidence, self._manifests, self._pins)

    def plan(self) -> Iterator[UpdateGroupPlan]:
        # Tools last: what they go to depends on the clusters that they serve. And a group that comes after others
        # waits for what these are planned to do.
        update_groups = self._inventory.update_groups
        clusters = [(update_group, cluster) for update_group in update_groups for cluster in update_group.clusters]
        planned: dict[int, Sequence[Plan]] = {}
        for place in sorted(range(len(clusters)), key=lambda each: self._place_in_order(*clusters[each])):
            update_group, cluster = clusters[place]
            try:
                planned[place] = self._cluster(update_group, cluster)
            except Exception as error:
                found = known(error)
                if not isinstance(found, Unexpected):
                    raise  # it concerns all of them
                hold = Hold(HoldReason.UNEXPECTED, found.message, found.hint, Unexpected)
                planned[place] = [Plan(each.pin, each.path, (hold,)) for each in cluster.members]
            if self._rings is not None:
                self._rings.add_plans(update_group, planned[place])
            version = self._version(planned[place])
            if version:
                self._versions.setdefault(cluster.name, version)
        if self._rings is not None:
            for place, (update_group, _) in enumerate(clusters):
                planned[place] = [self._kept(update_group, plan) for plan in planned[place]]
        in_order = iter([planned[place] for place in range(len(clusters))])
        for update_group in update_groups:
            plans = [plan for _ in update_group.clusters for plan in next(in_order)]
            # Another group may move a file instead, if its upgrade needs no approval.
            moved = [
                self._preflight.differing(plan)
                for plan in self._migrations.get(update_group.slug, ())
                if self._gate is not None and self._gate.is_of(plan.path, update_group.slug)
            ]
            seen = self._rings.memories(update_group) if self._rings is not None else ()
            others = tuple(self._others()) if moved else ()
            yield UpdateGroupPlan(update_group, tuple(plans), tuple(moved), seen, others)

    def _others(self) -> Iterator[str]:
        """Yield the names of the clusters in the repository that nothing is planned for."""
        planned = {cluster.name for group in self._inventory.update_groups for cluster in group.clusters}
        reads = self._evidence.graph.clusters if self._evidence is not None else ()
        yield from dict.fromkeys(cluster.name for cluster in reads if cluster.name not in planned)

    def _kept(self, update_group: UpdateGroup, plan: Plan) -> Plan:
        """Return the plan of a group that keeps its release until the groups after it have that."""
        if self._rings is None or self._inventory.request.to:
            return plan
        stable = {release.tag for release in self._inventory.releases if not release.prerelease}
        return self._rings.keeping(plan, update_group, stable)

    def _place_in_order(self, update_group: UpdateGroup, cluster: Cluster) -> tuple[bool, int]:
        return cluster.is_tools, self._rings.rank(update_group) if self._rings is not None else 0

    def _cluster(self, update_group: UpdateGroup, cluster: Cluster) -> Sequence[Plan]:
        """Manifests decide by themselves, the first that can be upgraded speaks for all; pins follow it."""
        plans: list[Plan] = []
        lead: Plan | None = None
        for member in cluster.members:
            target = self._target(update_group, cluster, member)
            plan = self._member(target, cluster, lead)
            if member.pin.is_manifest or (lead is None and not cluster.is_tools):
                plan = self._after_impact_gate(plan, target, update_group, cluster)
            if self._evidence is not None and not plans:
                include = target.terms.governance.include
                with suppress(Unreadable):  # an upgrade is held for it
                    plan = plan._replace(broken_today=broken_today(member, cluster, include, self._evidence))
            if self._rings is not None:
                plan = self._rings.waiting(plan, update_group, target.terms)
            plans.append(plan)
            if lead is None and plan.can_lead:
                lead = plan
        has_open = self._repository is not None and any(
            branch.open_pull is not None for branch in self._branches(self._repository, update_group)
        )
        checked = [self._preflight.checked(plan, cluster, has_open=has_open) for plan in plans]
        together = hold_cluster_set(checked, is_asked=bool(self._inventory.request.to))
        return [with_later_steps_held(plan) for plan in together]

    def _member(self, target: PlannedTarget, cluster: Cluster, lead: Plan | None) -> Plan:
        if target.pin.is_manifest:
            return self._manifests.plan(target)
        served = {name: at for name in cluster.served if (at := self._versions.get(name))}
        return self._pins.plan(target, lead, served if cluster.is_tools else {})

    def _after_impact_gate(
        self, plan: Plan, target: PlannedTarget, update_group: UpdateGroup, cluster: Cluster
    ) -> Plan:
        """The plan of what speaks for a cluster, as far as nothing that it breaks is in the way."""
        gate = self._gate if plan.upgrades else None
        if gate is None:
            return plan
        held = self._preflight.checked(plan, cluster, has_open=False)
        # Another one is looked at before anything is decided about it.
        if HoldReason.CHECKOUT_DIFFERS in [hold.reason for hold in held.holds]:
            return plan
        is_owned = held is not plan
        if is_owned and target.terms.governance.migrate is Migrate.WITH_UPGRADE:
            # The commit of the upgrade is another program's, which migrates nothing.
            governance = target.terms.governance._replace(migrate=Migrate.BEFORE)
            target = target._replace(terms=target.terms._replace(governance=governance))
        try:
            checked = gate.check(plan, target, update_group.slug, cluster)
            of_patches = patches_alone(checked.plan, target)
            if of_patches is not None:
                patches = only_patches(self._member(of_patches, cluster, None))
                checked = checked.with_patches(gate.check(patches, target, update_group.slug, cluster))
        except (ImplausibleRelease, Unreadable) as error:
            reason = HoldReason.of(error) or HoldReason.UNREADABLE
            return plan._replace(decisions=(Hold(reason, error.message, error.hint, type(error)),))
        migrations = self._migrations.setdefault(update_group.slug, [])
        migrations.extend(checked.migrations)
        if not is_owned:
            return checked.plan
        for upgrade in checked.plan.upgrades:
            migrations.extend(migrations_of(upgrade.moved, checked.plan, upgrade))
        return self._preflight.checked(checked.plan, cluster, has_open=False)

    def _version(self, plans: Sequence[Plan]) -> Version:
        """What the cluster is at when its tools are changed; empty where that is not known."""
        leads = [plan for plan in plans if plan.can_lead]
        if not leads:
            return NO_VERSION
        # In a tree all is written at once; of pull requests nobody knows when they are merged.
        moves = leads[0].approved if self._repository is None else None
        return moves.target if moves is not None else leads[0].pin.version

    def _target(self, update_group: UpdateGroup, cluster: Cluster, member: Member) -> PlannedTarget:
        pin, request = member.pin, self._inventory.request
        asked = versions_in(request.approve, update_group, (cluster,)) if request.approve else ()
        feedback = Feedback(approved=asked)
        if self._repository is not None:
            # Late: of a tree nobody was asked.
            from flux_upgrade.policy.feedback import feedback_of

            feedback = feedback_of(
                self._branches(self._repository, update_group),
                self._repository.issues,
                group=update_group.slug,
                path=member.path,
                current=pin.version,
                asked=asked,
                former=self._repository.former,
            )
        if request.migrated or self._is_known_to_have_migrated(cluster):
            feedback = feedback._replace(
                migrated=(*feedback.migrated, pin.version), migrated_since=(*feedback.migrated_since, pin.version)
            )
        blocked = None
        is_referred_to = self._inventory.ownership.is_referred_to
        # A base may be built by hand, and a tool's file is read by the tool.
        if pin.is_manifest and not request.to and not is_referred_to(member.path):
            blocked = Hold(
                HoldReason.ORPHAN,
                "nothing in this repository refers to this file",
                "reference it, or pass its path to upgrade it; if nothing applies it, list it under `ignore`",
            )
        ignored = next(
            (part.path for part in pin.files(member.path) if self._inventory.config.is_ignored(part.path)), ""
        )
        if pin.parts and ignored:
            blocked = Hold(
                HoldReason.UNREADABLE,
                f"{ignored} is a part of this installation, and the config file ignores it",
                "list all files of the installation under `ignore`, or none of them",
                Unreadable,
            )
        on_break = OnBreak.ACCEPT if request.accept_breaks else OnBreak.HOLD
        if self._repository is not None:
            on_break = OnBreak.DRAFT
        terms = Terms(update_group.group.governance, feedback, request.to, on_break)
        if self._rings is not None:
            terms = self._rings.terms(terms, update_group, pin.version)
        return PlannedTarget(pin, member.path, terms, blocked)

    def _is_known_to_have_migrated(self, cluster: Cluster) -> bool:
        """Return whether the config file says that `flux migrate` ran at the cluster's release."""
        entries = self._inventory.config.known
        if not entries:
            return False
        from flux_upgrade.clusters.known import known_of  # late: few config files have the key

        return any(entry.migrated for entry in known_of(cluster, entries))

    def _branches(self, repository: Repository, update_group: UpdateGroup) -> Sequence[Branch]:
        return [repository.branches[name] for name in branches_of(update_group, self._inventory.config)]
