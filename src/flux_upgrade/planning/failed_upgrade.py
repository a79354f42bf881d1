"""A merged upgrade after which Flux reports a failure."""

from __future__ import annotations

from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.model.forge import PullRequest
from flux_upgrade.model.markers import MarkerState, WayBack
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import OnFailure
from flux_upgrade.policy.ring_facts import RingReport


class FailedUpgrade(NamedTuple):
    """A merged pull request after which Flux reports a failure."""

    update_group: UpdateGroup
    report: RingReport
    pull: PullRequest
    state: MarkerState
    waiting: tuple[str, ...]  # Names of the groups that come after

    @property
    def asks_for_revert(self) -> bool:
        return self.update_group.group.ring.on_failure is OnFailure.REVERT

    @property
    def way_back(self) -> WayBack:
        """As it was when the pull request was last updated."""
        return WayBack(self.state.way_back) if self.state.way_back in set(WayBack) else WayBack.UNKNOWN

    @property
    def is_revertible(self) -> bool:
        """Whether the upgrade is the cause, GitHub can make the revert, and the cluster accepts it."""
        is_possible = self.way_back is WayBack.SAFE and not self.report.is_changed
        return self.asks_for_revert and is_possible and not self.report.succeeded
