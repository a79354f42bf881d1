"""How far an upgrade goes at once: the analyzer is asked for the path, and its first step is planned."""

from __future__ import annotations

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.pin import Role
from flux_upgrade.planning.api_uses import Transition
from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import Bump, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.impact import Impact
    from flux_upgrade.impact.running import OtherClusters


class FirstSteps(NamedTuple):
    """The first steps of one pin."""

    analyzer: ImpactAnalyzer
    manifests: ManifestPlanner
    pins: PinPlanner
    target: PlannedTarget
    other_clusters: OtherClusters

    def of(self, plan: Plan) -> Plan:
        """The plan with what its upgrades mean; one that takes several steps goes to the first of them.

        Raises what ``ImpactAnalyzer.impact`` raises.
        """
        pin = plan.pin
        if pin.role is not Role.INSTALLS or not pin.version:
            return plan
        decisions = (
            self._first(each, _later(plan, each)) if isinstance(each, Upgrade) else each
            for each in plan.decisions
        )
        return plan._replace(decisions=tuple(decisions))

    def _first(self, upgrade: Upgrade, later: Version) -> Upgrade | Hold:
        """``later``: where it goes after this one, which a person approved alone; empty: nowhere."""
        terms, impact = self.target.terms, self._impact(upgrade)
        if not terms.governance.ladder:
            impact = impact._replace(upgrade_path=())
        elif impact.upgrade_path and not terms.to:
            step = impact.upgrade_path[0]
            # People may have turned it down before.
            hold = None if upgrade.bump.approval else refused(terms.feedback, upgrade.bump_kind, step)
            found = hold or self._carried_out(upgrade.bump._replace(target=step))
            if isinstance(found, Hold):
                return found
            upgrade, impact = found, self._impact(found)._replace(upgrade_path=impact.upgrade_path)
        elif later:
            afterwards = self._carried_out(upgrade.bump._replace(target=later))
            path = self._impact(afterwards).upgrade_path if isinstance(afterwards, Upgrade) else ()
            if path and path[0].minor == upgrade.target.minor:
                impact = impact._replace(upgrade_path=(upgrade.target, *path[1:]))
        return _gated(upgrade._replace(impact=impact), impact, terms)

    def _impact(self, upgrade: Upgrade) -> Impact:
        target = self.target
        return self.analyzer.impact(
            Transition(target.path, target.pin, upgrade, target.terms, self.other_clusters)
        )

    def _carried_out(self, bump: Bump) -> Upgrade | Hold:
        planner = self.manifests if self.target.pin.is_manifest else self.pins
        return planner.carried_out(self.target, bump)


def _later(plan: Plan, upgrade: Upgrade) -> Version:
    """The newest release that waits until the one that a person approved is merged."""
    waiting = [
        hold.target
        for hold in plan.holds
        if hold.reason is HoldReason.NEEDS_APPROVAL and hold.bump_kind is upgrade.bump_kind
    ]
    return max(waiting, default=NO_VERSION) if upgrade.bump.approval else NO_VERSION


def _gated(upgrade: Upgrade, impact: Impact, terms: Terms) -> Upgrade:
    """Waits for approval on account of what it changes, should the settings want that."""
    gates = terms.governance.needs_approval
    found = sorted(impact.changes.contents.intersection(gates)) if impact.changes is not None else []
    if not found or upgrade.bump.approval or terms.to:
        return upgrade
    why = f"{upgrade.bump.why}; it changes {', '.join(found)}, which needs approval"
    return upgrade._replace(bump=upgrade.bump._replace(approved=False, why=why.removeprefix("; ")))
