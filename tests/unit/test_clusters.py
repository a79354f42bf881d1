"""Version references are assigned to their cluster, and drift among them is found."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from discovered import manifests_in, pins_in
from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.clusters.groups import drift_of
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.pin import Pin, Role
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, regenerator
from pinned import artifact, base, instance, sync, terraform, tools, vendored, workflow

USING = regenerator()


def clusters(files: Mapping[str, str]) -> tuple[Cluster, ...]:
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    context = PinContext(tree, USING, MemoryArtifacts(), MemoryCharts())
    found: list[Pin] = [*manifests_in(tree, USING), *pins_in(context)]
    return clusters_of((Member(each, each.path) for each in found if each.role is not Role.REPORTED), tree)


def sets(files: Mapping[str, str]) -> dict[str, list[str]]:
    return {each.name: sorted(member.path for member in each.members) for each in clusters(files)}


INSTALL = "https://github.com/fluxcd/flux2/releases/download/v2.8.8/install.yaml"
A, B = "clusters/a/flux-system/gotk-components.yaml", "clusters/b/flux-system/gotk-components.yaml"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {A: vendored(), "clusters/a/recovery/kustomization.yaml": base(), B: vendored()},
            {"clusters/a": [A, "clusters/a/recovery/kustomization.yaml"], "clusters/b": [B]},
            id="in-the-clusters-folder",
        ),
        pytest.param(
            {
                A: vendored(),
                B: vendored(),
                "infra/a.tf": terraform("./clusters/a/"),
                "infra/b.tf": terraform("clusters/b"),
            },
            {"clusters/a": [A, "infra/a.tf"], "clusters/b": [B, "infra/b.tf"]},
            id="terraform-says-which",
        ),
        pytest.param(
            {"flux/instance.yaml": instance(path="clusters/a"), "clusters/a/base/kustomization.yaml": base()},
            {"clusters/a": ["clusters/a/base/kustomization.yaml", "flux/instance.yaml"]},
            id="an-instance-says-which",
        ),
        pytest.param(
            {
                "kubernetes/flux/config/cluster.yaml": sync("./kubernetes/flux"),
                "kubernetes/flux/config/flux.yaml": artifact(),
                "kubernetes/bootstrap/flux/kustomization.yaml": base(),
            },
            {"kubernetes/flux": ["kubernetes/bootstrap/flux/kustomization.yaml", "kubernetes/flux/config/flux.yaml"]},
            id="a-copy-beside-the-one-cluster",
        ),
        pytest.param(
            {
                "kubernetes/one/flux/config/flux.yaml": artifact(),
                "kubernetes/one/bootstrap/kustomization.yaml": base(),
                "kubernetes/two/flux/config/flux.yaml": artifact(),
                "kubernetes/two/bootstrap/kustomization.yaml": base(),
            },
            {
                "kubernetes/one/flux/config": [
                    "kubernetes/one/bootstrap/kustomization.yaml",
                    "kubernetes/one/flux/config/flux.yaml",
                ],
                "kubernetes/two/flux/config": [
                    "kubernetes/two/bootstrap/kustomization.yaml",
                    "kubernetes/two/flux/config/flux.yaml",
                ],
            },
            id="two-clusters-with-a-copy-each",
        ),
        pytest.param(
            {A: vendored(), "hack/up.sh": f"kubectl apply -f {INSTALL}\n"},
            {"clusters/a": [A, "hack/up.sh"]},
            id="a-script-beside-the-one-cluster",
        ),
        pytest.param(
            {A: vendored(), B: vendored(), "clusters/b/up.sh": f"kubectl apply -f {INSTALL}\n"},
            {"clusters/a": [A], "clusters/b": [B, "clusters/b/up.sh"]},
            id="a-script-in-the-clusters-folder",
        ),
        pytest.param(
            {A: vendored(), B: vendored(), "bootstrap/kustomization.yaml": base()},
            {"clusters/a": [A], "clusters/b": [B], "bootstrap": ["bootstrap/kustomization.yaml"]},
            id="a-copy-between-two-clusters-is-of-neither",
        ),
        pytest.param(
            {
                A: vendored(),
                B: vendored(),
                "clusters/a/infra.yaml": sync("./infra/a", "infra"),
                "infra/a/flux.yaml": artifact(),
            },
            {"clusters/a": [A, "infra/a/flux.yaml"], "clusters/b": [B]},
            id="a-kustomization-leads-there",
        ),
        pytest.param(
            {
                A: vendored(),
                B: vendored(),
                "clusters/a/infra.yaml": sync("./infra", "infra"),
                "clusters/b/infra.yaml": sync("./infra", "infra"),
                "infra/flux.yaml": artifact(),
            },
            {"clusters/a": [A], "clusters/b": [B], "infra": ["infra/flux.yaml"]},
            id="what-two-clusters-share-is-of-neither",
        ),
        pytest.param(
            {
                A: vendored(),
                "clusters/a/oci.yaml": sync("./infra", "infra", source="OCIRepository"),
                B: vendored(),
                "infra/flux.yaml": artifact(),
            },
            {"clusters/a": [A], "clusters/b": [B], "infra": ["infra/flux.yaml"]},
            id="a-path-in-an-artifact-is-none-of-the-repository",
        ),
        pytest.param(
            {
                "dev/flux.yaml": instance(),
                "prod/flux.yaml": instance("2.7.1"),
                "apps/podinfo.yaml": sync("./", "podinfo", of="podinfo"),
                "apps/other.yaml": sync('""', "other", of="other"),
            },
            {"dev": ["dev/flux.yaml"], "prod": ["prod/flux.yaml"]},
            id="the-root-of-another-repository-is-not-ours",
        ),
        pytest.param(
            {
                "dev/flux.yaml": artifact(),
                "flux/gotk-sync.yaml": sync("./", "fleet", of="fleet"),
                "more/kustomization.yaml": base(),
            },
            {"root": ["dev/flux.yaml", "more/kustomization.yaml"]},
            id="the-root-of-what-was-bootstrapped-is-ours",
        ),
        pytest.param(
            {"dev/main.tf": terraform("clusters/main"), "prod/main.tf": terraform("clusters/main")},
            {"dev": ["dev/main.tf"], "prod": ["prod/main.tf"]},
            id="two-bootstraps-of-one-path-are-of-two-repositories",
        ),
        pytest.param(
            {"dev/flux.yaml": instance(path="./"), "prod/flux.yaml": instance(path="./")},
            {"dev": ["dev/flux.yaml"], "prod": ["prod/flux.yaml"]},
            id="two-roots-are-of-two-repositories",
        ),
        pytest.param(
            {
                A: vendored(),
                "clusters/a/edge.yaml": sync("./edge", "edge") + "  kubeConfig:\n    secretRef:\n      name: edge\n",
                "edge/one/flux.yaml": artifact(),
                "edge/two/kustomization.yaml": base(),
            },
            {"clusters/a": [A], "edge": ["edge/one/flux.yaml", "edge/two/kustomization.yaml"]},
            id="what-is-applied-to-another-cluster-is-of-that-one",
        ),
        pytest.param(
            {
                "cluster/base/flux-system/gotk-components.yaml": vendored(),
                "cluster/base/flux-system/gotk-sync.yaml": sync("./cluster"),
                "cluster/other/flux.yaml": artifact(),
            },
            {"cluster": ["cluster/base/flux-system/gotk-components.yaml", "cluster/other/flux.yaml"]},
            id="the-sync-beside-a-manifest-says-its-folder",
        ),
        pytest.param(
            {"gotk-components.yaml": vendored(), "tenant.yaml": vendored(), "more/kustomization.yaml": base()},
            {"root": ["gotk-components.yaml", "more/kustomization.yaml"], "tenant.yaml": ["tenant.yaml"]},
            id="two-manifests-beside-each-other",
        ),
        pytest.param(
            {A: vendored(), ".tool-versions": tools(), ".github/workflows/check.yaml": workflow()},
            {"clusters/a": [".tool-versions", A], "flux-cli": [".github/workflows/check.yaml"]},
            id="tools-of-the-one-cluster",
        ),
        pytest.param(
            {A: vendored(), B: vendored(), ".tool-versions": tools(), "clusters/b/.tool-versions": tools()},
            {"clusters/a": [A], "clusters/b": ["clusters/b/.tool-versions", B], "flux-cli": [".tool-versions"]},
            id="tools-of-all-and-of-one",
        ),
        pytest.param({".tool-versions": tools()}, {"flux-cli": [".tool-versions"]}, id="tools-alone"),
        pytest.param(
            {A: vendored(), "charts/x/templates/flux.yaml": instance("{{ .Values.flux }}").replace('"', "")},
            {"clusters/a": [A], "charts/x/templates": ["charts/x/templates/flux.yaml"]},
            id="a-template-elsewhere-is-of-no-cluster",
        ),
    ],
)
def test_pins_are_tied_where_the_tree_says_so(files: Mapping[str, str], expected: Mapping[str, list[str]]) -> None:
    assert sets(files) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({A: vendored(), "clusters/a/x/kustomization.yaml": base()}, {}, id="they-agree"),
        pytest.param(
            {A: vendored(), "clusters/a/x/kustomization.yaml": base("v2.9.4")},
            {"v2.8.7": [A], "v2.9.4": ["clusters/a/x/kustomization.yaml"]},
            id="they-do-not",
        ),
        pytest.param({A: vendored(), "clusters/a/f.yaml": instance("2.8.x")}, {}, id="a-range-admits-it"),
        pytest.param(
            {A: vendored(), "clusters/a/f.yaml": instance("2.9.x")},
            {"v2.8.7": [A], "v2.9.4": ["clusters/a/f.yaml"]},
            id="a-range-does-not",
        ),
        pytest.param({A: vendored(), ".tool-versions": tools("2.9.4")}, {}, id="tools-are-no-part-of-it"),
    ],
)
def test_drift_is_pins_of_one_cluster_that_disagree(
    files: Mapping[str, str], expected: Mapping[str, list[str]]
) -> None:
    (cluster,) = clusters(files)
    assert {version: [each.path for each in pins] for version, pins in drift_of(cluster).items()} == expected


def test_served_clusters_are_named() -> None:
    *_, tool = clusters({A: vendored(), B: vendored(), ".github/workflows/check.yaml": workflow()})
    assert (tool.is_tools, tool.served) == (True, ("clusters/a", "clusters/b"))


def test_clusters_of_one_name_are_distinguished() -> None:
    found = clusters({f"{env}/main.tf": terraform("${var.path}") for env in ("dev", "prod")})
    assert [each.name for each in found] == ["dev flux_bootstrap_git.this", "prod flux_bootstrap_git.this"]


def test_a_folder_may_have_a_colon() -> None:
    (cluster,) = clusters({"clusters/a:b/flux.yaml": instance(), "clusters/a:b/.tool-versions": tools()})
    assert (cluster.name, len(cluster.members)) == ("clusters/a:b", 2)
