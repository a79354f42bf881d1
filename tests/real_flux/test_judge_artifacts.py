"""`flux push`, `pull`, `tag` and `diff artifact` of the real CLI, and artifacts that flux-upgrade upgrades, on a real registry."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import requests

from adapters.registries import run_registry
from bootstrap.cli_runs import Laptop
from flux_upgrade.model.oci.manifest import FLUX_SOURCE, VERSION
from promotion.program import ACCEPT
from real_flux import differences
from real_flux.fleet import TIMING
from real_flux.programs import FLUX, run_flux
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

COMMAND = "flux push, pull, tag and diff artifact"
BEFORE, AFTER = "v2.7.5", FLUX
KUSTOMIZATION = "resources:\n- gotk-components.yaml\n"
MANIFEST = "flux-system/gotk-components.yaml"
OWN = ("--source=https://git.example.com/org/fleet", "--revision=main@sha1:0123456789012345678901234567890123456789")


@dataclass(frozen=True)
class Artifact:
    """A folder that `flux push artifact` packs."""

    flags: Sequence[str] = ()  # Of `flux install`
    push: Sequence[str] = OWN
    files: Mapping[str, str] = field(default_factory=lambda: {"flux-system/kustomization.yaml": KUSTOMIZATION})
    path: str = MANIFEST
    modes: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_dated(self) -> bool:
        """Whether it says another time than that of its push."""
        return any("--reproducible" in each or "created=" in each for each in self.push)

    def write(self, folder: Path, version: str) -> str:
        """The folder, with the manifest that the CLI of the version exports."""
        exported = run_flux("install", "--export", *self.flags, version=version)
        assert exported.returncode == 0, exported.stderr
        for name, content in {**self.files, self.path: exported.stdout.decode()}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
            (folder / name).chmod(self.modes.get(name, 0o644))
        for name, target in self.links.items():
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(target)
        return f"--path={folder}"


_PATCHED = (
    "resources:\n- gotk-components.yaml\npatches:\n- path: patches/limits.yaml\n  target:\n    kind: Deployment\n"
)
_LIMITS = "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --concurrent=20\n"
ARTIFACTS = {
    "default": Artifact(),
    "bare": Artifact(files={}),
    "at-the-top": Artifact(files={"kustomization.yaml": KUSTOMIZATION}, path="gotk-components.yaml"),
    "deep": Artifact(path="clusters/production/eu-central-1/flux-system/gotk-components.yaml", files={}),
    "all-components": Artifact(
        ("--components-extra=image-reflector-controller,image-automation-controller,source-watcher",)
    ),
    "two-components": Artifact(("--components=source-controller,kustomize-controller",)),
    "registry": Artifact(("--registry=registry.example.com/fluxcd", "--image-pull-secret=regcred")),
    "namespace": Artifact(("--namespace=gitops", "--watch-all-namespaces=false")),
    "tolerations": Artifact(("--toleration-keys=dedicated,team", "--network-policy=false")),
    "log-level": Artifact(("--log-level=debug", "--cluster-domain=k8s.internal")),
    "reproducible": Artifact(push=(*OWN, "--reproducible")),
    "annotations": Artifact(
        push=(*OWN, "--annotations=org.example.team=platform", "--annotations=org.example.note=a b")
    ),
    "created": Artifact(push=(*OWN, "--annotations=org.opencontainers.image.created=2026-01-01T00:00:00Z")),
    "of-flux": Artifact(push=(f"--source={FLUX_SOURCE}", f"--revision={BEFORE}")),
    "overlay": Artifact(files={"flux-system/kustomization.yaml": _PATCHED, "flux-system/patches/limits.yaml": _LIMITS}),
    "executable": Artifact(files={"bin/check.sh": "#!/bin/sh\n"}, modes={"bin/check.sh": 0o755}),
    "private-mode": Artifact(modes={MANIFEST: 0o600}),
    "symlink": Artifact(links={"flux-system/current.yaml": "gotk-components.yaml"}),
    "resolved-symlink": Artifact(
        links={"flux-system/kustomize.yaml": "kustomization.yaml"}, push=(*OWN, "--resolve-symlinks")
    ),
    "ignored": Artifact(
        files={"flux-system/kustomization.yaml": KUSTOMIZATION, "docs/notes.md": "n\n", "keep.yaml": "a: 1\n"},
        push=(*OWN, "--ignore-paths=docs/"),
    ),
    "many-files": Artifact(files={f"apps/{n:03}/release.yaml": f"number: {n}\n" for n in range(300)}),
    "odd-names": Artifact(files={"flux-system/ä ö.yaml": "a: 1\n", f"{'long-' * 30}.yaml": "a: 1\n", ".hidden": "h\n"}),
}


@dataclass(frozen=True)
class Repository:
    """Of a registry; ``address`` without a scheme."""

    url: str
    path: str

    def address(self, tag: str) -> str:
        return f"oci://{self.url.partition('://')[2]}/{self.path}:{tag}"

    def flux(self, command: str, tag: str, *words: str) -> str:
        """What a `flux … artifact` prints."""
        insecure = () if command == "tag" else ("--insecure-registry",)
        ran = run_flux(command, "artifact", self.address(tag), *insecure, *words)
        assert ran.returncode == 0, ran.stderr
        return ran.stderr.decode()

    def manifest(self, tag: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._get(f"manifests/{tag}"))
        return found

    def blob(self, digest: str) -> bytes:
        return self._get(f"blobs/{digest}")

    def digest(self, tag: str) -> str:
        return f"sha256:{sha256(self._get(f'manifests/{tag}')).hexdigest()}"

    def _get(self, path: str) -> bytes:
        answer = requests.get(f"{self.url}/v2/{self.path}/{path}", headers=ACCEPT, timeout=20)
        answer.raise_for_status()
        return answer.content


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "registry").mkdir()
    yield from run_registry(tmp_path / "registry", in_memory=True)


def test_what_flux_pushed_is_upgraded_as_flux_would_push_it(
    registry: str, tmp_path: Path, *, update_golden: bool
) -> None:
    found: list[str] = []
    for name, artifact in ARTIFACTS.items():
        folder = tmp_path / "artifacts" / name
        folder.mkdir(parents=True)
        found += differing(artifact, Repository(registry, f"org/{name}"), folder)
    differences.assert_known(COMMAND, len(ARTIFACTS), found, update=update_golden)


def differing(artifact: Artifact, repository: Repository, folder: Path) -> Iterator[str]:
    """In what the artifact differs from the one that `flux push artifact` makes of the upgraded folder."""
    laptop = Laptop(require_shared("conformance", "releases"), timing=TIMING)
    repository.flux("push", "production", artifact.write(folder / "tree", BEFORE), *artifact.push)
    repository.flux("tag", "production", "--tag=first")
    was = repository.manifest("first")
    ran = laptop.run(
        *("upgrade", repository.address("production"), f"--to={AFTER}", "--plain-http", "--check-images=false"),
        # Flux's own push records no earlier artifact, so older releases may have run.
        f"--approve={AFTER}+migrated",
        f"--release-source={laptop.source}",
    ).well()
    assert f"{BEFORE} → {AFTER}" in ran.out

    tree = artifact.write(folder / "tree", AFTER)
    repository.flux("push", "flux", tree, *artifact.push)
    ours, theirs = repository.manifest("production"), repository.manifest("flux")
    assert files(repository, "production", folder / "ours") == files(repository, "flux", folder / "theirs")
    yield from _of_manifests(was, ours, theirs, is_dated=artifact.is_dated)
    (own,), (their,) = (gunzipped(repository, each) for each in (ours, theirs))
    if own != their:
        yield "layer before compression"
    ignored = [each for each in artifact.push if each.startswith("--ignore-paths")]
    compared = run_flux(*("diff", "artifact", repository.address("production"), "--insecure-registry", tree, *ignored))
    if compared.returncode:
        yield "`flux diff artifact`"

    repository.flux("tag", "production", "--tag=ours")
    assert repository.digest("ours") == repository.digest("production")
    again = laptop.run(
        *("upgrade", repository.address("flux"), f"--to={AFTER}", "--plain-http", "--check-images=false"),
        f"--release-source={laptop.source}",
    ).well()
    assert "pushed" not in again.out, "what Flux pushed is what we would have pushed"


def gunzipped(repository: Repository, manifest: Any) -> list[bytes]:
    """Its layers."""
    return [gzip.decompress(repository.blob(each["digest"])) for each in manifest["layers"]]


def _of_manifests(was: Any, ours: Any, theirs: Any, *, is_dated: bool) -> Iterator[str]:
    for key in sorted(ours.keys() | theirs.keys()):
        if key in ("layers", "annotations"):
            continue
        if ours.get(key) != theirs.get(key):
            yield f"manifest: `{key}`"
    (own,), (their,) = ours["layers"], theirs["layers"]
    assert own["mediaType"] == their["mediaType"]
    if own["digest"] != their["digest"]:
        yield "digest of the layer"
    assert ours["annotations"].keys() >= was["annotations"].keys()
    assert ours["annotations"][VERSION] == AFTER, "the release source does not tell the commit"
    for key in sorted(ours["annotations"].keys() | theirs["annotations"].keys()):
        is_now = key.endswith(".created") and not is_dated
        if not is_now and ours["annotations"].get(key) != theirs["annotations"].get(key):
            yield f"annotation `{key}`"


def files(repository: Repository, tag: str, folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """What `flux pull artifact` unpacks: modes with contents or targets of links."""
    folder.mkdir()
    repository.flux("pull", tag, f"--output={folder}")
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, content)
    return found
