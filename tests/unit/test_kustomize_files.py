"""The files that kustomizations list as patches are found."""

from __future__ import annotations

from memory import MemoryTree


def test_patches_are_files_of_every_spelling() -> None:
    tree = MemoryTree(
        {
            "a/kustomization.yaml": b"patches:\n- path: ./one.yaml\n- patch: |-\n    - op: remove\n"
            b"patchesJson6902:\n- path: ../two.yaml\n"
            b"patchesStrategicMerge:\n- three.yaml\n- |-\n  kind: Deployment\n",
            "b/kustomization.yaml": b"apiVersion: kustomize.toolkit.fluxcd.io/v1\npatches:\n- path: four.yaml\n",
        }
    )

    assert tree.patch_files == {"a/one.yaml", "two.yaml", "a/three.yaml"}
