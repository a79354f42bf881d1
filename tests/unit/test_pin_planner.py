"""Version references follow their cluster, all of them or none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from flows import World
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.errors import SourceUnavailable, UnsupportedPin, WriteFailed
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, UpgradeRequest, files_after
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.preflight import JOBS_OWN
from flux_upgrade.planning.write_tree import publish
from flux_upgrade.policy.decision import BumpKind, Feedback, Rejection
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.pullrequests.apply import question_of
from memory import MemoryArtifacts, MemoryTree
from memory_forge import MemoryForge
from pinned import artifact, base, instance, terraform, tools, vendored, workflow
from planned import decisions_of

A, B = "clusters/a/flux-system/gotk-components.yaml", "clusters/b/flux-system/gotk-components.yaml"
BASE, TF = "clusters/a/base/kustomization.yaml", "infra/a.tf"
MINOR = Policy(bump=MaxBump.MINOR)
CLOSED = Rejection(BumpKind.MINOR, Version("v2.9.3"), HoldReason.CLOSED_BY_HUMAN, "2026-08-01T00:00:00Z", "#1")
PINNED = f"v2.8.7@sha256:{'1' * 64}"


def with_kustomizations(files: Mapping[str, str]) -> dict[str, bytes]:
    """With the kustomizations that lead to the manifests."""
    beside = {path.replace("gotk-components", "kustomization"): "resources: [gotk-components.yaml]\n" for path in files}
    lists = {path: text for path, text in beside.items() if path not in files}
    return {path: text.encode() for path, text in {**lists, **files}.items()}


def world(files: Mapping[str, str], policy: Policy = MINOR, **given: object) -> World:
    config = Config(default=Group(governance=Governance(policy=policy)))
    encoded = with_kustomizations(files)
    found = World(encoded, config)
    for name, value in given.items():
        setattr(found, name, value)
    return found


def plans(files: Mapping[str, str], policy: Policy = MINOR, **given: object) -> dict[str, Plan]:
    teams = plan_update_groups(world(files, policy, **given).gathered())
    return {plan.path: plan for team in teams for plan in team.plans}


@pytest.mark.parametrize(
    ("files", "policy", "expected"),
    [
        pytest.param(
            {A: vendored(), BASE: base(), TF: terraform("clusters/a")},
            Policy(),
            {path: [("patch", "v2.8.8"), ("minor?", "v2.9.4")] for path in (A, BASE, TF)},
            id="all-go-where-the-manifest-goes",
        ),
        pytest.param(
            {A: vendored("v2.9.4"), BASE: base("v2.8.7")},
            Policy(),
            {A: [("up-to-date", "")], BASE: [("patch", "v2.9.4")]},
            id="who-lags-behind-catches-up-without-approval",
        ),
        pytest.param(
            {A: vendored("v2.9.4"), "clusters/a/f.yaml": instance("2.8.7")},
            Policy(),
            {A: [("up-to-date", "")], "clusters/a/f.yaml": [("patch", "v2.8.8"), ("minor?", "v2.9.4")]},
            id="what-runs-an-older-minor-needs-approval",
        ),
        pytest.param(
            {A: vendored("v2.9.3"), "clusters/a/f.yaml": instance("2.8.7")},
            Policy(bump=MaxBump.NONE),
            {A: [("patch?", "v2.9.4")], "clusters/a/f.yaml": [("patch?", "v2.8.8"), ("minor?", "v2.9.4")]},
            id="what-runs-an-older-minor-goes-no-farther-than-its-cluster",
        ),
        pytest.param(
            {A: vendored(), BASE: base("v2.9.3")},
            Policy(),
            {A: [("patch", "v2.8.8"), ("minor?", "v2.9.4")], BASE: [("minor?", "v2.9.4")]},
            id="who-is-ahead-is-not-taken-back",
        ),
        pytest.param(
            {A: vendored(), BASE: base("v2.9.4")},
            Policy(),
            {A: [("patch", "v2.8.8"), ("minor?", "v2.9.4")], BASE: [("drift", "")]},
            id="who-is-there-already-waits",
        ),
        pytest.param(
            {"a.yaml": instance("2.8.x")}, Policy(), {"a.yaml": [("minor?", "v2.9.4")]}, id="a-range-is-raised"
        ),
        pytest.param({"a.yaml": instance("2.x")}, Policy(), {"a.yaml": [("up-to-date", "")]}, id="a-range-admits-it"),
        pytest.param(
            {A: vendored(), "clusters/a/f.yaml": instance("2.8.x")},
            Policy(),
            {A: [("patch", "v2.8.8"), ("minor?", "v2.9.4")], "clusters/a/f.yaml": [("minor?", "v2.9.4")]},
            id="a-range-beside-a-manifest-takes-the-patch-by-itself",
        ),
        pytest.param(
            {A: vendored(), TF: terraform("clusters/a", "var.flux")},
            MINOR,
            {A: [("owned-by-terraform", "v2.9.4")], TF: [("unsupported-pin", "")]},
            id="a-variable-holds-the-set",
        ),
        pytest.param(
            {A: vendored(), BASE: base("v2.8.8"), "elsewhere/a.tf": terraform("${var.cluster}")},
            Policy(),
            {
                A: [("owned-by-terraform", "v2.8.8"), ("owned-by-terraform", "v2.9.4")],
                BASE: [("cluster-held", "v2.9.4")],
                "elsewhere/a.tf": [("cluster-held", "v2.8.8"), ("cluster-held", "v2.9.4")],
            },
            id="what-terraform-may-write-holds-every-bump",
        ),
        pytest.param(
            {A: vendored(), BASE: base("main")},
            MINOR,
            {A: [("minor", "v2.9.4")], BASE: [("floating", "")]},
            id="what-floats-holds-nobody",
        ),
        pytest.param(
            {A: vendored(), "clusters/a/f.yaml": instance("${FLUX}")},
            MINOR,
            {A: [("cluster-held", "v2.9.4")], "clusters/a/f.yaml": [("unsupported-pin", "")]},
            id="an-unknown-version-holds-the-set",
        ),
        pytest.param(
            {A: vendored(), ".tool-versions": tools(), ".github/workflows/x.yaml": workflow("${{ env.FLUX }}")},
            MINOR,
            {
                A: [("minor", "v2.9.4")],
                ".tool-versions": [("minor", "v2.9.4")],
                ".github/workflows/x.yaml": [("unsupported-pin", "")],
            },
            id="a-tool-of-an-unknown-version-holds-no-cluster",
        ),
        pytest.param(
            {A: vendored("v2.9.4"), ".tool-versions": tools("2.8.8")},
            MINOR,
            {A: [("up-to-date", "")], ".tool-versions": [("up-to-date", "")]},
            id="a-tool-within-one-minor-is-left-alone",
        ),
        pytest.param(
            {".tool-versions": tools()},
            Policy(),
            {".tool-versions": [("patch", "v2.8.8"), ("minor?", "v2.9.4")]},
            id="tools-alone",
        ),
    ],
)
def test_a_cluster_is_decided_once(
    files: Mapping[str, str], policy: Policy, expected: Mapping[str, list[tuple[str, str]]]
) -> None:
    assert {path: decisions_of(plan) for path, plan in plans(files, policy).items()} == expected


@pytest.mark.parametrize(
    ("one", "two", "tool", "expected"),
    [
        pytest.param("v2.9.4", "v2.9.4", "2.9.3", [("patch", "v2.9.4")], id="to-the-clusters"),
        pytest.param("v2.8.8", "v2.9.4", "2.8.7", [("minor", "v2.9.4")], id="to-the-newest-within-one-minor"),
        pytest.param("v2.8.8", "v2.9.4", "2.9.4", [("up-to-date", "")], id="it-is-there"),
    ],
)
def test_a_tool_of_several_clusters_goes_to_the_newest_that_it_may(
    one: str, two: str, tool: str, expected: list[tuple[str, str]]
) -> None:
    files = {A: vendored(one), B: vendored(two), ".tool-versions": tools(tool)}
    assert decisions_of(plans(files, Policy(bump=MaxBump.NONE))[".tool-versions"]) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(Feedback(rejections=(CLOSED,)), [("closed-by-human", "v2.9.3")], id="another-patch-of-it"),
        pytest.param(Feedback((CLOSED,), ("2.9",)), [("minor", "v2.9.4")], id="approved-all-the-same"),
        pytest.param(
            Feedback(rejections=(CLOSED._replace(target=Version("v2.10.0")),)),
            [("minor", Version("v2.9.4"))],
            id="else",
        ),
    ],
)
def test_a_tool_that_was_refused_stays_away(answers: Feedback, expected: list[tuple[str, str]]) -> None:
    found = world({A: vendored("v2.8.8"), B: vendored("v2.9.4"), ".tool-versions": tools("2.8.7")})
    gathered = found.gathered()
    pin = next(
        member for team in gathered.update_groups for member in team.members if member.path == ".tool-versions"
    ).pin
    planner = PinPlanner(gathered.pin_context, gathered.releases, gathered.now)
    subjected = PlannedTarget(pin, pin.path, Terms(feedback=answers))
    assert decisions_of(planner.plan(subjected, served={"a": Version("v2.8.8"), "b": Version("v2.9.4")})) == expected


def test_a_tool_knows_what_is_written_beside_it() -> None:
    files = {A: vendored(), B: vendored(), ".tool-versions": tools()}
    assert decisions_of(plans(files)[".tool-versions"]) == [("minor", "v2.9.4")]


def test_asked_for_a_release_every_pin_goes_there() -> None:
    files = {A: vendored(), BASE: base("v2.9.3"), ".tool-versions": tools("2.9.4")}
    found = plans(files, asked=UpgradeRequest(to=Version("v2.9.4")))
    assert [decisions_of(plan) for plan in found.values()] == [
        [("minor", "v2.9.4")],
        [("patch", "v2.9.4")],
        [("up-to-date", "")],
    ]


def test_a_registry_that_cannot_be_reached_holds_the_set() -> None:
    files = {A: vendored(), "clusters/a/oci.yaml": artifact(PINNED)}
    found = plans(files, artifacts=MemoryArtifacts(unreachable=["ghcr.io"]))
    hold = found["clusters/a/oci.yaml"].holds[0]
    assert (hold.reason, hold.error) == (HoldReason.SOURCE_UNAVAILABLE, SourceUnavailable)
    assert decisions_of(found[A]) == [("cluster-held", "v2.9.4")]


def test_a_digest_of_another_tag_holds_the_set() -> None:
    digests = {
        f"ghcr.io/fluxcd/flux-manifests:{tag}": {"digest": f"sha256:{digit * 64}"}
        for tag, digit in (("v2.8.7", "2"), ("v2.9.4", "3"))
    }
    files = {A: vendored(), "clusters/a/oci.yaml": artifact(PINNED)}
    found = plans(files, artifacts=MemoryArtifacts(digests))
    hold = found["clusters/a/oci.yaml"].holds[0]
    assert (hold.reason, hold.error) == (HoldReason.UNSUPPORTED_PIN, UnsupportedPin)
    assert decisions_of(found[A]) == [("cluster-held", "v2.9.4")]


class TreeWithReadOnlyFile(MemoryTree):
    """A tree in which one file cannot be written."""

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        if path == BASE:
            raise WriteFailed("the disk is full")
        super().write(path, content, old)


def test_half_a_set_is_not_written() -> None:
    files = with_kustomizations({A: vendored(), BASE: base(), B: vendored()})
    tree = TreeWithReadOnlyFile(files)
    teams = plan_update_groups(World(files, Config(default=Group(governance=Governance(policy=MINOR)))).gathered())
    done = list(publish((each for team in teams for each in team.sets), tree))
    assert {path for path, content in tree.files.items() if content != files[path]} == {B}
    assert {outcome.plan.path: outcome.written for outcome in done} == {A: False, BASE: False, B: True}
    assert all(outcome.failure for outcome in done if outcome.plan.path != B)


def test_pins_of_one_file_are_edited_together() -> None:
    path = "clusters/a/flux.yaml"
    text = f"{instance('2.8.7')}---\n{artifact('v2.8.7')}"
    digests = MemoryArtifacts({"ghcr.io/fluxcd/flux-manifests:v2.9.4": {"digest": f"sha256:{'1' * 64}"}})
    teams = plan_update_groups(world({path: text}, artifacts=digests).gathered())
    upgrades = [(plan, plan.approved) for team in teams for plan in team.plans]
    after = files_after((plan, upgrade) for plan, upgrade in upgrades if upgrade)
    assert after == {path: f"{instance('2.9.4')}---\n{artifact('v2.9.4')}".encode()}
    tree = MemoryTree({path: text.encode()})
    assert all(each.written for each in publish((each for team in teams for each in team.sets), tree))
    assert tree.files == after


@pytest.mark.parametrize(("viewer", "is_held"), [(JOBS_OWN, True), ("octocat", False)])
def test_a_workflow_is_not_changed_with_a_jobs_own_token(viewer: str, *, is_held: bool) -> None:
    workflows = ".github/workflows/x.yaml"
    found = world({A: vendored("v2.8.8"), workflows: workflow()})
    gathered = found.gathered()
    repository = MemoryForge(found.files).fetch(question_of(gathered))._replace(viewer=viewer)
    made = {plan.path: plan for team in plan_update_groups(gathered, repository) for plan in team.plans}
    reasons = [hold.reason for hold in made[workflows].holds]
    assert (HoldReason.WORKFLOW_PERMISSION in reasons) is is_held
    assert made[A].approved is not None, "the cluster does not wait for its tools"
