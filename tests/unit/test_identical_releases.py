"""A release whose files are those of an older one may be genuine, so a user compares it before it is merged or moved."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pytest
import written_release

from derived import published
from flows import World, fleet, listed, manifest
from flux_upgrade import main
from flux_upgrade.artifacts.impact import PromotionImpact
from flux_upgrade.artifacts.promote import carry_out
from flux_upgrade.artifacts.promotion_plan import ConsumingClusters, plan_artifact
from flux_upgrade.artifacts.pull import pull
from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.manifests.derive import derive
from flux_upgrade.model.forge import PullRequest
from flux_upgrade.model.versions import ReleaseManifests, Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import Terms
from flux_upgrade.policy.decision import Feedback
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import EveryImage, MemoryArtifacts, MemoryCharts, MemoryHistory, MemoryTree, WrittenReleases, regenerator
from memory_forge import MemoryForge
from memory_registry import MemoryRegistry
from promotion.promoting import ADDRESS, NOW, ports, registry

FREE = Governance(policy=Policy(MaxBump.MINOR), auto_merge=MaxBump.MINOR)
COMPARE = "Compare v2.8.8 with Flux's releases first: the files of v2.8.8 are identical to those of v2.8.7"
INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata:
  name: flux
  namespace: flux-system
spec:
  distribution:
    version: 2.8.7
    registry: ghcr.io/fluxcd
"""
SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata:
  name: flux-manifests
  namespace: flux-system
spec:
  interval: 10m
  url: oci://ghcr.io/fluxcd/flux-manifests
  ref:
    tag: v2.8.7
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux
  namespace: flux-system
spec:
  interval: 10m
  path: ./
  prune: true
  sourceRef:
    kind: OCIRepository
    name: flux-manifests
"""
REMOTE = "resources:\n- github.com/fluxcd/flux2//manifests/install?ref=v2.8.7\n"
KINDS = {
    "manifest": fleet({"clusters/staging": "v2.8.7"}),
    "FluxInstance": {"clusters/staging/flux.yaml": INSTANCE.encode()},
    "flux-manifests": {"clusters/staging/flux.yaml": SOURCE.encode()},
    "remote base": {"clusters/staging/kustomization.yaml": REMOTE.encode()},
}


def releases(*, identical: bool = True) -> WrittenReleases:
    made = WrittenReleases(("v2.8.7", "v2.8.8"))
    if identical:
        made.files["v2.8.8"] = written_release.files("v2.8.7")
    return made


def pull_of(files: Mapping[str, bytes], made: WrittenReleases, governance: Governance = FREE) -> PullRequest:
    """The pull request that the first run opens."""
    forge = MemoryForge(dict(files))
    config = Config(default=Group(governance=governance))
    world = World(dict(files), config, listed(*made.files), regenerator(made), artifacts=EveryImage())
    world.history = MemoryHistory()
    world.run(forge)
    (pull,) = forge.open_pulls()
    return pull


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_an_action_and_not_merged_automatically(kind: str) -> None:
    pull = pull_of(KINDS[kind], releases())
    assert "**1 action required**" in pull.body
    assert COMPARE in pull.body
    assert not pull.is_draft
    assert pull.merges_for is None
    other = pull_of(KINDS[kind], releases(identical=False))
    assert "no action required" in other.body
    assert other.merges_for is not None


def test_it_stays_an_action_after_an_approval() -> None:
    made = releases()
    files = KINDS["manifest"]
    forge = MemoryForge(dict(files))
    world = World(dict(files), Config(default=Group(governance=FREE)), listed(*made.files), regenerator(made))
    world.history, world.asked = MemoryHistory(), world.asked._replace(approve=("v2.8.8",))
    world.run(forge)
    (pull,) = forge.open_pulls()
    assert COMPARE in pull.body
    assert pull.merges_for is None


def test_no_release_is_read_for_it() -> None:
    asked = []
    for identical in (False, True):
        made = releases(identical=identical)
        pull_of(KINDS["manifest"], made)
        asked.append(made.asked)
    assert asked[0] == asked[1]
    assert sorted(asked[0]) == ["v2.8.7", "v2.8.8"]


def test_a_release_that_was_withdrawn_is_compared_by_its_neighbor() -> None:
    made = WrittenReleases(("v2.8.6", "v2.8.8"))
    made.files["v2.8.6"] = made.files["v2.8.8"] = written_release.files("v2.8.7")
    pull = pull_of(KINDS["manifest"], made)
    assert "the files of v2.8.8 are identical to those of v2.8.6" in pull.body
    assert pull.merges_for is None


def test_what_a_registry_has_is_compared_without_its_labels() -> None:
    old = ReleaseManifests("v2.8.7", written_release.files("v2.8.7"), verified=True)
    using = regenerator(releases())
    for each in (old, old._replace(tag="v2.8.8")):
        assert derive(each.tag, published(each)).files == derive("v2.8.7", published(old)).files
        using.manifests(each.tag)
    assert using.are_identical("v2.8.7", "v2.8.8")


def run(source: Path, *argv: str) -> tuple[int, str, str]:
    out, err = io.BytesIO(), io.StringIO()
    code = main.run([*argv, f"--release-source={source}"], {}, out, err)
    return code, out.getvalue().decode(), err.getvalue()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A mirror that has Flux v2.8.7 as v2.8.8, too."""
    made = written_release.write_source(tmp_path / "releases", ("v2.8.7",))
    written_release.write_release(made, "v2.8.8", written_release.files("v2.8.7"))
    (made / "releases.json").write_text('[{"tag_name": "v2.8.8"}, {"tag_name": "v2.8.7"}]')
    return made


