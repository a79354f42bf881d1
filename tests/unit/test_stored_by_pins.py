"""A stored API version counts the same, in whatever way the release of its cluster is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from flows import World, listed
from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryArtifacts, MemoryHistory, regenerator
from written_histories import TAGS, releases

SYNC = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux-system
  namespace: flux-system
spec:
  path: ./clusters/a
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""
SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  ref:
    branch: main
  url: ssh://git@example.com/fleet
---
"""
ARTIFACT = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata:
  name: flux
  namespace: flux-system
spec:
  url: oci://ghcr.io/fluxcd/flux-manifests
  ref:
    tag: v2.6.4  # with a note
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux
  namespace: flux-system
spec:
  path: ./
  prune: true
  sourceRef:
    kind: OCIRepository
    name: flux
"""
INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata:
  name: flux
  namespace: flux-system
spec:
  distribution:
    version: "2.6.4"
    registry: ghcr.io/fluxcd
  components: [source-controller, kustomize-controller, helm-controller, notification-controller{more}]
"""
TERRAFORM = """\
resource "flux_bootstrap_git" "this" {{
  path             = "clusters/a"
  version          = "v2.6.4"
  components_extra = [{more}]
}}
"""
IMAGES = ("image-reflector-controller", "image-automation-controller")


class Way(NamedTuple):
    """A way in which the release of a cluster is written."""

    path: str
    text: str  # At v2.6.4
    number: str = "v2.6.4"  # As it is written there
    by_operator: bool = False


def kustomization(base: str) -> Way:
    return Way("clusters/a/flux-system/kustomization.yaml", f"resources:\n- {base}\n- gotk-sync.yaml\n")


WITH_IMAGES = {
    "url": kustomization("https://github.com/fluxcd/flux2/releases/download/v2.6.4/install.yaml"),
    "remote-base": kustomization("github.com/fluxcd/flux2/manifests/install?ref=v2.6.4"),
    "artifact": Way("clusters/a/flux.yaml", ARTIFACT),
    "flux-instance": Way(
        "clusters/a/flux.yaml", INSTANCE.format(more="".join(f", {name}" for name in IMAGES)), "2.6.4", by_operator=True
    ),
    "terraform": Way("main.tf", TERRAFORM.format(more=", ".join(f'"{name}"' for name in IMAGES))),
    "terraform-unknown": Way("main.tf", TERRAFORM.format(more="var.extra")),
}
WITHOUT_IMAGES = {
    "flux-instance": Way("clusters/a/flux.yaml", INSTANCE.format(more=""), "2.6.4", by_operator=True),
    "terraform": Way("main.tf", TERRAFORM.format(more="")),
}
EVERY = [
    *(pytest.param(way, id=f"{name}-with-images") for name, way in WITH_IMAGES.items()),
    *(pytest.param(way, id=name) for name, way in WITHOUT_IMAGES.items()),
]


def written_at(way: Way, tag: str) -> bytes:
    """Return the file at another release."""
    return way.text.replace(way.number, tag if way.number.startswith("v") else tag.removeprefix("v")).encode()


def plan_of(way: Way, past: tuple[str, ...] = ("v2.6.4",), missing: str = "", more: Mapping[str, str] = {}) -> Plan:
    """Plan the minor upgrade of a cluster. ``past``: the releases in the file's history."""
    revisions = [
        FileRevision(f"{number:040}", f"2024-0{number + 1}-01", written_at(way, tag)) for number, tag in enumerate(past)
    ]
    history = MemoryHistory({way.path: FileRevisions(tuple(revisions), Unknown(missing) if missing else None)})
    files = {"clusters/a/flux-system/gotk-sync.yaml": (SOURCE + SYNC).encode(), way.path: way.text.encode()}
    files |= {path: text.encode() for path, text in more.items()}
    artifacts = {
        f"ghcr.io/fluxcd/flux-manifests:{tag}": {"digest": f"sha256:{place:064}"} for place, tag in enumerate(TAGS)
    }
    world = World(
        files,
        Config(Group(governance=Governance(policy=Policy(bump=MaxBump.MINOR)))),
        listed(*TAGS),
        regenerator(releases()),
        artifacts=MemoryArtifacts(artifacts),
        history=history,
    )
    plans = [plan for group in plan_update_groups(world.gathered()) for plan in group.plans]
    return next(plan for plan in plans if plan.path == way.path)


def decided(plan: Plan) -> tuple[Upgrade | Hold, Assessment]:
    """Return the decision about the minor, and what is known of it."""
    decision = next(each for each in plan.decisions if each.bump_kind == "minor")
    impact = plan.impact_of(decision)
    assert impact is not None
    return decision, impact


@pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in WITH_IMAGES.items()])
def test_a_release_in_between_comes_first_if_the_stored_version_goes(way: Way) -> None:
    decision, impact = decided(plan_of(way))
    assert isinstance(decision, Upgrade)
    assert impact.upgrade_path == ("v2.8.8", "v2.9.4")
    assert decision.target == "v2.8.8"


@pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in WITHOUT_IMAGES.items()])
def test_one_step_is_enough_for_the_controllers_that_are_installed(way: Way) -> None:
    decision, impact = decided(plan_of(way))
    assert isinstance(decision, Upgrade)
    assert (decision.target, impact.upgrade_path) == ("v2.9.4", ())
    assert not impact.stored.refused
    assert impact.stored.unknown is None


@pytest.mark.parametrize("way", EVERY)
def test_an_earlier_release_in_the_history_ran(way: Way) -> None:
    decision, impact = decided(plan_of(way, past=("v2.5.1", "v2.6.4")))
    assert isinstance(decision, Upgrade)
    said = impact.stored.resolved if way.by_operator else impact.stored.refused
    assert ("GitRepository", "v1beta2", "v2.5.1") in [(each.kind, each.version, each.release.tag) for each in said]
    assert impact.waits_for_operator == way.by_operator
    assert not impact.is_confirmed


@pytest.mark.parametrize("way", EVERY)
def test_without_its_whole_history_older_releases_may_have_run(way: Way) -> None:
    _, impact = decided(plan_of(way, missing="the checkout is shallow"))
    assert impact.stored.unknown is not None
    assert impact.waits_for_operator == way.by_operator


@pytest.mark.parametrize("way", EVERY)
def test_flux_does_not_delete_a_crd_to_have_it_accepted(way: Way) -> None:
    sync = {
        "clusters/a/flux-system/gotk-sync.yaml": SOURCE
        + SYNC.replace("  prune: true\n", "  prune: true\n  force: true\n")
    }
    forced = way._replace(text=way.text.replace("  prune: true\n", "  prune: true\n  force: true\n"))
    decision, _ = decided(plan_of(forced, past=("v2.5.1", "v2.6.4"), more=sync))
    if way.by_operator:
        assert isinstance(decision, Upgrade)
    else:
        assert isinstance(decision, Hold)
        assert decision.reason is HoldReason.FORCE_RECREATES


@pytest.mark.parametrize(
    ("spec", "is_held"),
    [
        ("  force: ${FORCE}\n", True),
        ("  force: [true]\n", True),
        ("  force: false\n", False),
        ("  path: ${ROOT}/a\n  force: true\n", True),
        ("  path: ./apps/${NAME}\n  force: true\n", False),
    ],
)
def test_what_may_be_force_is_force(spec: str, *, is_held: bool) -> None:
    text = SYNC.replace("  path: ./clusters/a\n", "") if "path" in spec else SYNC
    sync = {"clusters/a/flux-system/gotk-sync.yaml": SOURCE + text.replace("  prune: true\n", spec)}
    decision, _ = decided(plan_of(WITH_IMAGES["url"], past=("v2.5.1", "v2.6.4"), more=sync))
    assert isinstance(decision, Hold) is is_held


def test_force_does_not_matter_where_nothing_goes() -> None:
    way = WITHOUT_IMAGES["terraform"]
    forced = SOURCE + SYNC.replace("  prune: true\n", "  prune: true\n  force: true\n")
    decision, _ = decided(plan_of(way, more={"clusters/a/flux-system/gotk-sync.yaml": forced}))
    assert isinstance(decision, Upgrade)


@pytest.mark.parametrize("value", ["false", "${MIGRATE}", "[true]"])
def test_the_operator_migrates_unless_it_is_told_not_to(value: str) -> None:
    way = WITHOUT_IMAGES["flux-instance"]
    plan = plan_of(way._replace(text=f"{way.text}  migrateResources: {value}\n"), past=("v2.5.1", "v2.6.4"))
    _, impact = decided(plan)
    assert impact.stored.refused
    assert not impact.by_operator


BASE = "base/flux.yaml"
VARIABLE = '"${MIGRATE}"'
NO_SYNC = {"clusters/a/flux-system/gotk-sync.yaml": "{}\n"}
OVER = "clusters/a/flux/kustomization.yaml"
FIELD = "spec:\n      migrateResources: false"
NAMED = "kind: FluxInstance\n    metadata:\n      name: flux"
STRATEGIC = (
    f"- patch: |\n    apiVersion: fluxcd.controlplane.io/v1\n    {NAMED}\n      namespace: flux-system\n    {FIELD}\n"
)
JSON_PATCH = "- patch: '- {op: add, path: /spec/migrateResources, value: VALUE}'\n  target:\n    kind: FluxInstance\n"
APPLYING = SYNC.replace("name: flux-system\n  namespace", "name: flux\n  namespace").replace("./clusters/a", "./base")
ON_FLUX = "".join(f"  {line}\n" for line in JSON_PATCH.splitlines())


