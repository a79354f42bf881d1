"""Everything that was read → the plans of each update group. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup, branches_of
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.config.config import Config
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Checkout
from flux_upgrade.model.forge import Repository
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Release, Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.planning.first_steps import FirstSteps
from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer
from flux_upgrade.planning.impact_gate import ImpactGate, joined
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import (
    Plan,
    PlannedTarget,
    Terms,
    UpdateGroupPlan,
    Upgrade,
    UpgradeRequest,
)
from flux_upgrade.planning.preflight import PreflightChecks, hold_cluster_set
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import Feedback, feedback_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.clusters.void_groups import Void
    from flux_upgrade.impact.running import Installations


class Inventory(NamedTuple):
    """What was read before anything is decided."""

    update_groups: tuple[UpdateGroup, ...]
    config: Config
    releases: tuple[Release, ...]
    pin_context: PinContext
    ownership: Ownership
    reported_only: tuple[Member, ...]
    """Pins that are recognized and reported, and never changed."""
    request: UpgradeRequest
    now: datetime
    head: str
    """Oid of the commit that is checked out; empty where it is unknown."""
    all_paths: frozenset[str] | None
    """Paths of all installations, ignored ones too; None: only a part of the repository was looked at."""
    checkout: Checkout
    analyzer: ImpactAnalyzer | None = None
    """What upgrades mean for the repository; None: nobody looks."""
    void: tuple[Void, ...] = ()
    """Groups of the config file that match nothing."""


def plan_update_groups(
    inventory: Inventory, repository: Repository | None = None
) -> tuple[UpdateGroupPlan, ...]:
    """Plan for all update groups. ``repository``: what people answered there; None: nobody was asked.

    Raises ReleaseNotFound for a release that was asked for, SourceUnavailable, UntrustedArchive.
    """
    return tuple(_UpdateGroups(inventory, repository).plan())


def unused_approvals(inventory: Inventory, plans: Iterable[UpdateGroupPlan]) -> Iterator[str]:
    """A warning for each approval that nothing was waiting for."""
    decisions = [each for group_plan in plans for plan in group_plan.plans for each in plan.decisions]
    used = {each.bump.approval for each in decisions if isinstance(each, Upgrade)}
    held = {each.target for each in decisions if isinstance(each, Hold)}
    for approval in inventory.request.approve:
        if approval not in used and not any(approval in (tag, tag.minor) for tag in held):
            yield f"nothing waits for the approval of {approval}: no installation can go there"


class _UpdateGroups:
    def __init__(self, inventory: Inventory, repository: Repository | None) -> None:
        self._inventory, self._repository = inventory, repository
        self._preflight = PreflightChecks(
            repository,
            inventory.ownership,
            [member for update_group in inventory.update_groups for member in update_group.members],
            inventory.checkout,
            writes=inventory.request.writes,
            is_asked=bool(inventory.request.to),
        )
        self._versions: dict[str, Version] = {}
        """Name of a cluster → the release that it is at; filled as clusters are planned."""
        self._migrations: dict[str, list[Plan]] = {}
        """Slug of an update group → the files that are moved before its clusters are upgraded."""
        context = inventory.pin_context
        self._manifests = ManifestPlanner(
            context.regenerator, context.artifacts, inventory.releases, inventory.now
        )
        self._pins = PinPlanner(context, inventory.releases, inventory.now)
        self._installations: Installations | None = None
        """What installs Flux in the repository, once it matters."""
        self._gate = ImpactGate(inventory.analyzer) if inventory.analyzer is not None else None

    def plan(self) -> Iterator[UpdateGroupPlan]:
        # Tools last: what they go to depends on the clusters that they serve.
        clusters = [
            (update_group, cluster)
            for update_group in self._inventory.update_groups
            for cluster in update_group.clusters
        ]
        planned: dict[int, Sequence[Plan]] = {}
        for place in sorted(range(len(clusters)), key=lambda each: clusters[each][1].is_tools):
            update_group, cluster = clusters[place]
            planned[place] = self._cluster(update_group, cluster)
            version = self._version(planned[place])
            if version:
                self._versions.setdefault(cluster.name, version)
        in_order = (planned[place] for place in range(len(clusters)))
        for update_group in self._inventory.update_groups:
            yield UpdateGroupPlan(
                update_group,
                tuple(plan for plans in islice(in_order, len(update_group.clusters)) for plan in plans),
                tuple(map(self._preflight.differing, self._moved(update_group))),
            )

    def _cluster(self, update_group: UpdateGroup, cluster: Cluster) -> Sequence[Plan]:
        """Manifests decide by themselves, the first that can be upgraded speaks for all; pins follow it."""
        plans: list[Plan] = []
        lead: Plan | None = None
        for member in cluster.members:
            target = self._target(update_group, member)
            plan = self._member(target, cluster, lead)
            if member.pin.is_manifest or (lead is None and not cluster.is_tools):
                plan = self._after_impact_gate(plan, target, update_group, cluster)
            plans.append(plan)
            if lead is None and plan.can_lead:
                lead = plan
        has_open = self._has_open(update_group)
        checked = [self._preflight.checked(plan, cluster, has_open=has_open) for plan in plans]
        return hold_cluster_set(checked, is_asked=bool(self._inventory.request.to))

    def _member(self, target: PlannedTarget, cluster: Cluster, lead: Plan | None) -> Plan:
        found = target.pin
        if found.is_manifest:
            return self._manifests.plan(target)
        if cluster.is_tools and cluster.served:
            known = {name: at for name in cluster.served if (at := self._versions.get(name))}
            if known:
                return self._pins.serve(target, found, known)
        if lead is None:
            return self._pins.lead(target, found)
        return self._pins.follow(target, found, lead)

    def _after_impact_gate(
        self, plan: Plan, target: PlannedTarget, update_group: UpdateGroup, cluster: Cluster
    ) -> Plan:
        """The plan of what speaks for a cluster, as far as nothing that it breaks is in the way."""
        gate = self._gate if plan.upgrades else None
        # What is not ours to move needs no look: whatever holds it is said later, for all of the cluster.
        if gate is None or self._preflight.checked(plan, cluster, has_open=False) is not plan:
            return plan
        try:
            if self._installations is None:
                groups = self._inventory.update_groups
                clusters = [each for group in groups for each in group.clusters]
                self._installations = gate.analyzer.installations(clusters)
            others = self._installations.besides(cluster)
            steps = FirstSteps(gate.analyzer, self._manifests, self._pins, target, others)
            checked = gate.check(steps.of(plan), target, update_group.slug, others)
            patch = self._patch_meanwhile(checked.plan, target, cluster)
            if patch is not None:
                checked = joined(gate.check(steps.of(patch), target, update_group.slug, others), checked)
        except Unreadable as error:
            hold = Hold(HoldReason.UNREADABLE, error.message, error.hint, Unreadable)
            return plan._replace(decisions=(hold,))
        self._migrations.setdefault(update_group.slug, []).extend(checked.migrations)
        return checked.plan

    def _patch_meanwhile(self, plan: Plan, target: PlannedTarget, cluster: Cluster) -> Plan | None:
        """The patch that a larger bump makes unnecessary, as long as that one is held."""
        terms = target.terms
        if (
            plan.upgrades
            or terms.to
            or not plan.impacts
            or terms.governance.policy.bump in (MaxBump.NONE, MaxBump.PATCH)
        ):
            return None
        policy = terms.governance.policy._replace(bump=MaxBump.PATCH)
        patch_only = terms._replace(governance=terms.governance._replace(policy=policy))
        found = self._member(target._replace(terms=patch_only), cluster, None)
        patches = tuple(each for each in found.upgrades if each.bump_kind is BumpKind.PATCH)
        return found._replace(decisions=patches) if patches else None

    def _moved(self, update_group: UpdateGroup) -> Iterator[Plan]:
        """The files that are moved for an update group, and not for one that needs no approval any more."""
        for plan in self._migrations.get(update_group.slug, ()):
            if self._gate is not None and self._gate.is_of(plan.path, update_group.slug):
                yield plan

    def _version(self, plans: Sequence[Plan]) -> Version:
        """What the cluster is at when its tools are changed; empty where that is not known."""
        lead = next((plan for plan in plans if plan.can_lead), None)
        if lead is None:
            return NO_VERSION
        # In a tree all is written at once; of pull requests nobody knows when they are merged.
        moves = lead.approved if self._repository is None else None
        return moves.target if moves is not None else lead.pin.version

    def _target(self, update_group: UpdateGroup, member: Member) -> PlannedTarget:
        return PlannedTarget(
            member.pin, member.path, self._terms_of(update_group, member), self._blocked(member)
        )

    def _terms_of(self, update_group: UpdateGroup, member: Member) -> Terms:
        feedback, request = self._feedback(update_group, member), self._inventory.request
        return Terms(update_group.group.governance, feedback, request.to)

    def _feedback(self, update_group: UpdateGroup, member: Member) -> Feedback:
        approve = self._inventory.request.approve
        current = member.pin.version
        ran = (current,) if self._inventory.request.migrated else ()
        if self._repository is None:
            return Feedback(approved=approve, migrated=ran)
        found = feedback_of(
            [self._repository.branches[name] for name in branches_of(update_group, self._inventory.config)],
            self._repository.issues,
            group=update_group.slug,
            path=member.path,
            current=current,
            asked=approve,
        )
        return found._replace(migrated=found.migrated + ran)

    def _blocked(self, member: Member) -> Hold | None:
        if not member.pin.is_manifest:
            return None  # a base may be built by hand, and a tool's file is read by the tool
        if self._inventory.request.to or self._inventory.ownership.is_referred_to(member.path):
            return None
        return Hold(
            HoldReason.ORPHAN,
            "no kustomization in the tree refers to it",
            "remove the file, refer to it, or list it under `ignore` in the config file",
        )

    def _has_open(self, update_group: UpdateGroup) -> bool:
        if self._repository is None:
            return False
        branches = (
            self._repository.branches[name] for name in branches_of(update_group, self._inventory.config)
        )
        return any(branch.open_pull is not None for branch in branches)
