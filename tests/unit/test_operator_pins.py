"""The version of the flux-operator is updated with its cluster, and never ahead of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from flows import World, listed
from flux_upgrade.clusters.groups import drift_of
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.errors import ReleaseNotFound
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.objects.operator_releases import lowest_with
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, UpgradeRequest, files_after
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.proposal import ProposalContext
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.pullrequests.propose import proposals_of
from flux_upgrade.pullrequests.text.view import View
from memory import MemoryArtifacts
from pinned import base, instance, sync, tools, vendored
from planned import decisions_of

A = "clusters/a/flux-system/gotk-components.yaml"
FLUX, CHART, BASE = "clusters/a/flux.yaml", "clusters/a/operator.yaml", "clusters/a/base/kustomization.yaml"
MANIFESTS = "ghcr.io/controlplaneio-fluxcd/flux-operator-manifests"
KNOWN = {"v0.45.0": ["v2.8.7"], "v0.46.0": ["v2.8.7", "v2.8.8"], "v0.57.0": ["v2.8.7", "v2.8.8", "v2.9.3"]}
KNOWN["v0.58.0"] = [*KNOWN["v0.57.0"], "v2.9.4"]
NONE, PATCH, MINOR = (Policy(bump=bump) for bump in (MaxBump.NONE, MaxBump.PATCH, MaxBump.MINOR))
BOTH = [("patch", "v2.8.8"), ("minor?", "v2.9.4")]


def chart(version: str = "0.45.0") -> str:
    """A HelmRelease of the operator's chart."""
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: flux-operator\n"
        f"spec:\n  chart:\n    spec:\n      chart: flux-operator\n      version: {version}\n"
    )


def frozen(version: str, operator: str = "v0.45.0", path: str = "") -> str:
    """A FluxInstance with an artifact."""
    registry = "    registry: ghcr.io/fluxcd\n"
    return instance(version, path).replace(registry, f"{registry}    artifact: oci://{MANIFESTS}:{operator}\n")


def manifests(known: Mapping[str, Sequence[str]] = KNOWN) -> MemoryArtifacts:
    return MemoryArtifacts(
        {
            f"{MANIFESTS}:{tag}": {
                "digest": f"sha256:{at:064}",
                "files": [f"flux/{each}/source-controller.yaml" for each in flux],
            }
            for at, (tag, flux) in enumerate(known.items())
        }
    )


def world(files: Mapping[str, str], policy: Policy = PATCH, **given: object) -> World:
    beside = {
        path.replace("gotk-components", "kustomization"): "resources: [gotk-components.yaml]\n"
        for path in files
        if "gotk-components" in path
    }
    encoded = {path: text.encode() for path, text in {**beside, **files}.items()}
    found = World(
        encoded, Config(default=Group(governance=Governance(policy=policy)), moves_operator=True), artifacts=manifests()
    )
    for name, value in given.items():
        setattr(found, name, value)
    return found


def teams(files: Mapping[str, str], policy: Policy = PATCH, **given: object) -> tuple[UpdateGroupPlan, ...]:
    return plan_update_groups(world(files, policy, **given).gathered())


def by_place(found: Sequence[UpdateGroupPlan]) -> dict[str, Plan]:
    """Path, and kind where it is the operator's own pin → plan."""
    return {
        plan.path + (" operator" if plan.pin.kind == "flux-operator" else ""): plan
        for team in found
        for plan in team.plans
    }


OPERATOR = f"{CHART} operator"
ARTIFACT = f"{FLUX} operator"


