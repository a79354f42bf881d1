"""The file, or the manifest, that a ConfigMap's key comes from is found for the object that refers to it."""

from __future__ import annotations

import pytest

from flux_upgrade.pins.formats.config_maps import ABSENT, ConfigMaps, Held, Wanted
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
generatorOptions: {disableNameSuffixHash: true}
"""
_TREE = {
    "app/kustomization.yaml": _GENERATOR,
    "app/helm/values.yaml": b"of: app",
    "shared/values.yaml": b"of: shared",
    "app/nested/kustomization.yml": _GENERATOR.replace(b"../shared", b"../../shared"),
    "app/nested/helm/values.yaml": b"of: nested",
    "other/Kustomization": b"configMapGenerator: no list\npatches: nor this\n",
    "app/not-a-kustomization.yaml": _GENERATOR.replace(b"values\n", b"elsewhere\n"),
}


def _held(tree: MemoryTree, consumer: str, name: str, key: str, root: str | None = None) -> Held:
    return ConfigMaps(tree, Kustomizations(tree)).at(consumer, Wanted("ConfigMap", "", name, key), root)


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
    found = _held(MemoryTree(_TREE), consumer, "values", key).file

    assert (found and (found.path, found.content)) == (path and (path, _TREE[path]))


def test_only_kustomizations_make_config_maps() -> None:
    assert _held(MemoryTree(_TREE), "app/release.yaml", "elsewhere", "values.yaml").reason == ABSENT


def test_a_kustomization_at_the_root_serves_all() -> None:
    tree = MemoryTree({"kustomization.yaml": _GENERATOR, "helm/values.yaml": b"of: the root"})

    found = _held(tree, "a/b/release.yaml", "values", "values.yaml").file

    assert found is not None
    assert found.content == b"of: the root"
