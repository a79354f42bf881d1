"""Upgrades that could be made pass the impact gate: each goes on, is held, or waits for migrations.

What one step cannot reach goes step by step: the assessment gives the path, and its first step is planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.assessment.evidence import Evidence, Transition
from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.config.config import Migrate
from flux_upgrade.model.unknown import known_or
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.pin import Pin, PinChange, Role
from flux_upgrade.planning.impact_holds import accepts_breaks, closed_migration, held_by, is_back, moved_elsewhere
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.assessment import Assessment, ClusterBase
    from flux_upgrade.impact.migrate.result import Migrated


class GateResult(NamedTuple):
    """A plan, and what is to be done before it can go on."""

    plan: Plan
    migrations: tuple[Plan, ...] = ()  # Of files, each with one upgrade of the kind MIGRATION

    def with_patches(self, patches: GateResult) -> GateResult:
        """Both, the patches first."""
        plan = patches.plan._replace(
            decisions=(*patches.plan.decisions, *self.plan.decisions),
            impacts={**self.plan.impacts, **patches.plan.impacts},
        )
        return GateResult(plan, (*patches.migrations, *self.migrations))


class ImpactGate:
    """Holds upgrades for what they would break: one installation after the other, in their order."""

    def __init__(self, evidence: Evidence, manifests: ManifestPlanner, pins: PinPlanner) -> None:
        self._evidence, self._manifests, self._pins = evidence, manifests, pins
        self._taken: dict[str, tuple[str, bool]] = {}
        """Path of a file that is moved → slug of the update group that does it; whether it is approved."""

    def is_of(self, path: str, slug: str) -> bool:
        return path in self._taken and self._taken[path][0] == slug

    def check(self, plan: Plan, target: PlannedTarget, slug: str, cluster: Cluster) -> GateResult:
        """``plan`` with the impacts of its upgrades. ``slug``: of the update group.

        Raises what ``assess`` raises.
        """
        if target.pin.role is not Role.INSTALLS or not target.pin.version:
            return GateResult(plan)
        # Late: most runs upgrade nothing.
        from flux_upgrade.assessment.assess import look_back, with_earlier_tries
        from flux_upgrade.assessment.cluster_base import base_of

        subject = _Subject(target, cluster, base_of(target.pin, target.path, self._evidence))
        decisions: list[Upgrade | Hold] = []
        impacts: dict[BumpKind, Assessment] = {}
        migrations: list[Plan] = []
        for each in plan.decisions:
            first = self._first_step(each, plan, subject) if isinstance(each, Upgrade) else each
            if isinstance(first, Hold):
                decisions.append(first)
                continue
            upgrade, impact = first
            beyond = upgrade.change.out_of_reach
            hold = beyond.of(upgrade.bump) if beyond else held_by(upgrade, impact, target.terms, plan.path)
            transition = subject.transition(upgrade)
            if hold is None:
                # Nobody is asked about the past of what cannot go on anyway.
                impact = look_back(transition, impact, self._evidence)
                hold = held_by(upgrade, impact, target.terms, plan.path)
            impact = with_earlier_tries(transition, impact, self._evidence)
            impacts[upgrade.bump_kind] = impact
            is_asked, terms = bool(upgrade.bump.approval), target.terms
            moving = [file for file in impact.files if file.moves and (is_asked or not is_back(file, terms))]
            moved: list[Migrated] = []
            if hold is not None and _is_apart(upgrade, hold, target.terms):
                migrations += migrations_of(self._take(moving, slug, upgrade), plan, upgrade)
            elif hold is None and moving:
                moved = self._take(moving, slug, upgrade)
                elsewhere = [move for file in moving if file not in moved for move in file.moves]
                hold = moved_elsewhere(upgrade) if any(move.blocks for move in elsewhere) else None
            is_accepted = accepts_breaks(upgrade, impact, target.terms, plan.path)
            if hold is not None:
                decisions.append(hold._replace(needs_approval=not upgrade.approved))
            else:
                decisions.append(upgrade._replace(impact=impact, moved=tuple(moved), is_accepted=is_accepted))
        return GateResult(plan._replace(decisions=tuple(decisions), impacts=impacts), tuple(migrations))

    def _first_step(self, upgrade: Upgrade, plan: Plan, subject: _Subject) -> tuple[Upgrade, Assessment] | Hold:
        """``upgrade``, one of ``plan``, or the first step to it, and what that means."""
        from flux_upgrade.assessment.assess import assess  # late, as above

        target, base = subject.target, subject.base
        in_steps = (
            target.terms.governance.multi_step and not target.terms.to and not (base is not None and base.is_behind)
        )

        def impact_of(each: Upgrade, *, in_steps: bool = False) -> Assessment:
            return assess(subject.transition(each), self._evidence, in_steps=in_steps)._replace(base=base)

        def carried_out(bump: Bump) -> Upgrade | Hold:
            planner = self._manifests if target.pin.is_manifest else self._pins
            return planner.carried_out(target, bump)

        terms = target.terms
        impact = impact_of(upgrade, in_steps=in_steps)
        path = impact.upgrade_path
        if not terms.governance.multi_step:
            impact = impact._replace(upgrade_path=(), skipped=path[:-1], detour=None)
        elif path and not terms.to and not (base is not None and base.is_ahead_of(path[0])):
            # People may have turned it down before.
            hold = None if upgrade.bump.approval else refused(terms.feedback, upgrade.bump_kind, path[0])
            found = hold or carried_out(upgrade.bump._replace(target=path[0]))
            if isinstance(found, Hold):
                return found
            upgrade, impact = found, impact_of(found)._replace(upgrade_path=path, detour=impact.detour)
        elif upgrade.bump.approval and (later := _later(plan, upgrade)):
            afterwards = carried_out(upgrade.bump._replace(target=later))
            beyond = impact_of(afterwards) if isinstance(afterwards, Upgrade) else impact
            path = beyond.upgrade_path
            if path and path[0].minor == upgrade.target.minor:
                impact = impact._replace(upgrade_path=(upgrade.target, *path[1:]), detour=beyond.detour)
        return _gated(upgrade, impact, terms), impact

    def _take(self, files: Sequence[Migrated], slug: str, upgrade: Upgrade) -> list[Migrated]:
        """Those that this update group moves: the first that has to, before one that waits for approval."""
        for file in files:
            _, is_settled = self._taken.get(file.path, ("", False))
            if not is_settled and (upgrade.approved or file.path not in self._taken):
                self._taken[file.path] = slug, upgrade.approved
        return [file for file in files if self.is_of(file.path, slug)]


class _Subject(NamedTuple):
    """An installation that upgrades are checked for."""

    target: PlannedTarget
    cluster: Cluster
    base: ClusterBase | None  # None: the cluster runs what is planned from

    def transition(self, upgrade: Upgrade) -> Transition:
        from flux_upgrade.assessment.cluster_base import from_base  # late, as above

        manifest, (pin, path, terms, _) = upgrade.change.manifest, self.target
        new = manifest.new if manifest is not None else None
        written = Transition(path, pin, upgrade.target, new, self.cluster, terms.governance, terms.feedback)
        return from_base(written, self.base)


def patches_alone(plan: Plan, target: PlannedTarget) -> PlannedTarget | None:
    """The same target under a policy of patches: a larger bump makes them unnecessary, unless that one is held.

    ``plan``: as it came through the gate. None: it needs no patches besides.
    """
    terms = target.terms
    is_held = bool(plan.impacts) and not plan.upgrades and not terms.to
    if not is_held or terms.governance.policy.bump in (MaxBump.NONE, MaxBump.PATCH):
        return None
    policy = terms.governance.policy._replace(bump=MaxBump.PATCH)
    return target._replace(terms=terms._replace(governance=terms.governance._replace(policy=policy)))


def only_patches(plan: Plan) -> Plan:
    return plan._replace(decisions=tuple(each for each in plan.upgrades if each.bump_kind is BumpKind.PATCH))


def _is_apart(upgrade: Upgrade, hold: Hold, terms: Terms) -> bool:
    """Whether manifests are moved in a pull request of their own now."""
    if terms.governance.migrate is not Migrate.BEFORE or not hold.reason.effect.is_moved_first:
        return False
    return bool(upgrade.bump.approval) or closed_migration(upgrade, terms) is None


def migrations_of(files: Sequence[Migrated], plan: Plan, upgrade: Upgrade) -> Iterator[Plan]:
    """A plan for each file. They are approved with the upgrade that waits for them, not before."""
    bump = upgrade.bump._replace(
        bump_kind=BumpKind.MIGRATION, why=f"{upgrade.target} no longer serves the old API versions"
    )
    for file in files:
        found = Pin(file.path, "resources", file.content, role=Role.RESOURCES, version=plan.pin.version)
        yield Plan(found, file.path, (Upgrade(bump, PinChange(), moved=(file,), waiting=(plan.path,)),))


def _later(plan: Plan, upgrade: Upgrade) -> Version:
    """The newest release that waits until ``upgrade``, which a person approved alone, is merged; empty: none does."""
    waiting = [
        hold.target
        for hold in plan.holds
        if hold.reason is HoldReason.NEEDS_APPROVAL and hold.bump_kind is upgrade.bump_kind
    ]
    return max(waiting, default=NO_VERSION)


def _gated(upgrade: Upgrade, impact: Assessment, terms: Terms) -> Upgrade:
    """Waits for approval on account of what it changes, should the settings want that."""
    gates = terms.governance.needs_approval
    if not gates or upgrade.bump.approval or terms.to:
        return upgrade
    changes = known_or(impact.changes, None)
    found = sorted(changes.contents.intersection(gates)) if changes is not None else []
    if not found:
        return upgrade
    why = f"{upgrade.bump.why}; it changes {', '.join(found)}, and your config requires approval for that"
    return upgrade._replace(bump=upgrade.bump._replace(approved=False, why=why.removeprefix("; ")))
