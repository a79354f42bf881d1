"""A repository with one cluster that names an old API version, run after run."""

from __future__ import annotations

from typing import Any

from flows import World, fleet
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryHistory
from memory_forge import MemoryForge

MIGRATION = "flux-upgrade/clusters.staging/migration"
MINOR = "flux-upgrade/clusters.staging/minor"
OLD = b"""\
# Kept as it is.
apiVersion: kustomize.toolkit.fluxcd.io/v1beta2  # since 2021
kind: Kustomization
metadata:
  name: apps
spec: {}
"""
NEW = OLD.replace(b"v1beta2", b"v1")
APPS = "apps/sync.yaml"


class ClusterRepository:
    """A repository at v2.8.8, and one run after the other on what is at its base."""

    def __init__(self, files: dict[str, bytes] | None = None, **settings: Any) -> None:
        # A minor needs nobody, so that each test says by itself who approves.
        group = Group(governance=Governance(policy=Policy(bump=MaxBump.MINOR))._replace(**settings))
        self.config = Config(default=group)
        self.history = MemoryHistory()
        self.world = World({**fleet({"clusters/staging": "v2.8.8"}), APPS: OLD, **(files or {})}, history=self.history)
        self.forge = MemoryForge(dict(self.world.files))

    def run(self) -> dict[str, str]:
        """One run on the base as it is; branch → what was done."""
        self.world.files, self.world.config = dict(self.forge.files), self.config
        done = self.world.run(self.forge)
        self.plans = [plan for team in done.plans for plan in (*team.plans, *team.migrations)]
        return {each.branch: str(each.action) for each in done.results if each.action != "none"}

    @property
    def reasons(self) -> set[HoldReason]:
        """Why anything was held."""
        return {hold.reason for plan in self.plans for hold in plan.holds}

    def merge(self, branch: str) -> None:
        pull = self.forge.open_pull(branch)
        assert pull is not None
        self.forge.merge(pull.number)
