"""What a pull request says of a kustomization that sets controller images, next to the manifest that it changes."""

from __future__ import annotations

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.ownership.remarks import remarks
from flux_upgrade.pins.reported import single_controllers
from flux_upgrade.snapshot.file import File
from kind_cases import cases_of

PATH = "clusters/production/flux-system/gotk-components.yaml"
LISTING = "clusters/production/flux-system/kustomization.yaml"
HEAD = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nimages:\n"
ENTERPRISE = "ghcr.io/controlplaneio-fluxcd/alpine/source-controller"


def said(images: str) -> tuple[str, ...]:
    context = cases_of(single_controllers.NAME)[0].context({})
    pins = single_controllers.find([File(LISTING, (HEAD + images).encode())], context)
    return remarks([PATH], [Member(pin, pin.path) for pin in pins])


def test_a_tag_of_flux_is_to_be_removed_or_updated() -> None:
    (remark,) = said("- name: ghcr.io/fluxcd/source-controller\n  newTag: v1.9.5\n")
    assert "Remove these overrides, or update them in the same merge: " in remark
    assert f"`{LISTING}:5`" in remark


def test_a_tag_of_controlplane_is_to_be_updated_in_its_registry() -> None:
    (remark,) = said(f"- name: ghcr.io/fluxcd/source-controller\n  newName: {ENTERPRISE}\n  newTag: v1.9.5\n")
    assert "Update them in the same merge, and keep their registry: " in remark
    assert "Remove" not in remark


def test_a_name_without_a_tag_follows_the_manifest() -> None:
    assert said(f"- name: ghcr.io/fluxcd/source-controller\n  newName: {ENTERPRISE}\n") == ()
