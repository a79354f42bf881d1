"""Steps that several clusters share, and those that may not be shared."""

from __future__ import annotations

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.impact.impact import Indication, Managed
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.overview import overview
from flux_upgrade.route.step import Task
from replacing import replace
from rounds import planned, team_of

_NEEDED = Managed(("v1beta2",), Indication.USED, "", "2.8", is_after=False, is_done=False)
_COOLING = Hold(
    HoldReason.COOLING_DOWN, bump_kind=BumpKind.MINOR, target=Version("v2.9.4"), until="2027", needs_approval=True
)


def _with(path: str, *, impact: Assessment | None, hold: Hold | None = None) -> UpdateGroupPlan:
    """Return a plan whose minor needs an approval, or is held."""
    (plan,) = planned("v2.8.8").plans
    (upgrade,) = plan.upgrades
    return team_of(path, replace(plan, path=path, decisions=(hold or replace(upgrade, impact=impact),)))


def _approvals(*groups: UpdateGroupPlan) -> list[tuple[tuple[str, ...], bool | None]]:
    steps = [step for step in overview(groups).route if step.task is Task.APPROVE]
    return [(step.clusters, step.has_migrated) for step in steps]


def test_an_approval_says_that_flux_migrate_ran_only_where_that_is_known_to_change_nothing() -> None:
    migrating = _with("a", impact=Assessment(managed=_NEEDED))
    assert _approvals(migrating, _with("b", impact=Assessment())) == [(("a", "b"), True)]
    unknown = (_with("b", impact=None), _with("b", impact=None, hold=_COOLING))
    for other in unknown:
        assert _approvals(migrating, other) == [(("a",), True), (("b",), False)]
        assert _approvals(_with("a", impact=Assessment()), other) == [(("a", "b"), False)]
