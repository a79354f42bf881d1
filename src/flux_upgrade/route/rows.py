"""The values of the overview: rows, a decision each, and remarks, what else to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Pin, PinState
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason

_LATER = (HoldReason.STEP_PENDING, HoldReason.NEEDS_APPROVAL)
_FOLLOWING = (HoldReason.FOLLOWS, HoldReason.CLUSTER_HELD, HoldReason.UP_TO_DATE)


class State(StrEnum):
    """Of a cluster or of one of its upgrades; a cluster counts as the first of these that it has."""

    UPGRADED = "upgraded"
    FAILED = "failed"
    READY = "ready"
    NEEDS_APPROVAL = "needs approval"
    WAITS = "waits"
    HELD = "held"
    UP_TO_DATE = "up to date"


class Row(NamedTuple):
    """One upgrade of a cluster, or of a version reference that is decided by itself."""

    name: str  # The cluster, or where the version reference is
    current: str  # Empty: unknown
    target: str  # Empty: there is none
    bump_kind: str  # Empty where nothing is to be upgraded
    state: State
    why: str  # The hold reason, dates, or the steps after this one
    plan: Plan
    decision: Upgrade | Hold
    is_reference: bool  # It is no cluster
    group: str = ""  # Slug of the update group
    is_tag: bool = False  # A tag is moved, so that nothing is merged

    @property
    def is_named(self) -> bool:
        """Return whether the name is the directory of a cluster, which commands take."""
        return not self.is_reference and self.name != self.plan.path

    @property
    def size(self) -> str:
        """Return the size to show; empty where nothing is to be upgraded."""
        return self.decision.bump.size if isinstance(self.decision, Upgrade) else self.bump_kind


class Remark(NamedTuple):
    """Something that goes on working, and is worth a look."""

    what: str  # A sentence
    places: tuple[str, ...]


def rows_of(group: UpdateGroupPlan) -> Iterator[Row]:
    # Files that are migrated stand behind the clusters, and are none of them.
    for cluster, plans in zip(group.update_group.clusters, group.sets, strict=False):
        for row in _of_tools(plans) if cluster.is_tools else _of_cluster(cluster, plans):
            yield row._replace(group=group.update_group.slug)


def _of_tools(plans: Sequence[Plan]) -> Iterator[Row]:
    for plan in plans:
        yield from decision_rows(plan, plan.pin.place(plan.path), is_reference=True)


def _of_cluster(cluster: Cluster, plans: Sequence[Plan]) -> Iterator[Row]:
    """A row for each decision about its lead, and those of others that are not the same."""
    lead = next((each for each in plans if each.can_lead), plans[0])
    yield from decision_rows(lead, lead.path if cluster.name in ("", ".") else cluster.name)
    known = {(each.reason, each.detail) for each in lead.holds}
    for plan in plans:
        if plan is lead:
            continue
        own = [
            each
            for each in plan.decisions
            if (
                each.bump not in [of_lead.bump for of_lead in lead.upgrades]
                if isinstance(each, Upgrade)
                else each.reason not in _FOLLOWING and (each.reason, each.detail) not in known
            )
        ]
        yield from decision_rows(plan._replace(decisions=tuple(own)), plan.pin.place(plan.path), is_reference=True)


def decision_rows(plan: Plan, name: str, *, is_reference: bool = False) -> Iterator[Row]:
    """A row for each decision about one version reference."""
    current = _current(plan.pin)
    for each in plan.decisions:
        if isinstance(each, Hold) and any(_is_after(each, first) for first in plan.decisions):
            continue  # The row of the step before names it
        row = Row(name, current, str(each.target), str(each.bump_kind), State.HELD, "", plan, each, is_reference)
        if isinstance(each, Upgrade):
            yield row._replace(state=_state_of(each), why="; ".join(each.waits_for) or _steps_after(plan, each))
        elif each.reason is HoldReason.UP_TO_DATE:
            yield row._replace(target="", bump_kind="", state=State.UP_TO_DATE)
        elif each.reason is HoldReason.NEEDS_APPROVAL and each.target:
            yield row._replace(state=State.NEEDS_APPROVAL)
        else:
            later = _steps_after(plan, each)
            why = f"{each.reason}{each.dates}{f' ({later})' if later else ''}"
            yield row._replace(bump_kind=row.bump_kind if each.target else "", why=why)


def _is_after(hold: Hold, first: Upgrade | Hold) -> bool:
    """Return whether a release waits until an upgrade of the same size is merged, or one that is held."""
    is_later = hold.reason in _LATER and hold.bump_kind is first.bump_kind
    if isinstance(first, Hold) and (first.reason is HoldReason.NEEDS_APPROVAL or not first.target):
        return False
    return is_later and hold.target > first.target


def _current(pin: Pin) -> str:
    """``v2.9.4``; ``2.x (v2.9.4)`` for a range, which picks another one by itself."""
    is_range = pin.state is PinState.RANGE and pin.version
    return f"{pin.raw} ({pin.version})" if is_range else str(pin.stated_version)


def _state_of(upgrade: Upgrade) -> State:
    if not upgrade.approved:
        return State.NEEDS_APPROVAL
    return State.WAITS if upgrade.waits else State.READY


def _steps_after(plan: Plan, first: Upgrade | Hold) -> str:
    impact = plan.impact_of(first)
    path = impact.upgrade_path if impact is not None else ()
    if path and isinstance(first, Upgrade):
        return f"step 1 of {len(path)}, then {', then '.join(path[1:])}"
    if path[:1] == (first.target,):
        return f"then {', then '.join(path[1:])}"
    later = [hold.target for hold in plan.holds if _is_after(hold, first)]
    return f"then {max(later)}" if later else ""


def with_outcome(row: Row, states: Mapping[tuple[str, int], State]) -> Row:
    if row.state is not State.READY:
        return row
    return row._replace(state=states.get((row.plan.path, row.plan.line), row.state))


def is_left(row: Row) -> bool:
    """Whether a version reference stays as it is, and nobody is waiting for it."""
    return isinstance(row.decision, Hold) and row.decision.reason.effect.is_expected and not row.target
