"""Newest releases that are only in the checkout: the branch that Flux follows does not have them yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.adapters.git.unmerged import may_be_unmerged
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.planning.plan import Plan
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.route.rows import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.assessment import ClusterBase
    from flux_upgrade.assessment.evidence import Evidence


def unmerged_in(inventory: Inventory, path: str) -> Callable[[Sequence[Row]], Mapping[str, ClusterBase]]:
    """Return the search for clusters that run an older release than their file has, by the path of the file."""
    return lambda rows: dict(_unmerged(rows, inventory, path))


def _unmerged(rows: Sequence[Row], inventory: Inventory, path: str) -> Iterator[tuple[str, ClusterBase]]:
    evidence, location = inventory.evidence, find(path)
    if evidence is None or evidence.followed is None or not location.is_checkout:
        return
    for row in rows:
        if may_be_unmerged(location.root, row.plan.path, _followed(row.plan.path, evidence)):
            from flux_upgrade.assessment.cluster_base import base_of  # late: nearly every checkout is as Git has it

            base = base_of(row.plan.pin, row.plan.path, evidence)
            if base is not None and base.is_behind and _is_newest(row.plan):
                yield row.plan.path, base


def _followed(path: str, evidence: Evidence) -> str:
    """Return the branch that the sync manifest has; empty if it is unknown."""
    branch = evidence.tree.followed_branch(path)
    return "" if isinstance(branch, Unknown) else branch


def _is_newest(plan: Plan) -> bool:
    return all(hold.reason is HoldReason.UP_TO_DATE for hold in plan.holds) and not plan.upgrades
