"""A resource and its patches are migrated together, or not at all."""

from __future__ import annotations

import pytest

from flux_upgrade.impact.api_uses.scan import files
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.linked import Reach, settle_linked
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from memory import MemoryTree
from written_apis import schema, served

RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2beta2
kind: HelmRelease
metadata:
  name: {name}
spec:
  interval: 10m
  chart:
    spec:
      chart: podinfo
      {file}
      sourceRef:
        kind: HelmRepository
        name: podinfo
"""
FINE = RELEASE.format(name="podinfo", file="valuesFile: values-prod.yaml")
BY_HAND = RELEASE.format(name="podinfo", file="valuesFile: &file values-prod.yaml")
PATCH = """apiVersion: helm.toolkit.fluxcd.io/v2beta2
kind: HelmRelease
metadata:
  name: {name}
spec:
  suspend: true
"""
PATCH_BY_HAND = """apiVersion: helm.toolkit.fluxcd.io/v2beta2
kind: HelmRelease
metadata:
  name: podinfo
spec:
  chart:
    spec:
      valuesFile: &file values-prod.yaml
"""
KUSTOMIZATION = """resources:
  - podinfo.yaml
patches:
  - path: patch.yaml
  - target:
      group: helm.toolkit.fluxcd.io
      version: v2beta2
      kind: HelmRelease
      name: {target}
    patch: |-
      - op: add
        path: /metadata/labels
        value: {{team: one}}
"""


def migrated_files(**texts: str) -> list[str]:
    """The files whose uses move, of some in one folder."""
    return [f"{file.path}:{len(file.moves)}" for file in settled(**texts) if file.moves]


def settled(**texts: str) -> tuple[Migrated, ...]:
    tree = MemoryTree({f"apps/{name}.yaml": text.encode() for name, text in texts.items()})
    apis = Apis(None, served("v2.9.4"), (), schema)
    found = [migrate(file, apis) for file in files(tree, apis.target.groups)]
    return settle_linked([each for each in found if each is not None], Reach(tree))


def test_all_of_them_move() -> None:
    texts = {"patch": PATCH.format(name="podinfo"), "kustomization": KUSTOMIZATION.format(target="podinfo")}

    assert migrated_files(podinfo=FINE, **texts) == [
        "apps/kustomization.yaml:1",
        "apps/patch.yaml:1",
        "apps/podinfo.yaml:1",
    ]


def test_patches_stay_with_their_resource() -> None:
    found = settled(
        podinfo=BY_HAND, patch=PATCH.format(name="podinfo"), kustomization=KUSTOMIZATION.format(target="pod.*")
    )

    assert [len(file.moves) for file in found] == [0, 0, 0]
    assert [left.detail for file in found for left in file.lefts][:2] == [
        (
            "HelmRelease/podinfo stays at v2beta2 (apps/podinfo.yaml:1), and kustomize would no longer match "
            "the two. There: HelmRelease v2 has no spec.chart.spec.valuesFile. "
            "It is not changed because it uses a YAML anchor or alias."
        )
    ] * 2


def test_a_resource_stays_with_its_patch_and_so_does_what_else_patches_it() -> None:
    texts = {"patch": PATCH_BY_HAND, "kustomization": KUSTOMIZATION.format(target="podinfo")}

    assert migrated_files(podinfo=FINE, **texts) == []


@pytest.mark.parametrize("target", ["other", "podinf", '"[a"'])
def test_what_belongs_to_others_moves(target: str) -> None:
    patch, other = PATCH.format(name="other"), FINE.replace("podinfo\n", "other\n")
    found = migrated_files(podinfo=BY_HAND, other=other, patch=patch, kustomization=KUSTOMIZATION.format(target=target))

    # What is no regular expression may be of any: nobody can say.
    expected = ["apps/other.yaml:1", "apps/patch.yaml:1"]
    assert found == ([] if "[" in target else ["apps/kustomization.yaml:1", *expected])


def test_a_text_holds_nothing_back() -> None:
    note = f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: a}}\ndata:\n  a: |\n    {PATCH.replace(chr(10), chr(10) + '    ')}"

    assert migrated_files(podinfo=FINE, note=note) == ["apps/podinfo.yaml:1"]


PROVIDER = """apiVersion: notification.toolkit.fluxcd.io/{version}
kind: Provider
metadata:
  name: {name}
spec:
  type: slack
"""
TARGETING = """resources: [{resources}]
patches:
  - target:
      group: notification.toolkit.fluxcd.io
      version: v1beta1
      kind: Provider
    patch: |-
      - op: add
        path: /metadata/labels
        value: {{team: one}}