@pytest.mark.parametrize("kind", ["manifest", "FluxInstance", "remote base"])
def test_a_checkout_is_upgraded_and_the_report_says_it(kind: str, source: Path, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    for name, content in KINDS[kind].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    for command in (["plan"], ["plan", "--details"], ["upgrade"]):
        code, out, err = run(source, *command, str(root))
        assert code == 0, err
        assert "the files of v2.8.8 are identical to those of v2.8.7" in " ".join(out.split()), out
    assert any(b"2.8.8" in (root / name).read_bytes() for name in KINDS[kind])


def promotion(using: MemoryRegistry, made: WrittenReleases, *approve: str, to: str = "") -> list[str]:
    """Why upgrades wait after one run, and whether the tag was moved."""
    means = ports(using, made)
    planner = ManifestPlanner(means.regenerator, MemoryArtifacts(), listed(*made.files), NOW)
    context = PinContext(MemoryTree({}), means.regenerator, MemoryArtifacts(), MemoryCharts())
    pins = PinPlanner(context, listed(*made.files), NOW)
    impact = PromotionImpact(planner, pins, Evidence(context, Config(), history=MemoryHistory()))
    terms = Terms(Governance(), Feedback(approved=approve), Version(to))
    planned = plan_artifact(pull(ADDRESS, means), planner, terms, means, ConsumingClusters(impact=impact))
    outcome = carry_out(planned, means)
    assert outcome.failure is None
    waiting = [each.bump.why for each in outcome.plan.plan.upgrades if not each.approved]
    return [*waiting, *(["promoted"] if outcome.promoted else [])]


def test_the_tag_of_an_artifact_waits_for_an_approval() -> None:
    using = registry("v2.8.7")
    before = using.at(ADDRESS.tag)
    (why,) = promotion(using, releases())
    assert why.endswith("its files are identical to those of v2.8.7, so it needs approval")
    assert using.at(ADDRESS.tag) == before
    assert promotion(using, releases(), "v2.8.8") == ["promoted"]
    assert manifest("v2.8.7") not in using.files(ADDRESS.tag).values()


@pytest.mark.parametrize(("identical", "to"), [(False, ""), (True, "v2.8.8")])
def test_another_release_and_one_that_was_asked_for_are_promoted(*, identical: bool, to: str) -> None:
    assert promotion(registry("v2.8.7"), releases(identical=identical), to=to) == ["promoted"]
