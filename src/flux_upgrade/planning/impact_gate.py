"""Upgrades that could be made, weighed by what they would break: each goes on, waits, or hops first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from flux_upgrade.config.values import Migrate
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import minor_of, precedence
from flux_upgrade.pins.pin import Installation, Pin, Resources, Role
from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer, Transition
from flux_upgrade.planning.impact_holds import closed_migration, held_by, is_back, moved_elsewhere
from flux_upgrade.planning.plan import Migration, Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import Bump, BumpKind, Hold, HoldReason
from flux_upgrade.policy.policy import refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.impact import Impact
    from flux_upgrade.impact.migrate.result import Migrated
    from flux_upgrade.impact.running import Neighbours


_MOVED_FIRST = (HoldReason.MIGRATION_PENDING, HoldReason.BLOCKED_BY_API_REMOVAL)


class Weighed(NamedTuple):
    """A plan, and what is to be done before it can go on."""

    plan: Plan
    migrations: tuple[Plan, ...] = ()
    """Of files, each with one upgrade of the subject MIGRATION."""


def joined(first: Weighed, second: Weighed) -> Weighed:
    """Two of one installation, about different subjects."""
    plan = second.plan._replace(
        decisions=(*first.plan.decisions, *second.plan.decisions),
        impacts={**second.plan.impacts, **first.plan.impacts},
    )
    return Weighed(plan, (*first.migrations, *second.migrations))


Redirect = Callable[[Bump], Upgrade | Hold]
"""The same installation to another release."""


@dataclass
class Weigher:
    """Asked about one installation after the other, in the order of the teams."""

    contents: ImpactAnalyzer
    _taken: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Path of a file that is moved → the slug of the team that does it, and whether it needs nobody."""

    def is_of(self, path: str, team: str) -> bool:
        """Whether a file is moved for that team, a slug."""
        return path in self._taken and self._taken[path][0] == team

    def weigh(
        self, plan: Plan, subjected: PlannedTarget, team: str, around: Neighbours, redirect: Redirect
    ) -> Weighed:
        """``team``: its slug. ``around``: what else there is.

        Raises as ``Contents.impact``.
        """
        decisions: list[Upgrade | Hold] = []
        impacts: dict[BumpKind, Impact] = {}
        migrations: list[Plan] = []
        for each in plan.decisions:
            if not isinstance(each, Upgrade) or not _is_weighed(plan):
                decisions.append(each)
                continue
            jump = Transition(subjected.path, subjected.installation, each, subjected.terms, around)
            upgrade = self._impact(each, jump, _later(plan, each), redirect)
            if isinstance(upgrade, Upgrade) and upgrade.impact is not None:
                hold = held_by(upgrade, subjected.terms)
                impact = upgrade.impact
                if hold is None:
                    # Nobody is asked about the past of what cannot go on anyway.
                    impact = self.contents.looked_back(jump._replace(upgrade=upgrade), impact)
                    upgrade = upgrade._replace(impact=impact)
                    hold = held_by(upgrade, subjected.terms)
                impacts[upgrade.subject] = impact
                moving = [file for file in impact.files if file.moves]
                if not upgrade.candidate.approval:
                    moving = [file for file in moving if not is_back(file, subjected.terms)]
                if _is_apart(upgrade, hold, subjected.terms):
                    migrations += _migrations(self._take(moving, team, upgrade), plan, upgrade)
                elif hold is None and moving:
                    own = self._take(moving, team, upgrade)
                    hold = None if len(own) == len(moving) else moved_elsewhere(upgrade)
                    upgrade = upgrade._replace(moved=tuple(own))
                upgrade = hold or upgrade
            decisions.append(upgrade)
        return Weighed(plan._replace(decisions=tuple(decisions), impacts=impacts), tuple(migrations))

    def _take(self, files: Sequence[Migrated], team: str, upgrade: Upgrade) -> list[Migrated]:
        """Those that this team moves: the first that has to, before one that waits for approval."""
        for file in files:
            _, is_settled = self._taken.get(file.path, ("", False))
            if not is_settled and (upgrade.approved or file.path not in self._taken):
                self._taken[file.path] = team, upgrade.approved
        return [file for file in files if self.is_of(file.path, team)]

    def _impact(self, upgrade: Upgrade, jump: Transition, later: str, redirect: Redirect) -> Upgrade | Hold:
        """The upgrade with all that is known of it; to its first hop, where it cannot be made in one step.

        ``later``: where it goes after this one, which a person approved alone; empty: nowhere.
        """
        terms = jump.terms
        impact = self.contents.impact(jump)
        if not terms.ladder:
            return _gated(upgrade._replace(impact=impact._replace(hops=())), terms)
        if impact.hops and not terms.to:
            hop = _to(upgrade.candidate, impact.hops[0], terms, redirect)
            if isinstance(hop, Hold):
                return hop
            found = self.contents.impact(jump._replace(upgrade=hop))
            return _gated(hop._replace(impact=found._replace(hops=impact.hops)), terms)
        goal = redirect(upgrade.candidate._replace(target=later)) if later else None
        if isinstance(goal, Upgrade):
            hops = self.contents.impact(jump._replace(upgrade=goal)).hops
            if hops and minor_of(hops[0]) == minor_of(upgrade.target):
                impact = impact._replace(hops=(upgrade.target, *hops[1:]))
        return _gated(upgrade._replace(impact=impact), terms)


