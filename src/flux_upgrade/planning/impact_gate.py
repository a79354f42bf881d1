"""Upgrades that could be made pass the impact gate: each goes on, is held, or waits for migrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from flux_upgrade.config.config import Migrate
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Pin, PinChange, Role
from flux_upgrade.planning.api_uses import Transition
from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer
from flux_upgrade.planning.impact_holds import closed_migration, held_by, is_back, moved_elsewhere
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.impact import Impact
    from flux_upgrade.impact.migrate.result import Migrated
    from flux_upgrade.impact.running import OtherClusters


class GateResult(NamedTuple):
    """A plan, and what is to be done before it can go on."""

    plan: Plan
    migrations: tuple[Plan, ...] = ()
    """Of files, each with one upgrade of the kind MIGRATION."""


def joined(first: GateResult, second: GateResult) -> GateResult:
    """Two of one installation, about different subjects."""
    plan = second.plan._replace(
        decisions=(*first.plan.decisions, *second.plan.decisions),
        impacts={**second.plan.impacts, **first.plan.impacts},
    )
    return GateResult(plan, (*first.migrations, *second.migrations))


@dataclass
class ImpactGate:
    """Holds upgrades for what they would break: one installation after the other, in their order."""

    analyzer: ImpactAnalyzer
    _taken: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Path of a file that is moved → slug of the update group that does it, and whether it is approved."""

    def is_of(self, path: str, slug: str) -> bool:
        """Whether a file is moved for the update group with that slug."""
        return path in self._taken and self._taken[path][0] == slug

    def check(
        self, plan: Plan, target: PlannedTarget, slug: str, other_clusters: OtherClusters
    ) -> GateResult:
        """``plan``: with the impacts of its upgrades. ``slug``: of the update group.

        ``other_clusters``: what else installs Flux in the repository. Raises what
        ``ImpactAnalyzer.looked_back`` raises.
        """
        decisions: list[Upgrade | Hold] = []
        impacts: dict[BumpKind, Impact] = {}
        migrations: list[Plan] = []
        for each in plan.decisions:
            if isinstance(each, Hold) or each.impact is None:
                decisions.append(each)
                continue
            upgrade, impact, hold = each, each.impact, held_by(each, target.terms)
            if hold is None:
                # Nobody is asked about the past of what cannot go on anyway.
                transition = Transition(target.path, target.pin, upgrade, target.terms, other_clusters)
                impact = self.analyzer.looked_back(transition, impact)
                upgrade = upgrade._replace(impact=impact)
                hold = held_by(upgrade, target.terms)
            impacts[upgrade.bump_kind] = impact
            moving = [file for file in impact.files if file.moves]
            if not upgrade.bump.approval:
                moving = [file for file in moving if not is_back(file, target.terms)]
            if _is_apart(upgrade, hold, target.terms):
                migrations += _migrations(self._take(moving, slug, upgrade), plan, upgrade)
            elif hold is None and moving:
                own = self._take(moving, slug, upgrade)
                hold = None if len(own) == len(moving) else moved_elsewhere(upgrade)
                upgrade = upgrade._replace(moved=tuple(own))
            decisions.append(hold or upgrade)
        return GateResult(plan._replace(decisions=tuple(decisions), impacts=impacts), tuple(migrations))

    def _take(self, files: Sequence[Migrated], slug: str, upgrade: Upgrade) -> list[Migrated]:
        """Those that this update group moves: the first that has to, before one that waits for approval."""
        for file in files:
            _, is_settled = self._taken.get(file.path, ("", False))
            if not is_settled and (upgrade.approved or file.path not in self._taken):
                self._taken[file.path] = slug, upgrade.approved
        return [file for file in files if self.is_of(file.path, slug)]


def _is_apart(upgrade: Upgrade, hold: Hold | None, terms: Terms) -> bool:
    """Whether manifests are moved in a pull request of their own now."""
    if (
        terms.governance.migrate is not Migrate.BEFORE
        or hold is None
        or not hold.reason.effect.is_moved_first
    ):
        return False
    return bool(upgrade.bump.approval) or closed_migration(upgrade, terms) is None


def _migrations(files: Sequence[Migrated], plan: Plan, upgrade: Upgrade) -> Iterator[Plan]:
    """A plan for each file. They are approved with the upgrade that waits for them, not before."""
    bump = upgrade.bump._replace(
        bump_kind=BumpKind.MIGRATION, why=f"{upgrade.target} does not serve the old versions any more"
    )
    for file in files:
        found = Pin(file.path, "resources", file.content, role=Role.RESOURCES, version=plan.pin.version)
        yield Plan(found, file.path, (Upgrade(bump, PinChange(), moved=(file,), waiting=(plan.path,)),))