@pytest.mark.parametrize(
    ("files", "policy", "expected"),
    [
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart()}, PATCH, {FLUX: BOTH, OPERATOR: BOTH}, id="it-goes-along"
        ),
        pytest.param({A: vendored(), CHART: chart()}, PATCH, {A: BOTH, OPERATOR: BOTH}, id="with-a-manifest-as-well"),
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart("0.46.0")},
            PATCH,
            {FLUX: BOTH, OPERATOR: [("minor?", "v2.9.4")]},
            id="a-patch-that-it-knows-leaves-it-alone",
        ),
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart("0.58.0")},
            PATCH,
            {FLUX: BOTH, OPERATOR: [("up-to-date", "")]},
            id="so-does-everything-that-it-knows",
        ),
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart("0.x")},
            PATCH,
            {FLUX: BOTH, OPERATOR: [("up-to-date", "")]},
            id="a-range-of-its-own-takes-it-by-itself",
        ),
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart("")},
            PATCH,
            {FLUX: BOTH, OPERATOR: [("floating", "")]},
            id="what-is-not-pinned-holds-nobody",
        ),
        pytest.param(
            {FLUX: instance("2.9.4"), CHART: chart()},
            PATCH,
            {FLUX: [("up-to-date", "")], OPERATOR: [("patch", "v2.9.4")]},
            id="it-catches-up",
        ),
        pytest.param({CHART: chart()}, MINOR, {OPERATOR: [("follows", "")]}, id="it-never-leads"),
        pytest.param(
            {FLUX: instance("2.9.4"), CHART: chart("${OPERATOR}")},
            MINOR,
            {FLUX: [("up-to-date", "")], OPERATOR: [("unsupported-pin", "")]},
            id="an-unknown-version",
        ),
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart("${OPERATOR}")},
            MINOR,
            {FLUX: [("cluster-held", "v2.9.4")], OPERATOR: [("unsupported-pin", "")]},
            id="an-unknown-version-holds-the-cluster",
        ),
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart(), BASE: base("${FLUX}")},
            MINOR,
            {
                FLUX: [("cluster-held", "v2.9.4")],
                BASE: [("unsupported-pin", "")],
                OPERATOR: [("cluster-held", "v2.9.4")],
            },
            id="and-the-other-way-round",
        ),
        pytest.param(
            {FLUX: frozen("2.8.7")},
            MINOR,
            {FLUX: [("minor", "v2.9.4")], ARTIFACT: [("minor", "v2.9.4")]},
            id="an-artifact-moves-with-the-version",
        ),
        pytest.param(
            {FLUX: frozen("2.8.x")},
            MINOR,
            {FLUX: [("minor", "v2.9.4")], ARTIFACT: [("minor", "v2.9.4")]},
            id="and-with-a-series",
        ),
        pytest.param(
            {FLUX: frozen("2.x")},
            PATCH,
            {FLUX: [("up-to-date", ""), ("up-to-date", "")], ARTIFACT: BOTH},
            id="it-alone-takes-a-frozen-range-further",
        ),
        pytest.param(
            {FLUX: frozen("2.x"), CHART: chart("0.58.0")},
            PATCH,
            {FLUX: [("up-to-date", ""), ("up-to-date", "")], ARTIFACT: BOTH, OPERATOR: [("up-to-date", "")]},
            id="a-later-operator-beside-it-stays",
        ),
        pytest.param(
            {FLUX: instance("2.x"), CHART: chart()},
            PATCH,
            {FLUX: [("up-to-date", ""), ("up-to-date", "")], OPERATOR: BOTH},
            id="the-policy-decides-what-a-range-may-take",
        ),
        pytest.param(
            {FLUX: instance("2.x"), CHART: chart()},
            NONE,
            {FLUX: [("up-to-date", ""), ("up-to-date", "")], OPERATOR: [("patch?", "v2.8.8"), ("minor?", "v2.9.4")]},
            id="whatever-the-policy",
        ),
        pytest.param(
            {FLUX: instance("2.9.x"), CHART: chart()},
            NONE,
            {FLUX: [("up-to-date", "")], OPERATOR: [("patch", "v2.9.4")]},
            id="a-range-without-anything-that-it-knows",
        ),
    ],
)
def test_it_has_to_know_what_its_cluster_goes_to(
    files: Mapping[str, str], policy: Policy, expected: Mapping[str, list[tuple[str, str]]]
) -> None:
    found = teams(files, policy)
    assert {place: decisions_of(plan) for place, plan in by_place(found).items()} == expected
    assert not any(drift_of(cluster) for team in found for cluster in team.update_group.clusters)


