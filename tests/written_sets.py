"""Proposals for clusters with version references, planned from a few files as a run plans them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from config_files import load
from flows import World, fleet
from flux_upgrade.config.config import Config
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.proposal import Proposal
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.pullrequests.propose import proposals_of
from memory import MemoryArtifacts


@dataclass(frozen=True)
class Repository:
    """What is in it, and around it."""

    manifests: Mapping[str, str] = field(default_factory=dict)
    """A cluster's folder → the release of its vendored manifest."""
    files: Mapping[str, str] = field(default_factory=dict)
    artifacts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """As ``MemoryArtifacts`` takes them."""
    config: str = ""
    """The config file."""

    def proposal(self, team: str, subject: BumpKind) -> Proposal:
        """What is proposed for a team, by its name."""
        texts = {path: text.encode() for path, text in self.files.items()}
        config = load(self.config, "flux-upgrade.yaml") if self.config else Config()
        world = World({**fleet(self.manifests), **texts}, config, artifacts=MemoryArtifacts(self.artifacts))
        planned = plan_update_groups(world.gathered())
        return {each.update_group.name: proposals_of(each, config, ()) for each in planned}[team][subject]