def overlay(patches: str) -> dict[str, str]:
    """Return the files of a FluxInstance in a base, with patches over it."""
    return {"base/kustomization.yaml": "resources: [flux.yaml]\n", OVER: f"resources: [../../../base]\n{patches}"}


def in_base(more: Mapping[str, str], text: str = "") -> Assessment:
    """Return what is known of the minor upgrade of a FluxInstance in a base."""
    way = WITHOUT_IMAGES["flux-instance"]
    return decided(plan_of(Way(BASE, way.text + text, "2.6.4"), past=("v2.5.1", "v2.6.4"), more=more))[1]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(overlay(f"patches:\n{STRATEGIC}"), id="strategic"),
        pytest.param(overlay(f"patches:\n{JSON_PATCH.replace('VALUE', 'false')}"), id="json"),
        pytest.param(overlay(f"patches:\n{JSON_PATCH.replace('VALUE', VARIABLE)}"), id="variable"),
        pytest.param(
            {"clusters/a/flux.yaml": f"{APPLYING}  patches:\n{ON_FLUX.replace('VALUE', 'false')}"},
            id="kustomization-of-flux",
        ),
    ],
)
@pytest.mark.parametrize("sync", [{}, NO_SYNC])
def test_a_patch_may_turn_off_the_migration(more: Mapping[str, str], sync: Mapping[str, str]) -> None:
    impact = in_base({**more, **sync})
    assert not impact.by_operator
    assert impact.stored.refused
    assert not isinstance(impact.changes, Unknown)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(overlay("patches:\n- path: gone.yaml\n"), id="not-there"),
        pytest.param(overlay("components:\n- https://example.com/fleet//flux?ref=v1\n"), id="remote-component"),
        pytest.param(overlay("transformers: [edit.yaml]\n"), id="transformer"),
        pytest.param(overlay(f"patches:\n{JSON_PATCH.replace('/migrate', '/gone/')}"), id="patch-that-fails"),
    ],
)
@pytest.mark.parametrize("sync", [{}, NO_SYNC])
def test_what_cannot_be_built_may_turn_off_the_migration(more: Mapping[str, str], sync: Mapping[str, str]) -> None:
    impact = in_base({**more, **sync})
    assert not impact.by_operator
    assert impact.stored.refused
    assert isinstance(impact.changes, Unknown)


@pytest.mark.parametrize(
    "patches",
    [
        f"patches:\n{JSON_PATCH.replace('VALUE', 'true')}",
        "patches:\n- patch: '- {op: remove, path: /spec/gone}'\n  target:\n    kind: Deployment\n",
        "patches:\n- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: gone}\n",
    ],
)
def test_patches_that_turn_nothing_off(patches: str) -> None:
    assert in_base(overlay(patches)).by_operator
    assert in_base(
        overlay(f"patches:\n{JSON_PATCH.replace('VALUE', 'true')}"), "  migrateResources: false\n"
    ).by_operator


def test_components_that_a_patch_adds_are_installed() -> None:
    added = "- patch: '- {op: add, path: /spec/components/-, value: image-reflector-controller}'\n  target: {kind: FluxInstance}\n"
    assert in_base(overlay("")).upgrade_path == ()
    assert in_base(overlay(f"patches:\n{added}")).upgrade_path == ("v2.8.8", "v2.9.4")


def test_another_version_by_a_replacement_is_unknown() -> None:
    source = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: values}\nspec: {path: 2.5.1}\n"
    replaced = (
        "resources: [../../../base, values.yaml]\nreplacements:\n"
        "- source: {kind: Kustomization, name: values, fieldPath: spec.path}\n"
        "  targets: [{select: {kind: FluxInstance}, fieldPaths: [spec.distribution.version]}]\n"
    )
    impact = in_base({**overlay(""), OVER: replaced, "clusters/a/flux/values.yaml": source})
    assert str(impact.stored.unknown) == "a kustomization or a variable sets another version"


@pytest.mark.parametrize(
    ("before", "expected"), [("2.5.x", ["v2.5.1"]), ("~2.5.0", ["v2.5.1"]), ("2.x", []), (">=2.0.0 <2.6.0", [])]
)
def test_a_range_of_one_minor_installed_that_minor(before: str, expected: list[str]) -> None:
    text = INSTANCE.format(more="").replace("2.6.4", "2.6.x") + "  migrateResources: false\n"
    way = Way("clusters/a/flux.yaml", text, "2.6.x")
    _, impact = decided(plan_of(way, past=(before, "2.6.x")))
    assert [each.release.tag for each in impact.stored.refused if each.kind == "GitRepository"] == expected
    assert (impact.stored.unknown is None) == bool(expected)
