"""Runs of ``flux-upgrade`` on an artifact in a real registry, and what they leave there."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import requests

from adapters.registries import push
from flows import KUSTOMIZATION, manifest
from flux_upgrade import main
from flux_upgrade.model.timing import Timing
from memory_registry import FILE, tar_of
from real_parts import require_program

NOW = 1_788_000_000.0
"""In 2026: all written releases are out for long."""
ACCEPT = {"Accept": "application/vnd.oci.image.manifest.v1+json"}


def artifact(version: str) -> dict[str, bytes | tarfile.TarInfo]:
    """As ``flux push artifact`` packs a folder, with all that a folder may hold."""
    top, patches, script, link = map(
        tarfile.TarInfo, (".", "flux-system/patches", "scripts/check.sh", "flux-system/current.yaml")
    )
    for folder in (top, patches):
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
    script.mode = 0o755
    link.type, link.linkname = tarfile.SYMTYPE, "gotk-components.yaml"
    return {
        ".": top,
        "flux-system/current.yaml": link,
        FILE: manifest(version),
        "flux-system/kustomization.yaml": KUSTOMIZATION,
        "flux-system/patches": patches,
        "flux-system/patches/limits.yaml": b"- op: add\n",
        "scripts/check.sh": script,
    }


@cache
def packed(version: str) -> bytes:
    """The layer with that artifact."""
    return gzip.compress(tar_of(artifact(version)), mtime=0)


@dataclass
class Ran:
    """How a run ended."""

    exit_code: int
    out: str
    err: str


@dataclass
class Site:
    """A repository of a registry, and whoever works on it."""

    url: str
    source: Path
    path: str
    flags: tuple[str, ...] = ("--plain-http",)
    tag: str = "production"
    env: Mapping[str, str] = field(default_factory=dict)
    slept: list[float] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"oci://{self.url.partition('://')[2]}/{self.path}:{self.tag}"

    def run(self, command: str, *more: str, stdin: str = "") -> Ran:
        """``flux-upgrade COMMAND ADDRESS``."""
        own = () if command == "rollback" else (f"--release-source={self.source}",)
        out, err = io.BytesIO(), io.StringIO()
        code = main.run(
            [command, self.address, *self.flags, *own, *more],
            self.env,
            out,
            err,
            Timing(now=lambda: NOW + sum(self.slept), sleep=self.slept.append, jitter=lambda: 0.5),
            stdin=io.StringIO(stdin),
        )
        return Ran(code, out.getvalue().decode(), err.getvalue())

    def push(self, version: str, tag: str = "production", base: str = "") -> str:
        """As its user does, at first. ``base``: where, if not at ``url``. Its digest."""
        revision = {"org.opencontainers.image.revision": "main@sha1:0123"}
        return push(base or self.url, self.path, tag, packed(version), revision)


@dataclass
class Seen:
    """A repository as somebody else sees it, by plain requests."""

    url: str
    path: str
    _session: requests.Session = field(default_factory=requests.Session, repr=False)

    def tags(self) -> dict[str, str]:
        """Tag → digest."""
        listed = self._session.get(f"{self.url}/v2/{self.path}/tags/list", timeout=5).json()["tags"]
        return {tag: self.digest(tag) for tag in listed}

    def digest(self, tag: str = "production") -> str:
        found = self._session.head(f"{self.url}/v2/{self.path}/manifests/{tag}", headers=ACCEPT, timeout=5)
        return found.headers["Docker-Content-Digest"]

    def manifest(self, tag: str = "production") -> dict[str, Any]:
        answer = self._session.get(f"{self.url}/v2/{self.path}/manifests/{tag}", headers=ACCEPT, timeout=5)
        found: dict[str, Any] = answer.json()
        return found

    def layer(self, tag: str = "production") -> bytes:
        """The tar file."""
        digest = self.manifest(tag)["layers"][0]["digest"]
        return gzip.decompress(self._session.get(f"{self.url}/v2/{self.path}/blobs/{digest}", timeout=5).content)

    def version(self, tag: str = "production") -> str:
        """The release of Flux in it, by the header of its manifest."""
        with tarfile.open(fileobj=io.BytesIO(self.layer(tag))) as tar:
            file = tar.extractfile(FILE)
            assert file is not None
            found = re.search(r"^# Flux Version: (.*)$", file.read().decode(), re.MULTILINE)
        assert found is not None
        return found[1]


def entries(layer: bytes) -> list[tuple[object, ...]]:
    """Everything that a tar file says of its entries, and their contents."""
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        return [
            (
                each.name,
                each.type,
                oct(each.mode),
                each.uid,
                each.gid,
                each.mtime,
                each.linkname,
                b"" if (file := tar.extractfile(each) if each.isreg() else None) is None else file.read(),
            )
            for each in tar
        ]


def skopeo(*arguments: str) -> str:
    """What skopeo prints."""
    command = [require_program("skopeo"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  (ours)


def listed_by_skopeo(site: Site) -> dict[str, Any]:
    """The manifest of the moving tag, as skopeo reads it."""
    address = site.address.replace("oci://", "docker://")
    found: dict[str, Any] = json.loads(skopeo("inspect", "--raw", "--tls-verify=false", address))
    return found
