"""A checkout whose OCIRepository pins an artifact with Flux's manifests, and the registry that has it."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from adapters.registries import push
from memory_registry import tar_of
from promotion.program import Seen
from robot.cluster import FollowingCluster
from robot.installations import FOLDER, INSTALLATIONS, SYNC
from robot.laptop import Laptop

_PLACE = f"{FOLDER}/flux.yaml"
_PINNED = """apiVersion: source.toolkit.fluxcd.io/{version}
kind: OCIRepository
metadata:
  name: flux
  namespace: flux-system
spec:
  interval: 10m
  ref:
    digest: {digest}
    tag: {tag}
  url: {url}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux
  namespace: flux-system
spec:
  interval: 10m
  path: ./
  prune: true
  sourceRef:
    kind: OCIRepository
    name: flux
"""


@dataclass
class Pinned(Laptop):
    registry: str = ""  # URL
    path: str = ""  # Name of the repository in it

    @property
    def url(self) -> str:
        return f"oci://{self.registry.partition('://')[2]}/{self.path}"

    @property
    def first(self) -> str:
        """The command to begin with."""
        return f"flux-upgrade plan {self.url} --plain-http"

    def begin(self, files: Mapping[str, str]) -> None:
        """Push the files as an artifact, and commit the reference to it."""
        layer = tar_of({path: content.encode() for path, content in files.items()})
        digest = push(self.registry, self.path, "first", gzip.compress(layer, mtime=0))
        # Flux serves v1 of an OCIRepository from 2.6 on.
        version = "v1" if INSTALLATIONS[0].release(files) >= "v2.6" else "v1beta2"
        pinned = _PINNED.format(digest=digest, tag="first", url=self.url, version=version)
        super().begin({_PLACE: pinned, f"{FOLDER}/sync.yaml": SYNC})

    def reconcile(self, files: Mapping[str, str]) -> None:
        """Have Flux apply the artifact that the files name, and the files."""
        source, _ = yaml.safe_load_all(files[_PLACE])
        layer = Seen(self.registry, self.path).layer(source["spec"]["ref"]["digest"])
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            members = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
            named = {name: file.read().decode() for name, file in members if file is not None}
        assert isinstance(self.cluster, FollowingCluster)
        self.cluster.reconcile({**files, **named})
