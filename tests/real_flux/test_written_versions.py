"""However a release is written, a real API server takes each proposed step, and refuses what was not proposed.

Compared for each way of writing, each pair of minors, and each kind of history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster import api_servers
from conformance.real_files import regenerator_of
from conformance.real_releases import ALL, DEFAULT, Pair, Real, pairs
from flows import World, listed
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.oci.reference import immutable, parse_address
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import Plan
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryArtifacts, MemoryCharts, MemoryHistory, digest_of
from own_artifacts import MemoryOwnArtifacts
from real_flux.control_plane import ControlPlane
from real_flux.stored_crds import MIGRATE, Events, StoredCrds
from real_parts import require_shared
from unit.test_stored_by_pins import ARTIFACT, SOURCE, SYNC, WITH_IMAGES, WITHOUT_IMAGES, written_at

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

ARTIFACTS = "ghcr.io/fluxcd/flux-manifests"
CHARTS = "https://fluxcd-community.github.io/helm-charts"
CHART = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: flux
  namespace: flux-system
spec:
  chart:
    spec:
      chart: flux2
      version: VERSION
      sourceRef:
        kind: HelmRepository
        name: fluxcd-community
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata:
  name: fluxcd-community
  namespace: flux-system
spec:
  url: {CHARTS}
"""
OWN = "oci://ghcr.io/acme/flux"
CONFIG = Config(Group(governance=Governance(include=("nothing/**",), policy=Policy(bump=MaxBump.MINOR))))
"""No file is searched for API versions: only what the cluster stored counts."""
SHALLOW = Unknown("the checkout is shallow")


class Way(NamedTuple):
    path: str
    content: Callable[[str], bytes]  # The file at a release
    components: tuple[str, ...] = ALL
    by_operator: bool = False


class Cluster(NamedTuple):
    """A cluster on its way to a release."""

    folder: str
    way: Way
    ran: tuple[str, ...]  # Releases in the history; the last is in use
    missing: Unknown | None  # The reason that earlier ones may have run
    events: Events  # The past that the server is asked about

    @property
    def path(self) -> str:
        return self.placed(self.way.path)

    def placed(self, text: str) -> str:
        return text.replace("clusters/a", self.folder)

    @property
    def past(self) -> FileRevisions:
        contents = [(f"{number:040}", f"2024-0{number + 1}-01", tag) for number, tag in enumerate(self.ran)]
        revisions = (FileRevision(commit, date, self._at(tag)) for commit, date, tag in contents)
        return FileRevisions(tuple(revisions), self.missing)

    @property
    def files(self) -> dict[str, bytes]:
        files = {"clusters/a/flux-system/gotk-sync.yaml": SOURCE + SYNC}
        if self.way.path.endswith("gotk-components.yaml"):
            files["clusters/a/flux-system/kustomization.yaml"] = (
                "resources:\n- gotk-components.yaml\n- gotk-sync.yaml\n"
            )
        here = {self.placed(path): self.placed(text).encode() for path, text in files.items()}
        return {**here, self.path: self._at(self.ran[-1])}

    def _at(self, tag: str) -> bytes:
        return self.placed(self.way.content(tag).decode()).encode()


class Decided(NamedTuple):
    step: str
    refused: set[Pair]  # Unless objects are migrated before
    is_unknown: bool  # More may be refused
    path: Sequence[str]  # Several steps; empty: one is enough


def manifest(using: Regenerator, components: tuple[str, ...], tag: str) -> bytes:
    return using.regenerate(InstallOptions(Version(tag))._replace(components=components)).text.encode()


def digest(tag: str) -> bytes:
    return ARTIFACT.replace("tag: v2.6.4", f"digest: {digest_of(f'{ARTIFACTS}:{tag}')}").encode()


def own_artifact(tag: str) -> bytes:
    return ARTIFACT.replace("oci://ghcr.io/fluxcd/flux-manifests", OWN).replace("v2.6.4", pushed(tag)).encode()


