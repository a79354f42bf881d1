"""A repository whose groups are upgraded one after the other, day by day."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from flows import NOW, World, fleet
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.forge import PullRequest
from flux_upgrade.policy.decision import HealthStatus, Ring
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from memory_forge import MemoryForge

FLUX = "flux-staging[bot]"
CONTEXT = "kustomization/flux-system/staging"
HEALTHY = HealthStatus((CONTEXT,), FLUX)
MINORS = Policy(bump=MaxBump.MINOR)
NO_RING = Ring()


def group(name: str, policy: Policy = MINORS, ring: Ring = NO_RING) -> Group:
    """All clusters below ``clusters/<name>``."""
    return Group(name, (f"clusters/{name}/**",), Governance(policy=policy), ring)


@dataclass
class RingRepository:
    """``versions``: of the cluster in the folder of each group."""

    groups: tuple[Group, ...]
    versions: dict[str, str]
    now: datetime = NOW
    server: type[MemoryForge] = MemoryForge
    forge: MemoryForge = field(init=False)
    reasons: set[HoldReason] = field(default_factory=set)
    errors: tuple[FluxUpgradeError, ...] = ()

    def __post_init__(self) -> None:
        files = fleet({f"clusters/{name}/one": version for name, version in self.versions.items()})
        self.world = World(files, Config(groups=self.groups))
        self.forge = self.server(dict(files), today=self.today)

    @property
    def today(self) -> str:
        return self.now.isoformat().replace("+00:00", "Z")

    def run(self) -> dict[str, str]:
        """A run on the base as it is: branch without prefix → what was done, where anything was."""
        self.world.files, self.world.now = dict(self.forge.files), self.now
        done = self.world.run(self.forge)
        self.errors = done.errors
        self.reasons = {hold.reason for team in done.plans for plan in team.plans for hold in plan.holds}
        found = {each.branch.removeprefix("flux-upgrade/"): str(each.action) for each in done.results}
        return {branch: action for branch, action in found.items() if action not in ("none", "unchanged")}

    def later(self, **time: int) -> dict[str, str]:
        """A run after some days or hours."""
        self.now += timedelta(**time)
        self.forge.today = self.today
        return self.run()

    def pull(self, branch: str) -> PullRequest:
        """The open pull request of a branch."""
        found = self.forge.open_pull(f"flux-upgrade/{branch}")
        assert found is not None
        return found

    def merge(self, branch: str) -> None:
        self.forge.merge(self.pull(branch).number)
