"""A resource and its patches move together, or stay together."""

from __future__ import annotations

import pytest

from flux_upgrade.migration.apis import Apis
from flux_upgrade.migration.migrate import migrate
from flux_upgrade.migration.together import together
from flux_upgrade.migration.values import Migrated
from flux_upgrade.resources.scan import files
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


def moved(**texts: str) -> list[str]:
    """The files whose uses move, of some in one folder."""
    return [f"{file.path}:{len(file.moves)}" for file in settled(**texts) if file.moves]


def settled(**texts: str) -> tuple[Migrated, ...]:
    tree = MemoryTree({f"apps/{name}.yaml": text.encode() for name, text in texts.items()})
    apis = Apis(None, served("v2.9.4"), (), schema)
    found = [migrate(file, apis) for file in files(tree, apis.target.groups, lambda _: True)]
    return together([each for each in found if each is not None])


def test_all_of_them_move() -> None:
    texts = {"patch": PATCH.format(name="podinfo"), "kustomization": KUSTOMIZATION.format(target="podinfo")}

    assert moved(podinfo=FINE, **texts) == [
        "apps/kustomization.yaml:1",
        "apps/patch.yaml:1",
        "apps/podinfo.yaml:1",
    ]


def test_patches_stay_with_their_resource() -> None:
    found = settled(
        podinfo=BY_HAND,
        patch=PATCH.format(name="podinfo"),
        kustomization=KUSTOMIZATION.format(target="pod.*"),
    )

    assert [len(file.moves) for file in found] == [0, 0, 0]
    assert [left.detail for file in found for left in file.lefts][:2] == [
        "HelmRelease/podinfo stays at v2beta2 (apps/podinfo.yaml:1): kustomize would find neither by the other."
    ] * 2


def test_a_resource_stays_with_its_patch_and_so_does_what_else_patches_it() -> None:
    texts = {"patch": PATCH_BY_HAND, "kustomization": KUSTOMIZATION.format(target="podinfo")}

    assert moved(podinfo=FINE, **texts) == []


@pytest.mark.parametrize("target", ["other", "podinf", '"[a"'])
def test_what_belongs_to_others_moves(target: str) -> None:
    patch, other = PATCH.format(name="other"), FINE.replace("podinfo\n", "other\n")
    found = moved(
        podinfo=BY_HAND, other=other, patch=patch, kustomization=KUSTOMIZATION.format(target=target)
    )

    # What is no regular expression may be of any: nobody can say.
    expected = ["apps/other.yaml:1", "apps/patch.yaml:1"]
    assert found == ([] if "[" in target else ["apps/kustomization.yaml:1", *expected])


def test_a_text_holds_nothing_back() -> None:
    note = f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: a}}\ndata:\n  a: |\n    {PATCH.replace(chr(10), chr(10) + '    ')}"

    assert moved(podinfo=FINE, note=note) == ["apps/podinfo.yaml:1"]
