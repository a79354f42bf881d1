"""Upgrades that could be made pass the impact gate: each goes on, is held, or takes another step first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from flux_upgrade.config.config import Migrate
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import minor_of, precedence
from flux_upgrade.pins.pin import Installation, Pin, Resources, Role
from flux_upgrade.planning.api_uses import Transition
from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer
from flux_upgrade.planning.impact_holds import closed_migration, held_by, is_back, moved_elsewhere
from flux_upgrade.planning.plan import Migration, Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import refused

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


Redirect = Callable[[Bump], Upgrade | Hold]
"""The same installation to another release."""


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
        self, plan: Plan, target: PlannedTarget, slug: str, other_clusters: OtherClusters, redirect: Redirect
    ) -> GateResult:
        """``slug``: of the update group. ``other_clusters``: what else installs Flux in the repository.

        Raises what ``ImpactAnalyzer.impact`` raises.
        """
        decisions: list[Upgrade | Hold] = []
        impacts: dict[BumpKind, Impact] = {}
        migrations: list[Plan] = []
        for each in plan.decisions:
            if not isinstance(each, Upgrade) or not _is_analyzed(plan):
                decisions.append(each)
                continue
            transition = Transition(target.path, target.installation, each, target.terms, other_clusters)
            upgrade = self._with_impact(each, transition, _later(plan, each), redirect)
            if isinstance(upgrade, Upgrade) and upgrade.impact is not None:
                hold = held_by(upgrade, target.terms)
                impact = upgrade.impact
                if hold is None:
                    # Nobody is asked about the past of what cannot go on anyway.
                    impact = self.analyzer.looked_back(transition._replace(upgrade=upgrade), impact)
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
                upgrade = hold or upgrade
            decisions.append(upgrade)
        return GateResult(plan._replace(decisions=tuple(decisions), impacts=impacts), tuple(migrations))

    def _take(self, files: Sequence[Migrated], slug: str, upgrade: Upgrade) -> list[Migrated]:
        """Those that this update group moves: the first that has to, before one that waits for approval."""
        for file in files:
            _, is_settled = self._taken.get(file.path, ("", False))
            if not is_settled and (upgrade.approved or file.path not in self._taken):
                self._taken[file.path] = slug, upgrade.approved
        return [file for file in files if self.is_of(file.path, slug)]

    def _with_impact(
        self, upgrade: Upgrade, transition: Transition, later: str, redirect: Redirect
    ) -> Upgrade | Hold:
        """The upgrade with its impact; to the first step of its path if one step is not enough.

        ``later``: where it goes after this one, which a person approved alone; empty: nowhere.
        """
        terms = transition.terms
        impact = self.analyzer.impact(transition)
        if not terms.governance.ladder:
            return _gated(upgrade._replace(impact=impact._replace(upgrade_path=())), terms)
        if impact.upgrade_path and not terms.to:
            step = _to(upgrade.bump, impact.upgrade_path[0], terms, redirect)
            if isinstance(step, Hold):
                return step
            found = self.analyzer.impact(transition._replace(upgrade=step))
            return _gated(step._replace(impact=found._replace(upgrade_path=impact.upgrade_path)), terms)
        later_upgrade = redirect(upgrade.bump._replace(target=later)) if later else None
        if isinstance(later_upgrade, Upgrade):
            path = self.analyzer.impact(transition._replace(upgrade=later_upgrade)).upgrade_path
            if path and minor_of(path[0]) == minor_of(upgrade.target):
                impact = impact._replace(upgrade_path=(upgrade.target, *path[1:]))
        return _gated(upgrade._replace(impact=impact), terms)


def _to(bump: Bump, step: str, terms: Terms, redirect: Redirect) -> Upgrade | Hold:
    """A step on the way, which people may have turned down before."""
    hold = None if bump.approval else refused(terms.feedback, bump.bump_kind, step)
    return hold or redirect(bump._replace(target=step))


def _later(plan: Plan, upgrade: Upgrade) -> str:
    """The newest release that waits until the one that a person approved is merged."""
    waiting = [
        hold.target
        for hold in plan.holds
        if hold.reason is HoldReason.NEEDS_APPROVAL and hold.bump_kind is upgrade.bump_kind
    ]
    return max(waiting, key=precedence, default="") if upgrade.bump.approval else ""


def _is_analyzed(plan: Plan) -> bool:
    """What runs Flux in a cluster, and is known to be at a release."""
    found = plan.installation
    if isinstance(found, Pin):
        return found.role is Role.INSTALLS and bool(found.version)
    return isinstance(found, Installation) and bool(found.version)


def _gated(upgrade: Upgrade, terms: Terms) -> Upgrade:
    """Waits for approval on account of what it changes, should the settings want that."""
    changes = upgrade.impact.changes if upgrade.impact is not None else None
    found = (
        sorted(changes.contents.intersection(terms.governance.needs_approval)) if changes is not None else []
    )
    if not found or upgrade.bump.approval or terms.to:
        return upgrade
    why = f"{upgrade.bump.why}; it changes {', '.join(found)}, which needs approval"
    return upgrade._replace(bump=upgrade.bump._replace(approved=False, why=why.removeprefix("; ")))


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
        found = Resources(file.path, file.content, plan.installation.version)
        change = Migration(file, (plan.path,))
        yield Plan(found, file.path, (Upgrade(bump, change),))
