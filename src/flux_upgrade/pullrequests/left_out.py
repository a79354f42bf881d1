"""What a proposal leaves out: installations and clusters of its update group that are older than what it proposes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import BumpKind


class LeftOut(NamedTuple):
    """As ``Proposal`` has it."""

    held: tuple[Plan, ...]
    elsewhere: tuple[Plan, ...]
    clusters: tuple[int, int]


def left_out(planned: UpdateGroupPlan, upgrades: Sequence[tuple[Plan, Upgrade]]) -> LeftOut:
    held, elsewhere = tuple(_held(planned, upgrades)), tuple(_elsewhere(planned, upgrades))
    return LeftOut(held, elsewhere, _counted(planned, upgrades, (*held, *elsewhere)))


def is_held(plan: Plan) -> bool:
    """Whether something is in the way that a person should know of."""
    return any(not hold.reason.effect.is_expected for hold in plan.holds)


def is_before(version: str, target: Version) -> bool:
    own, proposed = Version.parse(version), Version.parse(target)
    return own is None or proposed is None or own < proposed


def _held(planned: UpdateGroupPlan, upgrades: Sequence[tuple[Plan, Upgrade]]) -> Iterator[Plan]:
    """``LeftOut.held``; if manifests are moved, the installations that wait for that."""
    waiting = {path for _, each in upgrades for path in each.waiting}
    kind, target = upgrades[0][1].bump_kind, max(upgrade.target for _, upgrade in upgrades)
    for plan in planned.plans:
        if plan.path in waiting if waiting else _is_left(plan, kind, target):
            yield plan


def _is_left(plan: Plan, kind: BumpKind, target: Version) -> bool:
    if not plan.upgrades:
        return is_held(plan)
    if any(upgrade.bump_kind is kind for upgrade in plan.upgrades) or not is_before(plan.pin.version, target):
        return False
    return is_held(plan._replace(decisions=tuple(hold for hold in plan.holds if hold.bump_kind is kind)))


def _elsewhere(planned: UpdateGroupPlan, upgrades: Sequence[tuple[Plan, Upgrade]]) -> Iterator[Plan]:
    """``LeftOut.elsewhere``: all of a cluster is older than what is proposed, and none of it is in the proposal."""
    kind, target = upgrades[0][1].bump_kind, max(upgrade.target for _, upgrade in upgrades)
    if kind is BumpKind.MIGRATION:
        return
    taken = _places(plan for plan, _ in upgrades)
    for plans in _sets(planned):
        lead = next((plan for plan in plans if plan.can_lead), plans[0])
        is_known = lead.upgrades or any(hold.bump_kind is kind and hold.target for hold in lead.holds)
        is_apart = taken.isdisjoint(_places(plans)) and not _is_left(lead, kind, target)
        if is_known and is_apart and is_before(lead.pin.version, target):
            yield lead


def _counted(
    planned: UpdateGroupPlan, upgrades: Sequence[tuple[Plan, Upgrade]], left: Sequence[Plan]
) -> tuple[int, int]:
    """``LeftOut.clusters``."""
    taken, out = _places(plan for plan, _ in upgrades), _places(left)
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
