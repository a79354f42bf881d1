"""Two clusters of one repository, which read manifests in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from robot.cluster import FollowingCluster
from robot.installations import FOLDER, INSTALLATIONS
from robot.program import run_ours

_SHARED = "apps/base"
_HELM_RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2beta1
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
"""
_APPS = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 10m
  path: ./{path}
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""


@dataclass
class Pair:
    """Has the interface of a ``FollowingCluster``."""

    releases: Mapping[str, str]  # The directory of a cluster → the release that is installed first
    source: Path
    log: list[str] = field(default_factory=list)
    clusters: dict[str, FollowingCluster] = field(init=False)

    def __post_init__(self) -> None:
        self.clusters = {
            directory: FollowingCluster(INSTALLATIONS[0], has_images=False, source=self.source, log=self.log)
            for directory in self.releases
        }

    @property
    def told(self) -> str:
        return "\n".join(self.log)

    def files(self) -> dict[str, str]:
        """Return the repository: an app that both clusters read, and one that only the second reads."""
        second = list(self.releases)[-1]
        files = {
            f"{_SHARED}/podinfo.yaml": _HELM_RELEASE,
            f"{second}/own.yaml": _HELM_RELEASE.replace("podinfo", "own"),
        }
        for directory, release in self.releases.items():
            written = INSTALLATIONS[0].write(self.clusters[directory].flux(release))
            moved = {path.replace(FOLDER, directory): text.replace(FOLDER, directory) for path, text in written.items()}
            files |= {**moved, f"{directory}/apps.yaml": _APPS.format(path=_SHARED)}
        return files

    def reconcile(self, files: Mapping[str, str]) -> None:
        for directory, cluster in self.clusters.items():
            others = tuple(f"{other}/" for other in self.clusters if other != directory)
            read = {path: content for path, content in files.items() if not path.startswith(others)}
            cluster.reconcile({path.replace(f"{directory}/", f"{FOLDER}/"): text for path, text in read.items()})

    def wait(self) -> None:
        for cluster in self.clusters.values():
            cluster.wait()

    def run_ours(self, words: list[str], directory: Path) -> str:
        """Return what the program prints in a directory."""
        self.wait()
        return run_ours(words, directory, self.source, self.log)

    def run_flux(self, words: list[str], cli: str = "") -> str:
        """Run the Flux CLI in both clusters. ``cli``: its minor, if a text names one."""
        for cluster in self.clusters.values():
            cluster.run_flux(words, cli)
        return ""
