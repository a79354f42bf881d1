"""The files that kustomizations list as patches, or as texts of ConfigMaps, are found."""

from __future__ import annotations

import pytest

from flux_upgrade.pins.formats.kustomize_files import Kustomizations
from memory import MemoryTree

_GENERATOR = b"""\
kind: Kustomization
configMapGenerator:
  - name: values
    files:
      - ./helm/values.yaml
      - other.yaml=../shared/values.yaml
      - absent.yaml
  - literals: [a=b]
"""
_TREE = {
    "app/kustomization.yaml": _GENERATOR,
    "app/helm/values.yaml": b"of app",
    "shared/values.yaml": b"shared",
    "app/nested/kustomization.yml": _GENERATOR.replace(b"../shared", b"../../shared"),
    "app/nested/helm/values.yaml": b"of nested",
    "other/Kustomization": b"configMapGenerator: no list\npatches: nor this\n",
    "app/not-a-kustomization.yaml": _GENERATOR.replace(b"values\n", b"elsewhere\n"),
}


@pytest.mark.parametrize(
    ("consumer", "key", "path"),
    [
        ("app/release.yaml", "values.yaml", "app/helm/values.yaml"),
        ("app/deeper/release.yaml", "values.yaml", "app/helm/values.yaml"),
        ("app/nested/release.yaml", "values.yaml", "app/nested/helm/values.yaml"),
        ("app/release.yaml", "other.yaml", "shared/values.yaml"),
        ("app/release.yaml", "absent.yaml", None),
        ("app/release.yaml", "helm/values.yaml", None),
        ("application/release.yaml", "values.yaml", None),
        ("release.yaml", "values.yaml", None),
    ],
)
def test_the_nearest_kustomization_makes_the_config_map(consumer: str, key: str, path: str | None) -> None:
    found = Kustomizations(MemoryTree(_TREE)).source_of(consumer, "values", key)

    assert (found and (found.path, found.content)) == (path and (path, _TREE[path]))


def test_only_kustomizations_make_config_maps() -> None:
    assert Kustomizations(MemoryTree(_TREE)).source_of("app/release.yaml", "elsewhere", "values.yaml") is None


def test_a_kustomization_at_the_root_serves_all() -> None:
    tree = MemoryTree({"kustomization.yaml": _GENERATOR, "helm/values.yaml": b"of the root"})

    found = Kustomizations(tree).source_of("a/b/release.yaml", "values", "values.yaml")

    assert found is not None
    assert found.content == b"of the root"


def test_patches_are_files_of_every_spelling() -> None:
    tree = MemoryTree(
        {
            "a/kustomization.yaml": b"patches:\n- path: ./one.yaml\n- patch: |-\n    - op: remove\n"
            b"patchesJson6902:\n- path: ../two.yaml\n"
            b"patchesStrategicMerge:\n- three.yaml\n- |-\n  kind: Deployment\n",
            "b/kustomization.yaml": b"apiVersion: kustomize.toolkit.fluxcd.io/v1\npatches:\n- path: four.yaml\n",
        }
    )

    assert Kustomizations(tree).patch_files == {"a/one.yaml", "two.yaml", "a/three.yaml"}
