"""Repositories in which something is in the way of an upgrade, or in which one was begun before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from git_servers import git
from robot.installations import FOLDER
from robot.laptop import Laptop

_CONFIG = ".github/flux-upgrade.yaml"
_ALERTS = f"{FOLDER}/alerts.yaml"
_KUSTOMIZATION = f"{FOLDER}/flux-system/kustomization.yaml"
_PATCHED = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- gotk-components.yaml
- gotk-sync.yaml
patches:
- target:
    kind: CustomResourceDefinition
    name: helmreleases.helm.toolkit.fluxcd.io
  patch: |
    - op: replace
      path: /spec/versions/2/served
      value: false
"""
_APP = f"{FOLDER}/podinfo.yaml"
_OLD = {
    _ALERTS: """apiVersion: notification.toolkit.fluxcd.io/v1beta2
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
---
apiVersion: notification.toolkit.fluxcd.io/v1beta2
kind: Provider
metadata:
  name: chat
  namespace: flux-system
spec:
  type: slack
  channel: general
""",
    _APP: """apiVersion: helm.toolkit.fluxcd.io/v2beta1
kind: HelmRelease
metadata:
  name: podinfo
  namespace: default
spec:
  interval: 5m
  chart:
    spec:
      chart: podinfo
      sourceRef:
        kind: HelmRepository
        name: podinfo
---
apiVersion: source.toolkit.fluxcd.io/v1beta2
kind: HelmRepository
metadata:
  name: podinfo
  namespace: default
spec:
  interval: 5m
  url: https://example.com/charts
""",
}


class Scenario(NamedTuple):
    release: str
    files: Mapping[str, str] = {}
    begin: Callable[[Laptop], object] = lambda _: None


def _on_a_branch(laptop: Laptop) -> None:
    git("checkout", "--quiet", "-b", "upgrade", at=laptop.checkout)
    laptop.run("flux-upgrade upgrade --approve=2.7")
    laptop.commit()


def _newest_on_a_branch(laptop: Laptop) -> None:
    git("checkout", "--quiet", "-b", "upgrade", at=laptop.checkout)
    laptop.run("flux-upgrade upgrade --approve=2.9")
    laptop.commit()


def _staged(laptop: Laptop) -> None:
    laptop.run("flux-upgrade upgrade --approve=2.9")
    git("add", "--all", at=laptop.checkout)


SCENARIOS = {
    "removed API versions": Scenario("v2.2.3", _OLD),
    "removed API versions, migrated with the upgrade": Scenario(
        "v2.2.3", {**_OLD, _CONFIG: "policy: minor\nmigrate: with-upgrade\n"}
    ),
    "a policy of minors": Scenario("v2.0.0", {_CONFIG: "policy: minor\n"}),
    "a cool-down": Scenario("v2.8.8", {_CONFIG: "cool-down: {minor: 520w}\n"}),
    "a step that is not committed": Scenario(
        "v2.3.0", begin=lambda laptop: laptop.run("flux-upgrade upgrade --approve=2.7")
    ),
    "a step on a branch that is not merged": Scenario("v2.3.0", begin=_on_a_branch),
    "a patch that breaks": Scenario("v2.6.4", {_KUSTOMIZATION: _PATCHED}),
    "the newest release, not committed": Scenario(
        "v2.8.8", begin=lambda laptop: laptop.run("flux-upgrade upgrade --approve=2.9")
    ),
    "the newest release, staged": Scenario("v2.8.8", begin=_staged),
    "the newest release on a branch that is not merged": Scenario("v2.8.8", begin=_newest_on_a_branch),
    "minors that are approved together": Scenario(
        "v2.3.0", begin=lambda laptop: laptop.run("flux-upgrade upgrade --approve=2.7 --approve=2.9")
    ),
}