def pushed(tag: str) -> str:
    """Return the immutable tag of an own artifact with a release."""
    return immutable(tag, digest_of(tag).removeprefix("sha256:"))


def chart_of(tag: str) -> str:
    _, minor, patch = Version(tag).numbers
    return f"2.{minor + 10}.{patch}"


def ways(using: Regenerator) -> Iterator[tuple[str, Way]]:
    for ending, components, known in (("", DEFAULT, WITHOUT_IMAGES), ("-with-images", ALL, WITH_IMAGES)):
        path = "clusters/a/flux-system/gotk-components.yaml"
        yield f"manifest{ending}", Way(path, partial(manifest, using, components), components)
        for name, way in known.items():
            path = way.path.replace("main.tf", "terraform/clusters/a/main.tf")
            yield f"{name}{ending}", Way(path, partial(written_at, way), components, way.by_operator)
    yield "digest-with-images", Way("clusters/a/flux.yaml", digest)
    yield "own-artifact-with-images", Way("clusters/a/flux.yaml", own_artifact)
    yield "chart-with-images", Way("clusters/a/flux.yaml", lambda tag: CHART.replace("VERSION", chart_of(tag)).encode())


class Decisions:
    """Decisions of flux-upgrade over the real releases."""

    def __init__(self, real: Real, folder: Path) -> None:
        self.using = regenerator_of(folder)
        self.tags = [tag for release, tag in real.last.items() if release >= (2, 0)]
        self.ways = dict(ways(self.using))
        names = {tag: f"{ARTIFACTS}:{tag}" for tag in self.tags}
        self._artifacts = MemoryArtifacts(
            {name: {"digest": digest_of(name), "revision": f"{tag}@sha1:1"} for tag, name in names.items()}
        )
        self._own = MemoryOwnArtifacts(
            parse_address(f"{OWN}:latest"),
            {pushed(tag): {"digest": digest_of(pushed(tag)), "version": tag} for tag in self.tags},
            manifest=partial(manifest, self.using, ALL),
        )
        charts = {chart_of(tag): tag.removeprefix("v") for tag in self.tags}
        self._charts = MemoryCharts({CHARTS: {"flux2": charts}})

    def decide(self, clusters: Sequence[Cluster], target: str) -> Sequence[Plan]:
        """Return the plan of each cluster of a repository."""
        plans: dict[str, Plan] = {}
        for artifacts in (None, self._own):  # References to an own artifact are planned apart
            part = [each for each in clusters if (each.way.content is own_artifact) is (artifacts is not None)]
            plans |= self._plans(part, target, artifacts) if part else {}
        return [plans[each.path] for each in clusters]

    def _plans(
        self, clusters: Sequence[Cluster], target: str, pushed_here: MemoryOwnArtifacts | None
    ) -> dict[str, Plan]:
        world = World(
            {path: content for each in clusters for path, content in each.files.items()},
            CONFIG,
            listed(*self.tags[: self.tags.index(target) + 1]),
            self.using,
            artifacts=self._artifacts,
            own=pushed_here,
            charts=self._charts,
            history=MemoryHistory({each.path: each.past for each in clusters}),
        )
        return {plan.path: plan for group in plan_update_groups(world.gathered()) for plan in group.plans}


def decided(plan: Plan, *, by_operator: bool) -> Decided | None:
    """Return the decision about a minor; None: it is held."""
    upgrade = plan.upgrades[0] if plan.upgrades else None
    if upgrade is None or upgrade.impact is None:
        return None
    stored = upgrade.impact.stored
    refused = pairs(stored.resolved if by_operator else stored.refused)
    return Decided(upgrade.target, refused, stored.unknown is not None, upgrade.impact.upgrade_path)


