"""A tag of a registry, which a cluster follows, and the directory in which the robot runs what is printed."""

from __future__ import annotations

import gzip
import io
import shlex
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.registries import push
from memory_registry import tar_of
from promotion.program import Seen
from robot.cluster import FollowingCluster

_TAG = "production"


@dataclass
class Tag:
    registry: str  # URL
    path: str  # Name of the repository
    directory: Path  # Working directory, no checkout
    cluster: FollowingCluster
    _digest: str = ""  # Digest of the artifact that the cluster runs

    @property
    def address(self) -> str:
        return f"oci://{self.registry.partition('://')[2]}/{self.path}:{_TAG}"

    @property
    def first(self) -> str:
        """The command to begin with."""
        return f"flux-upgrade plan {self.address} --plain-http"

    def begin(self, files: Mapping[str, str]) -> None:
        """Push an artifact, as ``flux push artifact`` does, and have Flux apply it."""
        layer = tar_of({path: content.encode() for path, content in files.items()})
        push(self.registry, self.path, _TAG, gzip.compress(layer, mtime=0))
        self._reconcile()

    def commit(self) -> None:
        raise AssertionError(f"{self.cluster.told}\nan artifact has no commits")

    def push(self) -> None:
        raise AssertionError(f"{self.cluster.told}\nan artifact has no branch")

    def apply(self) -> None:
        raise AssertionError(f"{self.cluster.told}\nan artifact has no Terraform files")

    def merge(self, branch: str) -> None:
        raise AssertionError(f"{self.cluster.told}\nan artifact has no {branch}")

    def remove_item(self, path: str, line: int) -> None:
        raise AssertionError(f"{self.cluster.told}\nan artifact has no {path}:{line} to change")

    def run(self, command: str, cli: str = "") -> str:
        """Return what a program prints. The cluster applies what the tag points to afterwards.

        ``cli``: the minor of the Flux CLI to use.
        """
        program, *words = shlex.split(command)
        if program == "flux":
            return self.cluster.run_flux(words, cli)
        assert program == "flux-upgrade", command
        said = self.cluster.run_ours(words, self.directory)
        self._reconcile()
        return said

    def _reconcile(self) -> None:
        seen = Seen(self.registry, self.path)
        digest = seen.digest(_TAG)
        if digest != self._digest:
            with tarfile.open(fileobj=io.BytesIO(seen.layer(_TAG))) as tar:
                members = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
                self.cluster.reconcile({name: file.read().decode() for name, file in members if file is not None})
            self._digest = digest
