"""kustomize does what the migration of kustomizations relies on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from real_parts import require_program

pytestmark = pytest.mark.real_part("kustomize")
RELEASE = """apiVersion: helm.toolkit.fluxcd.io/{version}
kind: HelmRelease
metadata:
  name: podinfo
spec:
  suspend: {suspend}
"""
TARGET = """
patches:
  - target:
      group: helm.toolkit.fluxcd.io
      version: v2beta2
      kind: HelmRelease
    patch: |-
      - op: replace
        path: /spec/suspend
        value: true
"""
MERGED = """
patches:
  - path: patch.yaml
"""
LISTS = """
patchesJson6902:
  - target: {version: v1, kind: ConfigMap, name: a}
    patch: |-
      - {op: replace, path: /data/x, value: third}
patches:
  - patch: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: second, y: second}}"
patchesStrategicMerge:
  - "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: first, y: first, z: first}}"
"""


def built(folder: Path, patches: str, resource: str) -> str:
    """Empty where the build ends with an error."""
    (folder / "resource.yaml").write_text(resource)
    (folder / "patch.yaml").write_text(RELEASE.format(version="v2beta2", suspend="true"))
    (folder / "kustomization.yaml").write_text(f"resources: [resource.yaml]{patches}")
    command = [require_program("kustomize"), "build", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603  (ours)


@pytest.mark.parametrize(("version", "is_found"), [("v2beta2", True), ("v2", False)])
def test_a_target_of_another_version_selects_nothing_in_silence(
    version: str, tmp_path: Path, *, is_found: bool
) -> None:
    text = built(tmp_path, TARGET, RELEASE.format(version=version, suspend="false"))

    assert f"suspend: {str(is_found).lower()}" in text


@pytest.mark.parametrize(("version", "is_found"), [("v2beta2", True), ("v2", False)])
def test_a_patch_of_another_version_ends_the_build(version: str, tmp_path: Path, *, is_found: bool) -> None:
    text = built(tmp_path, MERGED, RELEASE.format(version=version, suspend="false"))

    assert bool(text) == is_found


def test_the_lists_are_applied_in_this_order(tmp_path: Path) -> None:
    text = built(tmp_path, LISTS, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: none}\n")

    assert text.splitlines()[1:5] == ["data:", "  x: third", '  "y": second', "  z: first"]
