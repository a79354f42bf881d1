"""Comparison of two decisions about the same upgrade: the more careful one asks more of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import IntEnum, StrEnum
from typing import NamedTuple

from flux_upgrade.policy.hold_reasons import HoldReason
from healthy.decisions import Decision, Place

BLOCKED = (
    HoldReason.BLOCKED_BY_API_REMOVAL,
    HoldReason.COMPONENT_IN_USE,
    HoldReason.FORCE_RECREATES,
    HoldReason.KUBERNETES_TOO_OLD,
    HoldReason.OPERATOR_TOO_OLD,
    HoldReason.STEP_PENDING,
)
"""Reasons that no approval ends."""


class Rank(IntEnum):
    NOTHING = 0  # Up to date, or as it should be
    READY = 1
    READY_WITH_ACTION = 2
    WAITS = 3  # For an approval, or for a time
    HELD = 4
    BLOCKED = 5  # No approval ends it


class Change(StrEnum):
    MORE = "more careful"
    ACTION = "another action"  # At the same rank
    SAME = "same"
    LESS = "less careful"


class Comparison(NamedTuple):
    place: Place
    before: Decision
    now: Decision

    @property
    def change(self) -> Change:
        before, now = _degree(self.before), _degree(self.now)
        if before != now:
            return Change.MORE if now > before else Change.LESS
        if len(self.now.actions) > len(self.before.actions) or (self.before.merges and not self.now.merges):
            return Change.ACTION
        is_less = len(self.now.actions) < len(self.before.actions) or self.now.merges > self.before.merges
        return Change.LESS if is_less else Change.SAME

    @property
    def loses_auto_merge(self) -> bool:
        return self.before.merges and not self.now.merges

    def __str__(self) -> str:
        return f"{self.place}: {self.before} → {self.now}"


def compare(before: Mapping[Place, Decision], now: Mapping[Place, Decision]) -> list[Comparison]:
    """Return the comparisons of all decisions, which are about the same upgrades."""
    return [Comparison(place, before[place], decision) for place, decision in sorted(now.items())]


def rank(decision: Decision) -> Rank:
    """Return how much a decision asks of users."""
    if decision.state == "up to date":
        return Rank.NOTHING
    if decision.state == "ready":
        return Rank.READY_WITH_ACTION if decision.actions else Rank.READY
    if decision.state in ("needs approval", "waits"):
        return Rank.WAITS
    reason = next((reason for reason in HoldReason if reason == decision.reason), None)
    if decision.state != "held" or reason is None or reason in BLOCKED:
        return Rank.BLOCKED
    if reason.effect.is_approvable or (reason.effect.is_wait and not reason.effect.is_expected):
        return Rank.WAITS
    return Rank.NOTHING if reason.effect.is_expected else Rank.HELD


def table(comparisons: list[Comparison]) -> Iterator[str]:
    """Yield the lines of a table: the number of decisions by mode and result."""
    counts = Counter((comparison.place.mode, comparison.change) for comparison in comparisons)
    yield f"{'':10}{'all':>6}" + "".join(f"{change:>22}" for change in Change)
    for mode in sorted({mode for mode, _ in counts}):
        total = sum(counts[mode, change] for change in Change)
        cells = (f"{counts[mode, change]:>13} ({counts[mode, change] / total:6.1%})" for change in Change)
        yield f"{mode:10}{total:>6}" + "".join(cells)


def _degree(decision: Decision) -> tuple[Rank, tuple[int, ...]]:
    """Return the rank, and how far the target is from the newest release: a step is more careful than the whole."""
    numbers = decision.target.removeprefix("v").split(".") if decision.target else []
    return rank(decision), tuple(-int(number) for number in numbers)
