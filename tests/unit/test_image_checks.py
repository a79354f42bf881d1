"""Registries are asked once for the images of a release, and an image that does not exist holds it."""

from __future__ import annotations

from collections import Counter

from flows import KUSTOMIZATION, World, path_in
from flux_upgrade.clusters.ownership import remarks
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.pins.reported import single_controllers
from flux_upgrade.planning.plan import Plan
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Pending, Policy
from memory import EveryImage, MemoryArtifacts, rendered
from memory_forge import MemoryForge
from pinned import sync, workflow
from planned import decisions_of

MIRROR = "registry.example.com/mirror"
FOLDER = "clusters/a"
PENDING = [("patch", "v2.8.8"), ("minor?", "v2.9.4")]
NOT_THERE = str(HoldReason.IMAGES_MISSING)


def mirrored(*folders: str, version: str = "v2.8.7", registry: str = MIRROR) -> dict[str, bytes]:
    """Clusters with Flux from a mirror."""
    text = rendered(InstallOptions(version, registry=registry)).encode()
    files = {path_in(folder): text for folder in folders}
    return files | {f"{folder}/flux-system/kustomization.yaml": KUSTOMIZATION for folder in folders}


def images(*tags: str, registry: str = MIRROR) -> MemoryArtifacts:
    """A mirror with all images of these controllers' tags."""
    names = [f"{registry}/{name}:{tag}" for name in DEFAULT_COMPONENTS for tag in tags]
    return MemoryArtifacts({name: {"digest": "sha256:1"} for name in names})


def plans(world: World) -> dict[str, Plan]:
    """Path → plan."""
    return {plan.path: plan for team in plan_update_groups(world.gathered()) for plan in team.plans}


def test_a_draft_waits_for_its_images_as_well() -> None:
    (plan,) = plans(World(mirrored(FOLDER), artifacts=images("v1.8.8", "v1.9.4"))).values()
    assert decisions_of(plan) == PENDING
    (plan,) = plans(World(mirrored(FOLDER), artifacts=images("v1.8.8"))).values()
    assert decisions_of(plan) == [("patch", "v2.8.8"), (NOT_THERE, "v2.9.4")]
    assert plan.holds[0].bump_kind is BumpKind.MINOR
    (plan,) = plans(World(mirrored(FOLDER), artifacts=images("v1.9.4"))).values()
    assert decisions_of(plan) == [(NOT_THERE, "v2.8.8"), ("minor?", "v2.9.4")]


def test_what_is_not_proposed_is_not_asked_for() -> None:
    artifacts = images("v1.8.8")
    policy = Policy(pending=Pending.SUMMARY)
    (plan,) = plans(
        World(mirrored(FOLDER), Config(Group(governance=Governance(policy=policy))), artifacts=artifacts)
    ).values()
    assert decisions_of(plan) == [("patch", "v2.8.8"), ("needs-approval", "v2.9.4")]
    assert all(name.endswith(":v1.8.8") for name in artifacts.asked)


def test_each_group_says_whether_images_are_looked_for() -> None:
    group = Group("far", ("clusters/far/",), Governance(check_images=False))
    world = World(mirrored("clusters/far", "clusters/near"), Config(groups=(group,)), artifacts=images())
    found = plans(world)
    assert decisions_of(found[path_in("clusters/far")]) == PENDING
    assert decisions_of(found[path_in("clusters/near")]) == [(NOT_THERE, "v2.8.8"), (NOT_THERE, "v2.9.4")]


def test_no_more_is_asked_for_than_a_controller_and_a_target_each() -> None:
    artifacts = images("v1.8.8", "v1.9.4")
    plans(World(mirrored(*(f"clusters/{each:02}" for each in range(30))), artifacts=artifacts))
    asked = Counter(artifacts.asked)
    assert len(asked) == 2 * len(DEFAULT_COMPONENTS)
    assert set(asked.values()) == {1}


def test_what_flux_publishes_is_never_asked_for() -> None:
    artifacts = MemoryArtifacts()
    found = plans(World(mirrored(FOLDER, registry="ghcr.io/fluxcd"), artifacts=artifacts))
    assert decisions_of(found[path_in(FOLDER)]) == PENDING
    assert artifacts.asked == []


def test_an_open_pull_request_outlasts_a_registry_that_cannot_be_asked() -> None:
    files = mirrored(FOLDER)
    config = Config(Group(governance=Governance(policy=Policy(MaxBump.MINOR))))
    forge = MemoryForge(dict(files))
    World(files, config, artifacts=EveryImage()).run(forge)
    (number,) = [pull.number for pull in forge.open_pulls()]
    for artifacts in (MemoryArtifacts(unreachable=[MIRROR]), MemoryArtifacts()):
        World(files, config, artifacts=artifacts).run(forge)
        assert [pull.number for pull in forge.open_pulls()] == [number]


BESIDE = b"""\
resources:
- gotk-components.yaml
images:
- name: ghcr.io/fluxcd/source-controller
  newTag: v1.8.7
- name: ghcr.io/fluxcd/helm-controller
  digest: sha256:12
- name: ghcr.io/acme/app
  newTag: v1.0.0
"""


def test_controllers_that_are_pinned_beside_a_manifest_are_named() -> None:
    files = {
        **mirrored(FOLDER, "clusters/b", registry="ghcr.io/fluxcd"),
        f"{FOLDER}/flux-system/kustomization.yaml": BESIDE,
        f"{FOLDER}/sync.yaml": sync(FOLDER).encode(),
        ".github/workflows/x.yaml": workflow().encode(),
    }
    named = World(files).gathered().reported_only
    assert {member.pin.kind for member in named} == {single_controllers.NAME}
    (remark,) = remarks.remarks([path_in(FOLDER), path_in(FOLDER)], named)
    assert remark.endswith(
        "`clusters/a/flux-system/kustomization.yaml:5` (`images, source-controller, newTag: v1.8.7`); "
        "`clusters/a/flux-system/kustomization.yaml:7` (`images, helm-controller, digest: sha256:12`)."
    )
    assert remarks.remarks([path_in("clusters/b")], named) == ()
    assert remarks.remarks([], named) == ()


def test_the_pins_of_a_cluster_wait_for_its_images() -> None:
    base = b"kind: Kustomization\nresources:\n- https://github.com/fluxcd/flux2//manifests/install?ref=v2.8.7\n"
    path_of_base = f"{FOLDER}/other/kustomization.yaml"
    files = {**mirrored(FOLDER), path_of_base: base}
    found = plans(World(files, artifacts=images()))
    assert decisions_of(found[path_in(FOLDER)])[0] == (NOT_THERE, "v2.8.8")
    waiting = found[path_of_base]
    assert not waiting.upgrades
    there = plans(World(files, artifacts=images("v1.8.8")))
    assert there[path_of_base].upgrades
