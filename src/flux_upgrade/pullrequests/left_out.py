"""What a proposal leaves out: installations and clusters of its update group that are older than what it proposes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan
from flux_upgrade.planning.proposal import Proposal
from flux_upgrade.policy.decision import BumpKind


def with_left_out(proposal: Proposal, planned: UpdateGroupPlan) -> Proposal:
    held, elsewhere = tuple(_held(proposal, planned)), tuple(_elsewhere(proposal, planned))
    clusters = _counted(proposal, planned, (*held, *elsewhere))
    return proposal._replace(held=held, elsewhere=elsewhere, clusters=clusters)


def is_held(plan: Plan) -> bool:
    """Whether something is in the way that a person should know of."""
    return any(not hold.reason.effect.is_expected for hold in plan.holds)


def is_before(version: str, target: Version) -> bool:
    own, proposed = Version.parse(version), Version.parse(target)
    return own is None or proposed is None or own < proposed


def _held(proposal: Proposal, planned: UpdateGroupPlan) -> Iterator[Plan]:
    """``Proposal.held``; if manifests are moved, the installations that wait for that."""
    waiting = {path for _, each in proposal.upgrades for path in each.waiting}
    for plan in planned.plans:
        if plan.path in waiting if waiting else _is_left(plan, proposal.bump_kind, proposal.target):
            yield plan


def _is_left(plan: Plan, kind: BumpKind, target: Version) -> bool:
    if not plan.upgrades:
        return is_held(plan)
    if any(upgrade.bump_kind is kind for upgrade in plan.upgrades) or not is_before(plan.pin.version, target):
        return False
    return is_held(plan._replace(decisions=tuple(hold for hold in plan.holds if hold.bump_kind is kind)))


def _elsewhere(proposal: Proposal, planned: UpdateGroupPlan) -> Iterator[Plan]:
    """``Proposal.elsewhere``: all of a cluster is older than what is proposed, and none of it is in the proposal."""
    kind, target = proposal.bump_kind, proposal.target
    if kind is BumpKind.MIGRATION:
        return
    taken = _places(plan for plan, _ in proposal.upgrades)
    for plans in _sets(planned):
        lead = next((plan for plan in plans if plan.can_lead), plans[0])
        is_known = lead.upgrades or any(hold.bump_kind is kind and hold.target for hold in lead.holds)
        is_apart = taken.isdisjoint(_places(plans)) and not _is_left(lead, kind, target)
        if is_known and is_apart and is_before(lead.pin.version, target):
            yield lead


def _counted(proposal: Proposal, planned: UpdateGroupPlan, left: Iterable[Plan]) -> tuple[int, int]:
    """``Proposal.clusters``."""
    taken, out = _places(plan for plan, _ in proposal.upgrades), _places(left)
    rest = [places for plans in _sets(planned) if taken.isdisjoint(places := _places(plans))]
    count = sum(1 for _ in _sets(planned)) - len(rest)
    return count, count + sum(not out.isdisjoint(places) for places in rest)


def _places(plans: Iterable[Plan]) -> set[tuple[str, int]]:
    return {(plan.path, plan.line) for plan in plans}


def _sets(planned: UpdateGroupPlan) -> Iterator[tuple[Plan, ...]]:
    """The plans of each cluster; tools that serve several are none."""
    for cluster, plans in zip(planned.update_group.clusters, planned.sets, strict=False):
        if not cluster.is_tools:
            yield plans
