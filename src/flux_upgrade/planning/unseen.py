"""A plan without the Git host: what it does not consider, so that it is not taken for the whole answer."""

from __future__ import annotations

from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.planner import Inventory


class Unseen(NamedTuple):
    """A warning about the Git host."""

    message: str  # One line
    remedy: str

    @property
    def text(self) -> str:
        return f"{self.message}\n{self.remedy}"


def unseen_of(inventory: Inventory, error: FluxUpgradeError, remedy: str) -> Unseen:
    """What only the Git host knows of this repository. ``error``: why it did not say."""
    names = ["open pull requests", "approvals", "declined versions"]
    names += ["boxes of the dashboard"] if inventory.config.dashboard else []
    has_rings = any(each.group.ring.after for each in inventory.update_groups)
    names += ["merged upgrades of earlier groups"] if has_rings else []
    return Unseen(f"{error.message}; not considered: {', '.join(names)} and the base branch", remedy)
