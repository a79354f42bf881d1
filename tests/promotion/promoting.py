"""Runs about an artifact in a registry in memory, with written releases."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from flows import KUSTOMIZATION, listed, manifest
from flux_upgrade.artifacts.impact import PromotionImpact
from flux_upgrade.artifacts.promote import ArtifactOutcome, carry_out
from flux_upgrade.artifacts.promotion_plan import ConsumingClusters, plan_artifact
from flux_upgrade.artifacts.pull import ArtifactPorts, pull
from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.config.config import Config, Governance
from flux_upgrade.model.oci.reference import Address, parse_address
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.planning.approvals import for_tag
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import Terms
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, WrittenReleases, regenerator
from memory_registry import FILE, MemoryRegistry

NOW = datetime(2026, 9, 1, 12, 30, tzinfo=UTC)
ADDRESS = parse_address("oci://registry.example.com/org/flux:production")
TAGS = ("v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")
NOBODY = ConsumingClusters()
VERIFYING = ConsumingClusters(is_verified=True)
_USING = regenerator()


def files(version: str) -> dict[str, bytes]:
    """What an artifact holds: Flux at a release, and what the user has beside it."""
    return {
        "flux-system/kustomization.yaml": KUSTOMIZATION,
        FILE: manifest(version),
        "flux-system/patches/limits.yaml": b"- op: add\n",
    }


def registry(version: str = "v2.8.7") -> MemoryRegistry:
    """With one artifact, as the user pushed it."""
    made = MemoryRegistry()
    made.add(ADDRESS.tag, files(version))
    return made


def ports(using: MemoryRegistry, releases: WrittenReleases | None = None) -> ArtifactPorts:
    """What a run reads and writes, with written releases."""
    commits = {"v2.8.8": "a" * 40}
    regenerating = _USING if releases is None else regenerator(releases)
    return ArtifactPorts(using, regenerating, io.BytesIO, lambda tag: commits.get(tag, ""), NOW)


def run(  # noqa: PLR0913 a run has that many inputs
    using: MemoryRegistry,
    *,
    approve: Sequence[str] = (),
    policy: MaxBump = MaxBump.PATCH,
    tags: Sequence[str] = TAGS,
    clusters: ConsumingClusters = NOBODY,
    address: Address = ADDRESS,
    to: str = "",
    now: datetime = NOW,
    flags: Mapping[str, str] | None = None,
    releases: WrittenReleases | None = None,
    looks: bool = False,
) -> ArtifactOutcome:
    """One run. ``looks``: for what a promotion breaks in the artifact; no cluster is known."""
    using.calls.clear()
    given = ports(using, releases)._replace(now=now)
    planner = ManifestPlanner(given.regenerator, MemoryArtifacts(), listed(*tags), NOW)
    feedback = for_tag(approve, address.repository, address.tag)
    terms = Terms(Governance(Policy(policy), flags or {}), feedback, Version(to))
    if looks:
        context = PinContext(MemoryTree({}), given.regenerator, MemoryArtifacts(), MemoryCharts())
        pins = PinPlanner(context, planner.releases, NOW)
        clusters = clusters._replace(impact=PromotionImpact(planner, pins, Evidence(context, Config())))
    planned = plan_artifact(pull(address, given), planner, terms, given, clusters)
    return carry_out(planned, given)
