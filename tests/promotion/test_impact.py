"""A promotion that a patch breaks is held: in the artifact itself, and in the clusters that follow its tag."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.registries import push
from flows import KUSTOMIZATION, manifest
from memory_registry import FILE, tar_of
from promotion.program import Seen, Site

RELEASE = b"""apiVersion: helm.toolkit.fluxcd.io/v1
kind: HelmRelease
metadata:
  name: podinfo
  namespace: apps
spec:
  interval: 10m
"""
ALERT = b"""apiVersion: notification.toolkit.fluxcd.io/v1beta2
kind: Alert
metadata:
  name: all
  namespace: flux-system
"""
# By its place in the list: the release has one version fewer.
PATCHES = """patches:
- target:
    kind: CustomResourceDefinition
    name: helmreleases.helm.toolkit.fluxcd.io
  patch: |
    - op: move
      from: /spec/versions/0
      path: /spec/versions/-
    - op: replace
      path: /spec/versions/0/served
      value: false
"""
SOURCE = """apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata:
  name: flux
  namespace: flux-system
spec:
  url: {url}
  ref:
    tag: production
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux
  namespace: flux-system
spec:
  path: ./
  prune: true
  sourceRef:
    kind: OCIRepository
    name: flux
"""
APPROVED = ("--policy=minor", "--approve=2.9+migrated")


@pytest.fixture
def site(registry_url: str, written_source: Path, request: pytest.FixtureRequest) -> Site:
    name = re.sub(r"[^a-z]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    return Site(registry_url, written_source, f"org/{name}")


def pushed(site: Site, more: Mapping[str, bytes]) -> str:
    """An artifact with Flux v2.8.8; its digest."""
    files = {FILE: manifest("v2.8.8"), "flux-system/kustomization.yaml": KUSTOMIZATION, **more}
    return push(site.url, site.path, site.tag, gzip.compress(tar_of(files), mtime=0))


def checkout(folder: Path, site: Site, spec: str, files: Mapping[str, bytes]) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    of_flux = SOURCE.format(url=site.address.removesuffix(":production"))
    (folder / "flux.yaml").write_text(of_flux + "".join(f"  {line}\n" for line in spec.splitlines()))
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_a_patch_in_the_artifact_that_turns_off_what_it_uses(site: Site) -> None:
    kustomization = KUSTOMIZATION + PATCHES.encode()
    digest = pushed(site, {"flux-system/kustomization.yaml": kustomization, "apps/podinfo.yaml": RELEASE})

    held = site.run("upgrade", *APPROVED)

    assert held.exit_code == 0, held.err
    assert "overlay-breaks" in held.out
    assert "this patch turns off HelmRelease v1 in v2.9.4, used in apps/podinfo.yaml:1" in held.out
    assert Seen(site.url, site.path).digest() == digest

    accepted = site.run("upgrade", *APPROVED, "--accept-breaks")
    assert accepted.exit_code == 0, accepted.err
    assert Seen(site.url, site.path).version() == "v2.9.4"


def test_an_api_version_in_the_artifact_that_the_release_does_not_serve(site: Site) -> None:
    digest = pushed(site, {"flux-system/alert.yaml": ALERT})
    held = site.run("upgrade", *APPROVED)
    assert "blocked-by-api-removal" in held.out
    assert "flux-system/alert.yaml:1" in held.out
    assert Seen(site.url, site.path).digest() == digest


def test_a_patch_of_the_kustomization_that_installs_the_artifact(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = pushed(site, {})
    checkout(tmp_path, site, PATCHES, {"podinfo.yaml": RELEASE})
    monkeypatch.chdir(tmp_path)
    held = site.run("upgrade", *APPROVED)
    assert held.exit_code == 0, held.err
    assert "flux.yaml:29: this patch turns off HelmRelease v1 in v2.9.4, used in podinfo.yaml:1" in held.out
    assert Seen(site.url, site.path).digest() == digest


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_pin_of_an_artifact_with_a_patch_that_breaks(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_inside: bool
) -> None:
    kustomization = KUSTOMIZATION + (PATCHES.encode() if is_inside else b"")
    digest = pushed(site, {"flux-system/kustomization.yaml": kustomization, "apps/podinfo.yaml": RELEASE})
    checkout(tmp_path, site, "" if is_inside else PATCHES, {"podinfo.yaml": RELEASE})
    source = tmp_path / "flux.yaml"
    source.write_text(source.read_text().replace("tag: production", f"digest: {digest}"))
    monkeypatch.chdir(tmp_path)

    held = site.run("plan", *APPROVED)

    assert held.exit_code == 0, held.err
    assert "minor  held: overlay-breaks, see step 1\n" in held.out
    used = "apps/podinfo.yaml:1" if is_inside else "podinfo.yaml:1"
    assert "this patch turns off HelmRelease v1" in held.out
    assert f", used in {used}" in held.out


def test_what_the_cluster_reads_is_migrated_first(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = pushed(site, {})
    checkout(tmp_path, site, "", {"alert.yaml": ALERT})
    monkeypatch.chdir(tmp_path)
    held = site.run("upgrade", *APPROVED)
    assert "blocked-by-api-removal" in held.out
    assert "Run `flux-upgrade migrate --to v2.9.4`" in held.out
    assert Seen(site.url, site.path).digest() == digest

    (tmp_path / "alert.yaml").write_bytes(ALERT.replace(b"v1beta2", b"v1"))
    promoted = site.run("upgrade", *APPROVED)
    assert promoted.exit_code == 0, promoted.err
    assert Seen(site.url, site.path).version() == "v2.9.4"


def test_a_patch_is_promoted_whatever_a_minor_would_break(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {FILE: manifest("v2.8.7"), "flux-system/kustomization.yaml": KUSTOMIZATION}
    push(site.url, site.path, site.tag, gzip.compress(tar_of(files), mtime=0))
    checkout(tmp_path, site, PATCHES, {"podinfo.yaml": RELEASE, "alert.yaml": ALERT})
    monkeypatch.chdir(tmp_path)
    ran = site.run("upgrade", "--policy=minor")
    assert ran.exit_code == 0, ran.err
    assert Seen(site.url, site.path).version() == "v2.8.8"
