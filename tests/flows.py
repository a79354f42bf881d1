"""The whole flow over ports in memory: installations of written releases, a forge, and one run after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from discovered import manifests_in, pins_in
from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.clusters.also import user_patterns
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import assign, of_artifact
from flux_upgrade.clusters.operator_limits import with_operators
from flux_upgrade.clusters.ownership.artifact_references import references
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.config.config import Config
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import CheckoutDiffers
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.own_artifact import pin as own_artifact
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import Round, RunDetails
from flux_upgrade.pullrequests.apply import fetch_plans, reconcile_pull_requests
from memory import (
    MemoryArtifacts,
    MemoryCharts,
    MemoryHistory,
    MemoryTree,
    NoFlux,
    WrittenReleases,
    regenerator,
    rendered,
)
from own_artifacts import MemoryOwnArtifacts

NOW = datetime(2026, 9, 1, tzinfo=UTC)
KUSTOMIZATION = b"resources:\n- gotk-components.yaml\n"
_USING = regenerator()


def path_in(folder: str) -> str:
    """Where Flux's manifest stands in a cluster's folder."""
    return f"{folder}/flux-system/gotk-components.yaml"


PATH = path_in("clusters/staging")


@cache
def manifest(version: str) -> bytes:
    """Flux's own bytes, with default flags."""
    return rendered(InstallOptions(version)).encode()


def fleet(versions: Mapping[str, str], *, orphans: Sequence[str] = ()) -> dict[str, bytes]:
    """Folder → version, as files; what refers to them, too, but for ``orphans``."""
    files = {path_in(folder): manifest(version) for folder, version in versions.items()}
    folders = [f"{folder}/flux-system/kustomization.yaml" for folder in versions if folder not in orphans]
    return {**files, **dict.fromkeys(folders, KUSTOMIZATION)}


def listed(*tags: str) -> tuple[Release, ...]:
    """Releases without dates."""
    return tuple(Release(Version(tag), prerelease="-" in tag) for tag in tags)


class MemoryCheckout:
    """The port Checkout."""

    def explain(self, path: str, base_oid: str) -> CheckoutDiffers:
        return CheckoutDiffers(f"{path} differs from {base_oid[:4]}", hint="git pull")


@dataclass
class World:
    """What a run is given. ``files``: of the checkout."""

    files: dict[str, bytes]
    config: Config = field(default_factory=Config)
    releases: tuple[Release, ...] = listed("v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")
    using: Regenerator = field(default_factory=lambda: _USING)
    asked: UpgradeRequest = field(default_factory=UpgradeRequest)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    charts: MemoryCharts = field(default_factory=MemoryCharts)
    is_named: bool = False
    now: datetime = NOW
    head: str = ""
    """Oid of the commit that is checked out."""
    own: MemoryOwnArtifacts | None = None
    """The artifact that the run is about; None: it is about the repository."""
    warned: list[str] = field(default_factory=list)
    """What was said before the first write."""
    history: MemoryHistory | None = None
    """What the files were; None: nobody looks at what upgrades mean."""

    def gathered(self) -> Inventory:
        """Everything that was read."""
        tree = MemoryTree(self.files)
        moves = self.config.moves_operator
        also = user_patterns(self.config, tree, "", is_whole=True)
        world = PinContext(tree, self.using, self.artifacts, self.charts, moves, self.own, also=also)
        pins = (*_installations(tree, self.using), *pins_in(world))
        found: Sequence[Pin] = with_operators(pins, tree, world, "", self.config.is_ignored)
        if self.own is not None:
            found = [*own_artifact.pins_of(references(tree, self.own.address), self.own)]
        teams = assign(found, "", self.config, tree)
        if self.own is not None:
            teams = tuple(of_artifact(team, self.own.address.repository) for team in teams)
        clusters = [cluster for team in teams for cluster in team.clusters]
        return Inventory(
            update_groups=teams,
            config=self.config,
            releases=self.releases,
            pin_context=world,
            reported_only=tuple(Member(each, each.path) for each in found if each.role is Role.REPORTED),
            ownership=Ownership(tree, is_named=self.is_named),
            request=self.asked,
            now=self.now,
            head=self.head,
            all_paths=frozenset(each.path for each in found),
            checkout=MemoryCheckout(),
            evidence=None if self.history is None else Evidence(world, self.config, clusters, self.history),
        )

    def run(self, forge: Forge) -> Round:
        """One run."""
        inventory = self.gathered()
        fetched = fetch_plans(inventory, forge)
        return reconcile_pull_requests(inventory, fetched, forge, RunDetails(""), self.warned.append)


def counting() -> tuple[Regenerator, WrittenReleases]:
    """A regenerator of one's own, and the releases that count what it asks for."""
    releases = WrittenReleases()
    return Regenerator(releases, NoFlux()), releases


_FOUND: dict[tuple[int, tuple[tuple[str, bytes], ...]], list[Pin]] = {}


def _installations(tree: MemoryTree, using: Regenerator) -> list[Pin]:
    """Proofs depend on the files alone: a walk over many runs looks at each but once."""
    key = (id(using), tuple((path, tree.read(path)) for path in tree.candidates()))
    if using is not _USING:
        return list(manifests_in(tree, using))
    if key not in _FOUND:
        _FOUND[key] = list(manifests_in(tree, using))
    return _FOUND[key]
