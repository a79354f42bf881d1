"""Patches over an installation in several files are judged as those over one file."""

from __future__ import annotations

import pytest

from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.result import Overlay, OverlayVerdict
from flux_upgrade.manifests.parts import Part, join
from memory import MemoryTree

CRDS, CONTROLLERS = "flux/crds.yaml", "flux/controllers.yaml"
CRD = (
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata:\n  name: buckets.source.toolkit.fluxcd.io\n"
    "spec:\n  group: source.toolkit.fluxcd.io\n  names:\n    kind: Bucket\n  versions:\n"
)
OLD = "  - name: v1beta2\n    served: true\n    storage: "
NEW = "  - name: v1\n    served: true\n    storage: true\n"
CONTROLLER = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: source-controller\n  namespace: flux-system\n"
    "spec:\n  template:\n    spec:\n      containers:\n      - name: manager\n"
    "        image: ghcr.io/fluxcd/source-controller:v1.{}.0\n"
)
BEFORE = (Part(CRDS, f"{CRD}{OLD}true\n".encode()), Part(CONTROLLERS, CONTROLLER.format(1).encode()))
AFTER = (Part(CRDS, f"{CRD}{NEW}{OLD}false\n".encode()), Part(CONTROLLERS, CONTROLLER.format(2).encode()))
REPLACED = """patches:
- target:
    kind: CustomResourceDefinition
  patch: |
    - op: replace
      path: /spec/versions
      value:
      - name: v1beta2
        served: true
        storage: true
"""
DELETED = """patches:
- target:
    kind: CustomResourceDefinition
  patch: |
    $patch: delete
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata:
      name: any
"""
IMAGE = "images:\n- name: ghcr.io/fluxcd/source-controller\n  newTag: v1.0.0\n"


def overlay(lead: str, patches: str) -> Overlay:
    kustomization = f"resources:\n- controllers.yaml\n- crds.yaml\n{patches}".encode()
    tree = MemoryTree({**dict(BEFORE), "flux/kustomization.yaml": kustomization})
    judged = check_overlay(tree, lead, join(BEFORE), join(AFTER), None, parts=BEFORE)
    assert isinstance(judged, Overlay)
    return judged


@pytest.mark.parametrize("lead", [CRDS, CONTROLLERS])
def test_a_patch_is_for_each_part(lead: str) -> None:
    assert [finding.verdict for finding in overlay(lead, REPLACED).findings] == [OverlayVerdict.BREAKS]
    assert [finding.verdict for finding in overlay(lead, IMAGE).findings] == [OverlayVerdict.FROZEN]
    assert [crd.name for crd in overlay(lead, DELETED).left_out] == ["buckets.source.toolkit.fluxcd.io"]