def test_unasked_it_is_named_and_nothing_waits_for_it() -> None:
    found = world(
        {FLUX: frozen("2.8.7"), CHART: chart("${OPERATOR}")},
        config=Config(default=Group(governance=Governance(policy=MINOR))),
    )
    gathered = found.gathered()
    assert [member.path for member in gathered.reported_only] == [CHART, FLUX]
    (plan,) = (plan for team in plan_update_groups(gathered) for plan in team.plans)
    assert decisions_of(plan) == [("unsupported-pin", "v2.9.4")]
    assert found.artifacts.asked == [f"{MANIFESTS}:v0.45.0"]


def test_what_is_written_is_the_lowest_release_that_knows_it() -> None:
    plans = by_place(teams({FLUX: frozen("2.8.x"), CHART: chart()}, MINOR))
    after = files_after((plan, plan.upgrades[0]) for plan in plans.values())
    assert after == {FLUX: frozen("2.9.x", "v0.58.0").encode(), CHART: chart("0.58.0").encode()}


def test_one_pull_request_holds_all_of_it_and_says_what_flux_is_at() -> None:
    found = world({FLUX: instance("2.8.8"), CHART: chart()}, MINOR)
    (team,) = plan_update_groups(found.gathered())
    proposals = proposals_of(team, found.config, ())
    assert [plan.path for plan, _ in proposals[BumpKind.MINOR].upgrades] == [FLUX, CHART]
    assert View(proposals[BumpKind.MINOR], ProposalContext(found.releases)).current == ("v2.8.8",)
    alone = world({FLUX: instance("2.x"), CHART: chart()}, MINOR)
    (team,) = plan_update_groups(alone.gathered())
    (proposal,) = proposals_of(team, alone.config, ()).values()
    assert View(proposal, ProposalContext(alone.releases)).current == ("v2.8.7",)


def test_what_no_release_knows_yet_holds_the_cluster() -> None:
    known = {tag: flux for tag, flux in KNOWN.items() if tag != "v0.58.0"}
    plans = by_place(teams({FLUX: instance("2.8.7"), CHART: chart()}, MINOR, artifacts=manifests(known)))
    assert decisions_of(plans[FLUX]) == [("cluster-held", "v2.9.4")]
    (hold,) = plans[OPERATOR].holds
    assert (hold.reason, hold.target, hold.error) == (HoldReason.UNSUPPORTED_RELEASE, "v2.9.4", None)


def test_a_registry_that_cannot_be_reached_holds_the_cluster() -> None:
    nothing = MemoryArtifacts(unreachable=["ghcr.io"])
    plans = by_place(teams({FLUX: instance("2.8.7"), "infra/operator.yaml": chart()}, MINOR, artifacts=nothing))
    assert decisions_of(plans[FLUX]) == [("cluster-held", "v2.9.4")]
    operator = plans["infra/operator.yaml operator"]
    assert decisions_of(operator) == [("source-unavailable", "v2.8.7"), ("source-unavailable", "v2.9.4")]
    assert "Flux v2.9.4 needs the flux-operator v0.58.0 or later" in operator.holds[1].detail
    assert "upgrade the flux-operator to v0.58.0 or later yourself" in operator.holds[1].hint


def test_a_range_is_at_what_the_operator_includes() -> None:
    for files, at in (({CHART: chart()}, "v2.8.7"), ({CHART: chart("0.58.0")}, "v2.9.4"), ({}, "v2.9.4")):
        assert by_place(teams({FLUX: instance("2.x"), **files}))[FLUX].pin.version == at
    unlisted = manifests({"v0.45.0": ["v2.8.3"], "v0.58.0": ["v2.8.3", "v2.9.4"]})
    files = {FLUX: instance("2.x"), CHART: chart()}
    assert by_place(teams(files, artifacts=unlisted))[FLUX].pin.version == "v2.8.3"