"""


def reasons_in(texts: dict[str, str]) -> dict[str, list[str]]:
    """For each file with something left, why."""
    tree = MemoryTree({path: text.encode() for path, text in texts.items()})
    apis = Apis(None, served("v2.9.4"), (), schema)
    found = [migrate(file, apis) for file in files(tree, apis.target.groups)]
    settled = settle_linked([each for each in found if each is not None], Reach(tree))
    return {file.path: [f"{left.detail} {left.hint}" for left in file.lefts] for file in settled if file.lefts}


def kustomization(resources: str, target: str = "podinfo") -> str:
    return KUSTOMIZATION.format(target=target).replace("resources:\n  - podinfo.yaml\n", f"resources: [{resources}]\n")


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        ({"apps/two/kustomization.yaml": kustomization("podinfo.yaml")}, []),
        ({"apps/two/kustomization.yaml": kustomization("podinfo.yaml, ../one")}, ["kustomization"]),
        ({"apps/two/kustomization.yaml": kustomization("podinfo.yaml, ../one/podinfo.yaml")}, ["kustomization"]),
        (
            {
                "apps/two/kustomization.yaml": kustomization("sub"),
                "apps/two/sub/kustomization.yaml": "components: [../../three]\n",
                "apps/three/kustomization.yaml": "bases: [../one]\n",
            },
            ["kustomization"],
        ),
        (
            {"apps/two/kustomization.yaml": f"kind: Component\n{kustomization('podinfo.yaml')}"},
            ["kustomization"],
        ),
    ],
)  # fmt: skip
def test_a_patch_is_held_back_by_what_its_kustomization_takes_up(other: dict[str, str], stays: list[str]) -> None:
    texts = {"apps/one/podinfo.yaml": BY_HAND, "apps/two/podinfo.yaml": FINE, **other}
    texts["apps/two/patch.yaml"] = PATCH.format(name="podinfo")
    found = reasons_in(texts)

    assert ("apps/two/kustomization.yaml" in found) == bool(stays)
    assert ("apps/two/podinfo.yaml" in found) == bool(stays)
    assert "apps/one/podinfo.yaml" in found


FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
spec:
  path: {path}
  patches:
    - target:
        group: helm.toolkit.fluxcd.io
        version: v2beta2
        kind: HelmRelease
      patch: |-
        - op: add
          path: /metadata/labels
          value: {{team: one}}
"""


@pytest.mark.parametrize(
    ("path", "stays"),
    [("./apps/two", False), ("./apps/one/", True), ("apps", True), ("./gone", True), ("./", True), ("${A}", True)],
)  # fmt: skip
def test_a_patch_of_a_flux_kustomization_is_held_back_by_what_is_in_its_path(path: str, *, stays: bool) -> None:
    texts = {"apps/one/a.yaml": BY_HAND, "apps/two/a.yaml": FINE, "clusters/a.yaml": FLUX.format(path=path)}

    assert ("clusters/a.yaml" in reasons_in(texts)) == stays


@pytest.mark.parametrize(("namespace", "stays"), [("other", False), ("apps", True), ("a.*", True)])
def test_different_namespaces_are_distinguished(namespace: str, *, stays: bool) -> None:
    target = kustomization("podinfo.yaml").replace("      name: podinfo\n", f"      namespace: {namespace}\n")
    resource = BY_HAND.replace("metadata:\n", "metadata:\n  namespace: apps\n")

    assert ("apps/kustomization.yaml" in reasons_in({"apps/podinfo.yaml": resource, "apps/kustomization.yaml": target})) == stays  # fmt: skip


def test_the_root_cause_is_reported_along_a_chain() -> None:
    found = reasons_in(
        {
            "apps/a.yaml": BY_HAND,
            "apps/b.yaml": RELEASE.format(name="other", file="version: 1.x"),
            "apps/kustomization.yaml": kustomization("a.yaml, b.yaml", ".*"),
        }
    )

    (root,) = found["apps/a.yaml"]
    (end,) = found["apps/b.yaml"]
    assert "HelmRelease/podinfo stays at v2beta2 (apps/a.yaml:1)" in end
    assert root.partition(". ")[0] in end


def test_what_cannot_be_moved_and_belongs_to_nothing_holds_back_nothing() -> None:
    texts = {f"apps/{name}.yaml": RELEASE.format(name=name, file="version: 1.x") for name in "abc"}

    assert list(reasons_in({"apps/podinfo.yaml": BY_HAND, **texts})) == ["apps/podinfo.yaml"]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
def test_a_target_that_only_its_version_narrows_stays_where_two_versions_become_one(version: str) -> None:
    texts = {
        "apps/one.yaml": PROVIDER.format(version="v1beta1", name="one"),
        "apps/two.yaml": PROVIDER.format(version=version, name="two"),
        "apps/kustomization.yaml": TARGETING.format(resources="one.yaml, two.yaml"),
        "elsewhere/one.yaml": PROVIDER.format(version="v1beta1", name="one"),
    }
    found = reasons_in(texts)

    assert sorted(found) == ["apps/kustomization.yaml", "apps/one.yaml"]
    assert found["apps/kustomization.yaml"] == [
        (
            "Only its version separates it from Provider/two (apps/two.yaml:1), "
            "which is or becomes v1beta3 as well. Give the target a name."
        )
    ]


def test_a_target_with_a_name_moves_and_so_does_one_that_selects_nothing_else() -> None:
    named = TARGETING.format(resources="one.yaml, two.yaml").replace(
        "kind: Provider\n", "kind: Provider\n      name: one\n"
    )
    resources = {
        "apps/one.yaml": PROVIDER.format(version="v1beta1", name="one"),
        "apps/two.yaml": PROVIDER.format(version="v1beta2", name="two"),
    }
    apart = {"apps/one.yaml": resources["apps/one.yaml"], "two/two.yaml": resources["apps/two.yaml"]}

    assert reasons_in({**resources, "apps/kustomization.yaml": named}) == {}
    assert reasons_in({**apart, "apps/kustomization.yaml": TARGETING.format(resources="one.yaml")}) == {}
