"""Who follows what plans and pull requests say ends with a Flux that is ready: its real controllers say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_servers import git
from real_flux.conftest import Start
from real_flux.fleet import CLUSTER, Fleet, running
from real_flux.samples import sample
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

NOTIFICATION = "notification.toolkit.fluxcd.io"
ALERTS = f"{CLUSTER}/alerts.yaml"
MANIFEST = f"{CLUSTER}/flux-system/gotk-components.yaml"
OLD = """apiVersion: notification.toolkit.fluxcd.io/v1beta2
kind: Provider
metadata:
  name: chat
  namespace: flux-system
spec:
  type: slack
  channel: general
  secretRef:
    name: chat
---
apiVersion: notification.toolkit.fluxcd.io/v1beta2
kind: Alert
metadata:
  name: all
  namespace: flux-system
spec:
  providerRef:
    name: chat
  eventSources:
  - kind: Kustomization
    name: "*"
"""
RECEIVER = """apiVersion: notification.toolkit.fluxcd.io/v1beta1
kind: Receiver
metadata:
  name: webhook
  namespace: flux-system
spec:
  type: github
  events:
  - push
  resources:
  - kind: GitRepository
    name: flux-system
  secretRef:
    name: webhook
"""
_GONE = "request to convert CR to an invalid group/version: notification.toolkit.fluxcd.io/v1beta2"


@pytest.fixture
def with_alerts(fleet: Fleet) -> Fleet:
    """Flux v2.8.8, and objects in a version that v2.9.4 does not serve."""
    fleet.bootstrap("v2.8.8")
    fleet.merge("Alerts", {ALERTS: OLD})
    assert not fleet.reconcile()
    return fleet


def config(fleet: Fleet, migrate: str) -> None:
    path = fleet.clone / ".github" / "flux-upgrade.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"migrate: {migrate}\npolicy: minor\n")


def test_an_upgrade_that_moves_manifests_in_its_own_commit(with_alerts: Fleet) -> None:
    fleet = with_alerts
    config(fleet, "with-upgrade")
    said = fleet.run("upgrade").well().out
    assert "right after merging: run `flux migrate` with the Flux CLI 2.9 in the cluster" in said
    fleet.merge("Upgrade Flux")
    assert _GONE in fleet.reconcile(), "until then, it says"
    fleet.plane.flux("migrate")
    assert not fleet.reconcile()


def test_the_feature_gate_that_does_what_flux_migrate_does(start: Start, tmp_path: Path) -> None:
    """Once kustomize-controller is of Flux 2.9."""
    releases = require_shared("conformance", "releases")
    with running(start(), tmp_path / "fleet", releases, "MigrateAPIVersion=true") as fleet:
        fleet.bootstrap("v2.8.8")
        fleet.merge("Alerts", {ALERTS: OLD})
        assert not fleet.reconcile()
        config(fleet, "with-upgrade")
        fleet.run("upgrade").well()
        fleet.merge("Upgrade Flux")
        assert not fleet.reconcile()


def test_manifests_that_are_moved_first(with_alerts: Fleet) -> None:
    """Somebody else wrote one in the old version, too."""
    fleet = with_alerts
    written = fleet.plane.update(sample(NOTIFICATION, "v1beta2", "Alert", "all"), "helm")
    assert written.is_taken
    config(fleet, "before")
    held = fleet.run("plan").well().out
    assert "hold v2.9.4 · migration-pending" in held
    assert "merge what moves them first, and let Flux reconcile it" in held
    fleet.run("migrate").well()
    fleet.merge("Move manifests")
    assert not fleet.reconcile()

    said = fleet.run("upgrade").well().out
    assert "before merging: run `flux migrate` with the Flux CLI 2.8 in the cluster" in said
    fleet.plane.flux("migrate", version="v2.7.5")  # there is no 2.8 in the module proxy
    fleet.merge("Upgrade Flux")
    assert not fleet.reconcile()
    assert "# Flux Version: v2.9.4" in (fleet.clone / MANIFEST).read_text()


def test_a_move_that_the_release_in_use_refuses(fleet: Fleet) -> None:
    """Receiver from v1beta1, at v2.6.4: `flux migrate` completes it.

    The object's own controller does not run here. Where it writes the object in the meantime, the API server drops all
    of `metadata.managedFields`, which it cannot convert, and takes the move.
    """
    fleet.bootstrap("v2.6.4")
    fleet.merge("A webhook", {f"{CLUSTER}/webhook.yaml": RECEIVER})
    assert not fleet.reconcile()

    moved = fleet.run("migrate", "--to=v2.7.5").well().out
    assert "Run `flux migrate` after it: before that, the API server may refuse it because of `spec.interval`." in moved
    fleet.merge("Move manifests")
    assert "field not declared in schema" in fleet.reconcile()
    fleet.plane.flux("migrate", version="v2.7.5")
    assert not fleet.reconcile()


def test_a_roll_back_by_revert(fleet: Fleet) -> None:
    fleet.bootstrap("v2.8.8")
    config(fleet, "before")
    fleet.run("upgrade").well()
    fleet.merge("Upgrade Flux")
    assert not fleet.reconcile()
    git("revert", "--no-edit", "HEAD", at=fleet.clone)
    fleet.push()
    assert not fleet.reconcile()
    assert "# Flux Version: v2.8.8" in (fleet.clone / MANIFEST).read_text()


def test_components_that_go_and_come_back(fleet: Fleet) -> None:
    extra = "--components-extra=image-reflector-controller,image-automation-controller"
    fleet.bootstrap("v2.8.8", extra)
    manifest = fleet.clone / MANIFEST
    whole = manifest.read_text()
    assert "imagepolicies.image.toolkit.fluxcd.io" in whole
    for flags in ((), (extra,)):
        made = fleet.laptop.run("render", "--version=v2.8.8", f"--release-source={fleet.laptop.source}", *flags).well()
        manifest.write_text(made.out)
        fleet.merge("Components")
        assert not fleet.reconcile()
        config(fleet, "before")
    assert manifest.read_text() == whole
    fleet.run("upgrade").well()
    fleet.merge("Upgrade Flux")
    assert not fleet.reconcile()


def test_an_overlay_with_patches(fleet: Fleet) -> None:
    fleet.bootstrap("v2.8.8")
    listing = fleet.clone / CLUSTER / "flux-system" / "kustomization.yaml"
    patch = """patches:
- target:
    kind: Deployment
    name: kustomize-controller
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --concurrent=20
"""
    fleet.merge("Patch", {str(listing.relative_to(fleet.clone)): listing.read_text() + patch})
    assert not fleet.reconcile()
    config(fleet, "before")
    assert "1/1 patch still applies" in fleet.run("upgrade").well().out
    fleet.merge("Upgrade Flux")
    assert not fleet.reconcile()
    found = fleet.plane.get("apis/apps/v1/namespaces/flux-system/deployments/kustomize-controller")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert "--concurrent=20" in container["args"]
    assert container["image"].endswith(":v1.9.4")