@dataclass
class Walk:
    """Clusters on their ways to a release, step by step."""

    decisions: Decisions
    server: StoredCrds
    target: str
    faults: list[str] = field(default_factory=list)
    compared: int = 0

    def go(self, clusters: Sequence[Cluster]) -> None:
        while clusters:
            plans = self.decisions.decide(clusters, self.target)
            further = [self._after(*each) for each in zip(clusters, plans, strict=True)]
            clusters = [each for each in further if each is not None and each.ran[-1] != self.target]

    def _after(self, cluster: Cluster, plan: Plan) -> Cluster | None:
        """Return a cluster after the step that was decided; None: the server refuses it."""
        self.compared += 1
        decision = decided(plan, by_operator=cluster.way.by_operator)
        title = f"{cluster.folder} {' → '.join(cluster.ran)}"
        if decision is None:
            self.faults.append(f"{title} → {self.target}: {plan.decisions}")
            return None
        faults = self._judged(cluster, decision)
        self.faults += [f"{title} → {decision.step} → {self.target}: {fault}" for fault in faults]
        events = cluster.events
        if cluster.way.by_operator or decision.refused or decision.is_unknown:
            events = (*events, MIGRATE)
        if self.server.refused(events, decision.step, cluster.way.components):
            return None
        return cluster._replace(ran=(*cluster.ran, decision.step), events=(*events, decision.step))

    def _judged(self, cluster: Cluster, decision: Decided) -> Iterator[str]:
        components, migrated = cluster.way.components, (*cluster.events, MIGRATE)
        refused = self.server.refused(cluster.events, decision.step, components)
        afterwards = self.server.refused(migrated, decision.step, components)
        unsaid, needless = refused - decision.refused, decision.refused - refused
        if unsaid and not decision.is_unknown and not (cluster.way.by_operator and cluster.missing):
            yield f"the server refuses {unsaid}"
        if afterwards:
            yield f"the server refuses {afterwards} after a migration"
        if decision.path and not self.server.refused(migrated, self.target, components):
            yield f"one step is enough, not {decision.path}"
        if not decision.path and decision.step != self.target:
            yield f"{decision.step} is not the target"
        if MIGRATE in cluster.events:
            return  # No file says that objects were migrated: the judgement may be too careful
        if needless:
            yield f"the server takes {needless}"
        if decision.is_unknown and not unsaid:
            yield "nothing else can be refused"


@pytest.fixture(scope="module")
def real() -> Real:
    return Real(require_shared("conformance", "releases"))


@pytest.fixture(scope="module")
def decisions(real: Real) -> Decisions:
    return Decisions(real, require_shared("conformance", "releases"))


@pytest.fixture(scope="module")
def server(real: Real, decisions: Decisions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredCrds]:
    with api_servers.real(tmp_path_factory.mktemp("control-plane")) as started:
        plane = ControlPlane(started)
        yield StoredCrds(plane, real, decisions.tags)
        plane.close()


@pytest.mark.parametrize("minor", range(9))
def test_each_step_is_one_that_the_server_takes(server: StoredCrds, decisions: Decisions, minor: int) -> None:
    current = decisions.tags[minor]
    histories: dict[str, tuple[tuple[str, ...], Unknown | None, Events]] = {
        "alone": ((current,), None, (current,)),
        "shallow": ((current,), SHALLOW, server.everything(current)),
    }
    earlier = [tag for tag in decisions.tags[:minor] if not server.refused((tag,), current)]
    if earlier:
        ran = earlier[0], current
        histories["earlier"] = ran, None, ran
    clusters = [
        Cluster(f"clusters/{name}-{history}", way, *past)
        for name, way in decisions.ways.items()
        for history, past in histories.items()
    ]
    faults, compared = list[str](), 0
    for target in decisions.tags[minor + 1 :]:
        walk = Walk(decisions, server, target)
        walk.go(clusters)
        faults += walk.faults
        compared += walk.compared
    assert compared >= len(clusters) * len(decisions.tags[minor + 1 :])
    assert not faults, "\n".join(faults)
