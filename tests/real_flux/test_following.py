"""Who follows what plans and pull requests say ends with a Flux that is ready: its real controllers say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from git_servers import git
from real_flux import writers
from real_flux.conftest import EXTRA, Manifest, Start, objects
from real_flux.controllers import ALL
from real_flux.fleet import CLUSTER, Fleet, running
from real_flux.followed import following
from real_flux.matrix import dropped_between
from real_flux.samples import sample
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

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


def config(fleet: Fleet, migrate: str) -> None:
    path = fleet.clone / ".github" / "flux-upgrade.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"migrate: {migrate}\npolicy: minor\n")


@pytest.fixture
def whole(start: Start, tmp_path: Path) -> Iterator[Fleet]:
    """With all six controllers, at v2.8.8."""
    releases = require_shared("conformance", "releases")
    with running(start(), tmp_path / "fleet", releases, names=ALL) as fleet:
        fleet.bootstrap("v2.8.8", f"--components-extra={','.join(EXTRA)}")
        yield fleet


@pytest.mark.parametrize("migrate", ["before", "with-upgrade"])
def test_every_kind_that_the_release_drops(whole: Fleet, manifest: Manifest, tmp_path: Path, migrate: str) -> None:
    """And Helm and Terraform's provider have written some of them in the old version."""
    dropped = list(dropped_between(objects(manifest, "v2.8.8"), objects(manifest, "v2.9.4")))
    assert len(dropped) > 5
    olds = [sample(each.group, each.old, each.kind, each.old) for each in dropped]
    alert, provider = (next(each for each in olds if each["kind"] == kind) for kind in ("Alert", "Provider"))
    writers.helm(whole.plane, tmp_path / "helm", alert)
    writers.tofu(whole.plane, tmp_path / "tofu", provider)
    assert ("HashiCorp", provider["apiVersion"]) in whole.plane.managers(provider)
    assert ("helm", alert["apiVersion"]) in whole.plane.managers(alert)
    whole.merge("Objects", {ALERTS: "---\n".join(yaml.safe_dump(each, sort_keys=False) for each in olds)})
    assert not whole.reconcile()
    config(whole, migrate)
    whole.merge("Configure")

    with following(whole, whole.bare.folder, whole.laptop.source, tmp_path / "followed") as person:
        while pulls := person.propose():
            person.follow(pulls[0])
        merged = [each.title for each in person.repository.pulls.values() if each.merged_at]
        assert len(merged) == {"before": 2, "with-upgrade": 1}[migrate], merged
    head = git("show", f"main:{MANIFEST}", at=whole.bare.folder)
    assert "# Flux Version: v2.9.4" in head
    for each in dropped:
        new = sample(each.group, each.new, each.kind, each.old)
        assert whole.plane.apply(new).is_taken, each


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


def test_a_move_that_the_release_in_use_refuses(fleet: Fleet) -> None:
    """Receiver from v1beta1, at v2.6.4: `flux migrate` completes it.

    The object's own controller does not run here. Where it writes the object in the meantime, the API server drops all
    of `metadata.managedFields`, which it cannot convert, and takes the move.
    """
    fleet.bootstrap("v2.6.4")
    fleet.merge("A webhook", {f"{CLUSTER}/webhook.yaml": RECEIVER})
    assert not fleet.reconcile()

    moved = fleet.run("migrate", "--to=v2.7.5").well().out
    assert "Run `flux migrate` afterward. Until then, the API server may reject it because of `spec.interval`." in moved
    fleet.merge("Move manifests")
    assert "field not declared in schema" in fleet.reconcile()
    fleet.plane.flux("migrate", version="v2.7.5")
    assert not fleet.reconcile()


def test_a_roll_back_by_revert(fleet: Fleet, tmp_path: Path) -> None:
    fleet.bootstrap("v2.8.8")
    config(fleet, "before")
    fleet.merge("Configure")
    with following(fleet, fleet.bare.folder, fleet.laptop.source, tmp_path / "followed") as person:
        (pull,) = person.propose()
        person.follow(pull)
        assert "revert this pull request" in pull.body
        person.repository.people.revert(person.repository.head())
        assert not fleet.reconcile()
        assert not person.propose(), "Flux 2.9 is not proposed again"
    assert "# Flux Version: v2.8.8" in git("show", f"main:{MANIFEST}", at=fleet.bare.folder)


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
    upgraded = fleet.run("upgrade", "--details").well().out
    assert f"  1/1 patch still applies ({CLUSTER}/flux-system/kustomization.yaml" in upgraded
    fleet.merge("Upgrade Flux")
    assert not fleet.reconcile()
    found = fleet.plane.get("apis/apps/v1/namespaces/flux-system/deployments/kustomize-controller")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert "--concurrent=20" in container["args"]
    assert container["image"].endswith(":v1.9.4")
