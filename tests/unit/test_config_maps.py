"""The file, or the manifest, that a ConfigMap's key comes from is found for the object that refers to it."""

from __future__ import annotations

import pytest

from flux_upgrade.pins.formats.config_maps import ABSENT, ConfigMaps, Held, Wanted
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
    return ConfigMaps(tree).at(consumer, Wanted("ConfigMap", "", name, key), root)


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


_WRITTEN = b"kind: ConfigMap\nmetadata: {name: v}\ndata: {values.yaml: 'a: b'}\n"
_KEPT = b"\ngeneratorOptions: {disableNameSuffixHash: true}\n"


def _generator(resources: str, more: str = "") -> bytes:
    entry = f"{{name: v, files: [values.yaml]{more}}}"
    return f"resources: [{resources}]\nconfigMapGenerator: [{entry}]".encode() + _KEPT


def test_kustomizations_that_take_in_each_other_end() -> None:
    tree = MemoryTree(
        {
            "a/kustomization.yaml": b"resources: [../b, release.yaml, .]\n",
            "b/kustomization.yaml": _generator("../a"),
            "b/values.yaml": b"a: b",
        }
    )
    kustomize = ConfigMaps(tree).kustomize

    assert kustomize.roots("a/release.yaml") == []
    assert set(kustomize.built("a")) == {"a", "b"}
    assert _held(tree, "a/release.yaml", "v", "values.yaml").file is not None


def test_each_outermost_kustomization_is_a_root() -> None:
    tree = MemoryTree(
        {
            "base/kustomization.yaml": b"resources: [release.yaml]\n",
            "middle/kustomization.yml": b"bases: [../base]\n",
            "one/kustomization.yaml": b"resources: [../middle]\n",
            "two/Kustomization": b"components: [../base, https://example.com/base]\n",
        }
    )

    assert ConfigMaps(tree).kustomize.roots("base/release.yaml") == ["one", "two"]


def test_two_generators_of_one_name_are_told_apart_by_their_directories() -> None:
    tree = MemoryTree(
        {
            "kustomization.yaml": b"resources: [a, b, c]\n",
            **{f"{each}/kustomization.yaml": _generator("release.yaml") for each in "ab"},
            **{f"{each}/values.yaml": b"a: b" for each in "ab"},
            "c/kustomization.yaml": b"resources: [release.yaml]\n",
        }
    )
    found = [_held(tree, f"{each}/release.yaml", "v", "values.yaml", root="") for each in "abc"]

    assert [each.file and each.file.path for each in found] == ["a/values.yaml", "b/values.yaml", None]
    assert found[2].reason == "which 2 kustomizations make"


@pytest.mark.parametrize(
    ("files", "path", "reason"),
    [
        (["a/v.yaml"], "a/v.yaml", ""),
        (["elsewhere/v.yaml"], "elsewhere/v.yaml", ""),
        (["a/v.yaml", "b/v.yaml"], "a/v.yaml", ""),
        (["a/v.yaml", "a/w.yaml"], None, "which 2 files have"),
        (["b/v.yaml", "c/v.yaml"], None, "which 2 files have"),
        ([], None, ABSENT),
    ],
)
def test_a_manifest_in_the_directory_or_the_only_one_is_it(files: list[str], path: str | None, reason: str) -> None:
    found = _held(MemoryTree(dict.fromkeys(files, _WRITTEN)), "a/release.yaml", "v", "values.yaml")

    assert (found.file and found.file.path, found.reason) == (path, reason)


def test_a_manifest_that_the_same_kustomization_applies_goes_before_others() -> None:
    tree = MemoryTree(
        {
            "overlay/kustomization.yaml": b"resources: [../base, v.yaml]\n",
            "base/kustomization.yaml": b"resources: [release.yaml]\n",
            "overlay/v.yaml": _WRITTEN,
            "other/v.yaml": _WRITTEN,
        }
    )
    found = _held(tree, "base/release.yaml", "v", "values.yaml", root="overlay").file

    assert found is not None
    assert found.path == "overlay/v.yaml"