def _to(candidate: Bump, hop: str, terms: Terms, redirect: Redirect) -> Upgrade | Hold:
    """A step on the way, which people may have turned down before."""
    hold = None if candidate.approval else refused(terms.feedback, candidate.subject, hop)
    return hold or redirect(candidate._replace(target=hop))


def _later(plan: Plan, upgrade: Upgrade) -> str:
    """The newest release that waits until the one that a person approved is merged."""
    waiting = [
        hold.target
        for hold in plan.holds
        if hold.reason is HoldReason.NEEDS_APPROVAL and hold.subject is upgrade.subject
    ]
    return max(waiting, key=precedence, default="") if upgrade.candidate.approval else ""


def _is_weighed(plan: Plan) -> bool:
    """What runs Flux in a cluster, and is known to be at a release."""
    found = plan.installation
    if isinstance(found, Pin):
        return found.role is Role.INSTALLS and bool(found.version)
    return isinstance(found, Installation) and bool(found.version)


def _gated(upgrade: Upgrade, terms: Terms) -> Upgrade:
    """Waits for approval on account of what it changes, should the settings want that."""
    changes = upgrade.impact.changes if upgrade.impact is not None else None
    found = sorted(changes.contents & terms.gates) if changes is not None else []
    if not found or upgrade.candidate.approval or terms.to:
        return upgrade
    why = f"{upgrade.candidate.why}; it changes {', '.join(found)}, which needs approval"
    return upgrade._replace(candidate=upgrade.candidate._replace(approved=False, why=why.removeprefix("; ")))


def _is_apart(upgrade: Upgrade, hold: Hold | None, terms: Terms) -> bool:
    """Whether manifests are moved in a pull request of their own now."""
    if terms.migrate is not Migrate.BEFORE or hold is None or hold.reason not in _MOVED_FIRST:
        return False
    return bool(upgrade.candidate.approval) or closed_migration(upgrade, terms) is None


def _migrations(files: Sequence[Migrated], plan: Plan, upgrade: Upgrade) -> Iterator[Plan]:
    """A plan for each file. They are approved with the upgrade that waits for them, not before."""
    candidate = upgrade.candidate._replace(
        subject=BumpKind.MIGRATION, why=f"{upgrade.target} does not serve the old versions any more"
    )
    for file in files:
        found = Resources(file.path, file.content, plan.installation.version)
        change = Migration(file, (plan.path,))
        yield Plan(found, file.path, (Upgrade(candidate, change),))