def test_a_registry_that_cannot_be_reached_holds_nothing_that_the_operator_includes() -> None:
    nothing = MemoryArtifacts(unreachable=["ghcr.io"])
    plans = by_place(teams({FLUX: instance("2.8.7"), CHART: chart("0.58.1")}, MINOR, artifacts=nothing))
    assert decisions_of(plans[FLUX]) == [("minor", "v2.9.4")]
    assert decisions_of(plans[OPERATOR]) == [("up-to-date", "")]
    newer = by_place(teams({FLUX: instance("2.8.7"), CHART: chart("0.99.0")}, MINOR, artifacts=nothing))
    assert decisions_of(newer[OPERATOR]) == [("source-unavailable", "")], "only the registry knows what it includes"


def test_more_than_was_decided_about_is_held_where_a_range_would_take_it() -> None:
    known = {"v0.45.0": ["v2.8.7"], "v0.58.0": KNOWN["v0.58.0"]}
    for place, files in ((ARTIFACT, {FLUX: frozen("2.x")}), (OPERATOR, {FLUX: instance("2.x"), CHART: chart()})):
        plan = by_place(teams(files, artifacts=manifests(known)))[place]
        assert decisions_of(plan) == [("unsupported-pin", "v2.8.8"), ("minor?", "v2.9.4")]
        assert (plan.holds[0].error, "also supports v2.9.4" in plan.holds[0].detail) == (None, True)
    exact = by_place(teams({FLUX: frozen("2.8.7")}, artifacts=manifests(known)))
    assert decisions_of(exact[ARTIFACT]) == BOTH, "one release is all that is taken"


@pytest.mark.parametrize(
    ("files", "to", "expected"),
    [
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart("0.57.0")},
            "v2.8.8",
            {FLUX: [("patch", "v2.8.8")], OPERATOR: [("up-to-date", "")]},
            id="it-is-not-taken-back",
        ),
        pytest.param(
            {FLUX: instance("2.8.7"), CHART: chart()},
            "v2.9.4",
            {FLUX: [("minor", "v2.9.4")], OPERATOR: [("minor", "v2.9.4")]},
            id="it-goes-along",
        ),
        pytest.param(
            {FLUX: instance("2.9.4"), CHART: chart()},
            "v2.9.4",
            {FLUX: [("up-to-date", "")], OPERATOR: [("patch", "v2.9.4")]},
            id="it-catches-up",
        ),
        pytest.param(
            {FLUX: frozen("2.x")},
            "v2.9.4",
            {FLUX: [("up-to-date", "")], ARTIFACT: [("minor", "v2.9.4")]},
            id="it-takes-a-range-there",
        ),
        pytest.param(
            {FLUX: instance("2.9.4"), CHART: chart()},
            "v2.8.8",
            {FLUX: [("downgrade", "")], OPERATOR: [("up-to-date", "")]},
            id="it-stays-where-flux-does",
        ),
    ],
)
def test_asked_for_a_release_it_has_to_know_that(
    files: Mapping[str, str], to: str, expected: Mapping[str, list[tuple[str, str]]]
) -> None:
    plans = by_place(teams(files, asked=UpgradeRequest(to=Version(to))))
    assert {place: decisions_of(plan) for place, plan in plans.items()} == expected


def test_it_waits_with_what_it_does_not_know() -> None:
    policy = Policy(bump=MaxBump.PATCH, minor_cool_down=PATCH.minor_cool_down)
    releases = tuple(
        each._replace(published_at="2026-08-31T00:00:00Z" if each.tag >= Version("v2.9.0") else "2026-01-01T00:00:00Z")
        for each in listed("v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")
    )
    plans = by_place(teams({FLUX: instance("2.8.8"), CHART: chart("0.46.0")}, policy, releases=releases))
    assert [hold.reason for hold in plans[FLUX].holds] == [HoldReason.COOLING_DOWN]
    assert decisions_of(plans[OPERATOR]) == [("follows", "")]


