"""The walk along Kustomizations ends, whatever a repository holds, and reads nothing that is not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.clusters.graph.flux_objects import SourceKey
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.graph.reads import ClusterReads, Root
from flux_upgrade.clusters.graph.substitution import substituted, unknown_in
from flux_upgrade.clusters.graph.walk import normalized
from flux_upgrade.report.graph import graph_chart, plain_label
from memory import MemoryTree

HERE = SourceKey("GitRepository", "flux-system", "flux-system")
FOLDERS = [f"f{index}" for index in range(5)]


def graph_of(files: dict[str, str], folder: str = "f0", urls: list[str] | None = None) -> ClusterGraph:
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    return ClusterGraph(tree, {"one": (Root(folder, HERE, f"{folder}/sync.yaml"),)}, urls or ())


def reads(files: dict[str, str], folder: str = "f0", urls: list[str] | None = None) -> ClusterReads:
    return graph_of(files, folder, urls).clusters[0]


def flux(name: str, path: str, source: str = "flux-system", more: str = "") -> str:
    return (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        f"metadata:\n  name: {name}\n  namespace: flux-system\n"
        f"spec:\n  path: {path}\n  sourceRef:\n    kind: GitRepository\n    name: {source}\n{more}"
    )


def plain(*resources: str, components: tuple[str, ...] = ()) -> str:
    lists = (("resources", resources), ("components", components))
    return "".join(f"{name}:\n" + "".join(f"- {each}\n" for each in entries) for name, entries in lists if entries)


ENTRIES = st.sampled_from([*(f"../{each}" for each in FOLDERS), "object.yaml", "flux.yaml", "gone.yaml", ".", ".."])
KUSTOMIZATIONS = st.builds(
    lambda resources, components: plain(*resources, components=tuple(components)),
    st.lists(ENTRIES, max_size=4),
    st.lists(ENTRIES, max_size=2),
)
OBJECTS = st.builds(
    lambda name, path, substitute: flux(
        name, path, more=f"  postBuild:\n    substitute:\n      where: {substitute}\n" if substitute else ""
    ),
    st.sampled_from("abc"),
    st.sampled_from([*FOLDERS, ".", "gone", "./${where}", "${where}/${where}"]),
    st.sampled_from(["", *FOLDERS, "${where}"]),
)


@given(
    st.dictionaries(st.sampled_from(FOLDERS), KUSTOMIZATIONS),
    st.dictionaries(st.sampled_from(FOLDERS), OBJECTS, min_size=1),
)
def test_any_wiring_comes_to_an_end(kustomizations: dict[str, str], objects: dict[str, str]) -> None:
    files = {f"{folder}/flux.yaml": text for folder, text in objects.items()}
    files |= {f"{folder}/kustomization.yaml": text for folder, text in kustomizations.items()}
    found = reads(files | {"f0/object.yaml": "kind: ConfigMap\nmetadata:\n  name: a\n"})
    assert found.files <= {*files, "f0/object.yaml"}


@pytest.mark.parametrize("field", ["resources", "components"])
def test_what_doubles_on_each_level_is_not_gone_through_to_its_end(field: str) -> None:
    levels = 40
    files = {
        f"f{level}/kustomization.yaml": f"{field}:\n- ../f{level + 1}\n- ../g{level + 1}\n" for level in range(levels)
    }
    files |= {f"g{level}/kustomization.yaml": f"{field}:\n- ../f{level}\n" for level in range(1, levels)}
    found = reads(files | {f"f{levels}/kustomization.yaml": plain("x.yaml"), f"f{levels}/x.yaml": "a: 1\n"})
    assert f"f{levels - 1}/kustomization.yaml" in found.files or found.troubles


def test_a_source_with_the_address_of_the_repository_is_the_repository() -> None:
    source = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"
        "metadata:\n  name: fleet\n  namespace: flux-system\nspec:\n  url: ssh://git@github.com/Org/fleet.git\n"
    )
    files = {"f0/source.yaml": source, "f0/apps.yaml": flux("apps", "apps", "fleet"), "apps/a.yaml": "a: 1\n"}
    assert "apps/a.yaml" in reads(files, urls=["https://token@github.com/org/fleet"]).files
    elsewhere = reads(files, urls=["https://github.com/org/other"])
    assert "apps/a.yaml" not in elsewhere.files
    assert elsewhere.elsewhere == ("flux-system/apps",)


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"


def test_each_directory_that_may_be_read_leads_on_with_objects_of_the_same_name() -> None:
    files = {"f0/sync.yaml": flux("environment", "./envs/${ENV}")}
    for name in ("production", "staging"):
        files |= {f"envs/{name}/apps.yaml": flux("apps", f"./apps/{name}"), f"apps/{name}/shop.yaml": NAMESPACE}

    assert {"apps/production/shop.yaml", "apps/staging/shop.yaml"} <= reads(files).files


@pytest.mark.parametrize(
    ("files", "places"),
    [
        pytest.param(
            {"f0/apps.yaml": flux("apps", "./f1"), "f0/more.yaml": flux("apps", "./f2")},
            ("f0/apps.yaml:1", "f0/more.yaml:1"),
            id="two files of a directory",
        ),
        pytest.param(
            {"f0/apps.yaml": f"{flux('apps', './f1')}---\n{flux('apps', './f2')}"},
            ("f0/apps.yaml:1", "f0/apps.yaml:12"),
            id="one file",
        ),
        pytest.param(
            {
                "f0/kustomization.yaml": f"{plain('apps.yaml', 'more.yaml')}namespace: flux-system\n",
                "f0/apps.yaml": flux("apps", "./f1"),
                "f0/more.yaml": flux("apps", "./f2"),
            },
            ("f0/apps.yaml:1", "f0/more.yaml:1"),
            id="resources of a kustomization that sets the namespace",
        ),
        pytest.param(
            {
                "f0/sync.yaml": f"{flux('one', './f3')}---\n{flux('two', './f4')}",
                "f3/apps.yaml": flux("apps", "./f1"),
                "f4/apps.yaml": flux("apps", "./f2"),
            },
            ("f3/apps.yaml:1", "f4/apps.yaml:1"),
            id="two Kustomizations that apply one each",
        ),
    ],
)
def test_each_path_of_two_kustomizations_of_one_name_is_read(files: dict[str, str], places: tuple[str, str]) -> None:
    cluster = reads(files | {"f1/shop.yaml": NAMESPACE, "f2/shop.yaml": NAMESPACE})
    assert {"f1/shop.yaml", "f2/shop.yaml"} <= cluster.files
    (trouble,) = cluster.troubles
    first, second = places
    assert trouble.place == second
    assert trouble.message == f"flux-system/apps is in {first}, too, with another path: both count as read"


def test_a_kustomization_that_is_built_twice_is_read_once() -> None:
    files = {"f0/sync.yaml": f"{flux('one', './f1')}---\n{flux('two', './f1')}", "f1/apps.yaml": flux("apps", "./f2")}
    cluster = reads(files | {"f2/shop.yaml": NAMESPACE})
    assert [step.name for step in cluster.reconciliations if step.folder == "f2"] == ["flux-system/apps"]
    assert not cluster.troubles


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:org/fleet",
        "ssh://git@github.com:22/org/fleet.git",
        "https://github.com/org/fleet/",
        "https://x-access-token:secret@GitHub.com/Org/fleet.git",
    ],
)
def test_an_address_is_known_by_host_and_path(url: str) -> None:
    assert normalized(url) == "github.com/org/fleet"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("./${a}/b", "./1/b"),
        ("${b:=2}", "2"),
        ("${b:-2}", "2"),
        ("${b}", "${b}"),
        ("${hidden}", "${hidden}"),
        ("${hidden:=2}", "${hidden:=2}"),
        ("$${a}", "$${a}"),
    ],
)
def test_what_is_known_of_variables_is_put_in(text: str, expected: str) -> None:
    assert substituted(text, {"a": "1", "hidden": None}) == expected


@pytest.mark.parametrize("others", ["      other: value\n", ""])
def test_a_default_is_no_value_if_a_map_that_is_not_in_git_may_have_one(others: str) -> None:
    values = f"  postBuild:\n    substitute:\n{others}" if others else "  postBuild:\n"
    values += "    substituteFrom:\n    - kind: ConfigMap\n      name: cluster\n"
    files = {
        "f0/sync.yaml": flux("middle", "./f1", more=values),
        "f1/apps.yaml": flux("apps", "./apps/${ENV:=staging}"),
    }
    files |= {f"apps/{name}/shop.yaml": NAMESPACE for name in ("production", "staging")}

    assert {"apps/production/shop.yaml", "apps/staging/shop.yaml"} <= reads(files).files


def test_a_resource_set_may_have_more_inputs_than_those_in_git() -> None:
    resource_set = (
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata:\n  name: apps\n  namespace: flux-system\n"
        "spec:\n  inputs:\n  - name: eu\n  inputsFrom:\n  - kind: ResourceSetInputProvider\n    name: more\n"
        "  resources:\n  - apiVersion: kustomize.toolkit.fluxcd.io/v1\n    kind: Kustomization\n    metadata:\n"
        "      name: app-<< inputs.name >>\n    spec:\n      path: ./apps/<< inputs.name >>\n"
        "      sourceRef:\n        kind: GitRepository\n        name: flux-system\n        namespace: flux-system\n"
    )
    files = {"f0/apps.yaml": resource_set, "apps/eu/shop.yaml": NAMESPACE, "apps/us/shop.yaml": NAMESPACE}

    assert {"apps/eu/shop.yaml", "apps/us/shop.yaml"} <= reads(files).files


def test_a_resource_set_with_a_text_template_may_read_any_file() -> None:
    resource_set = (
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata:\n  name: apps\n  namespace: flux-system\n"
        "spec:\n  resourcesTemplate: |\n    apiVersion: kustomize.toolkit.fluxcd.io/v1\n    kind: Kustomization\n"
        "    spec:\n      path: ./apps/<< inputs.name >>\n"
    )
    known = reads({"f0/apps.yaml": resource_set, "apps/eu/shop.yaml": NAMESPACE})
    other = reads({"f0/apps.yaml": resource_set.replace("kustomize.toolkit.fluxcd.io/v1", "apps/v1")})

    assert known.beyond is not None
    assert other.beyond is None


def test_a_variable_with_several_values_has_none_for_certain() -> None:
    values = "  postBuild:\n    substituteFrom:\n    - kind: ConfigMap\n      name: cluster\n"
    files = {
        "f0/environment.yaml": flux("environment", "./envs/${ENV}"),
        "f0/middle.yaml": flux("middle", "./f1", more=values),
        "f1/apps.yaml": flux("apps", "./apps/${REGION}"),
    }
    for region in ("eu", "us"):
        data = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cluster\ndata:\n  REGION: {region}\n"
        files |= {f"envs/{region}/cluster.yaml": data, f"apps/{region}/shop.yaml": NAMESPACE}

    assert {"apps/eu/shop.yaml", "apps/us/shop.yaml"} <= reads(files).files


def test_the_variable_that_is_left_is_named() -> None:
    assert (unknown_in("./${a}/${b}"), unknown_in("./a")) == ("${a}", "")


def test_the_chart_has_a_node_for_each_directory() -> None:
    files = {
        "f0/a.yaml": flux("a", "./f1"),
        "f0/b.yaml": flux("b", "./f2"),
        "f1/c.yaml": flux("c", "./f2"),
        "f2/d.yaml": "",
    }
    chart = graph_chart(graph_of(files))
    assert chart.splitlines() == [
        "flowchart LR",
        '  n0["one"]',
        '  n1["f0"]',
        '  n2["f1"]',
        '  n3["f2"]',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n1 --> n3",
        "  n2 --> n3",
    ]


def test_a_large_chart_and_an_empty_one_are_left_out() -> None:
    many = {f"f0/{each}.yaml": flux(f"k{each}", f"./g{each}") for each in range(40)}
    assert graph_chart(graph_of(many | {f"g{each}/a.yaml": "" for each in range(40)})) == ""
    assert graph_chart(ClusterGraph(MemoryTree({}), {"one": ()}, ())) == ""


def test_a_label_means_nothing_to_mermaid() -> None:
    assert plain_label('a"]; click b') == "a#34;#93;#59; click b"
    assert plain_label("apps/base-1_x.y") == "apps/base-1_x.y"