def test_an_artifact_in_another_file_than_the_version_holds_both() -> None:
    files = {
        "clusters/a/flux.yaml": (
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: flux-instance\n"
            "spec:\n  chartRef:\n    kind: OCIRepository\n    name: flux-instance\n"
            "  valuesFrom:\n  - kind: ConfigMap\n    name: values\n"
            "  values:\n    instance:\n      distribution:\n        version: 2.8.7\n"
        ),
        "clusters/a/kustomization.yaml": "configMapGenerator:\n- name: values\n  files: [values.yaml]\n"
        "generatorOptions: {disableNameSuffixHash: true}\n",
        "clusters/a/values.yaml": f"instance:\n  distribution:\n    artifact: oci://{MANIFESTS}:v0.45.0\n",
    }
    plans = by_place(teams(files, MINOR))
    assert decisions_of(plans[FLUX]) == [("unsupported-pin", "v2.9.4")]
    assert decisions_of(plans["clusters/a/values.yaml operator"]) == [("follows", "")]


def test_few_releases_are_looked_into_for_the_lowest() -> None:
    newest = {f"v0.{minor}.0": ["v2.8.7", *(["v2.9.4"] if minor > 36 else [])] for minor in range(100)}
    artifacts = manifests({**newest, "v0.37.1-rc.1": ["v2.9.4"], "latest": ["v2.9.4"], "v0.36.1": []})
    assert lowest_with(MANIFESTS, "v0.5.0", "v2.9.4", artifacts) == "v0.37.0"
    assert len(artifacts.asked) <= 1 + 7, "the tags, and the logarithm of their number"
    assert lowest_with(MANIFESTS, "v0.50.0", "v2.9.4", artifacts) == "v0.51.0", "never below its own"
    with pytest.raises(ReleaseNotFound, match=r"after v0\.99\.0"):
        lowest_with(MANIFESTS, "v0.99.0", "v2.9.4", artifacts)


APPS = "kubernetes/apps/flux-system/flux-operator/app/release.yaml"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {
                "kubernetes/apps/flux-system/flux-instance/app/flux.yaml": instance(path="kubernetes/cluster"),
                "kubernetes/cluster/apps.yaml": sync("kubernetes/apps"),
                "kubernetes/apps/flux-system/flux-operator/ks.yaml": sync(APPS.rpartition("/")[0]),
                APPS: chart(),
            },
            {"kubernetes/cluster": 2},
            id="by-the-one-cluster-around",
        ),
        pytest.param(
            {"clusters/a/flux.yaml": instance(), "clusters/b/flux.yaml": instance(), "infra/o.yaml": chart()},
            {"clusters/a": 1, "clusters/b": 1, "infra": 1},
            id="of-no-single-one",
        ),
        pytest.param(
            {
                "clusters/a/flux.yaml": instance(),
                "clusters/b/flux.yaml": instance(),
                "clusters/b/apps.yaml": sync("infra/b"),
                "infra/b/o.yaml": chart(),
            },
            {"clusters/a": 1, "clusters/b": 2},
            id="by-a-kustomization",
        ),
        pytest.param(
            {"infra/a.yaml": frozen("2.8.7", path="clusters/a"), "infra/b.yaml": frozen("2.8.7", path="clusters/b")},
            {"clusters/a": 2, "clusters/b": 2},
            id="an-artifact-is-of-its-instance",
        ),
    ],
)
def test_it_is_tied_to_a_cluster(files: Mapping[str, str], expected: Mapping[str, int]) -> None:
    found = {cluster.name: len(cluster.members) for team in teams(files) for cluster in team.update_group.clusters}
    assert found == expected


def test_tools_do_not_serve_an_operator_without_a_cluster() -> None:
    files = {
        "clusters/a/flux.yaml": instance("2.9.4", path="clusters/a"),
        "clusters/b/flux.yaml": instance("2.9.4", path="clusters/b"),
        "infra/o.yaml": chart(),
        ".tool-versions": tools("2.9.3"),
    }
    (served,) = (cluster.served for team in teams(files) for cluster in team.update_group.clusters if cluster.is_tools)
    assert served == ("clusters/a", "clusters/b")
