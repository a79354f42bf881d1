"""The artifact of a FluxInstance: manifests of several releases of Flux, a folder for each."""

from __future__ import annotations

import re

from flux_upgrade.artifact.manifest import REVISION
from flux_upgrade.errors import ReleaseNotFound
from flux_upgrade.ports import Artifacts
from flux_upgrade.values import NamedTuple
from flux_upgrade.versions import is_tag

_URL = re.compile(
    r"oci://(?P<repository>[A-Za-z0-9.-]+(?::\d+)?(?:/[a-z0-9._-]+)+)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_FOLDER = re.compile(r"(?:\./)?flux/(v[^/]+)/.")
"""flux-operator internal/controller/fluxinstance_controller.go: it looks for ``flux/<version>``."""
_SHORT = len("sha256:") + 12


class Artifact(NamedTuple):
    """``oci://<repository>[:<tag>][@<digest>]``."""

    repository: str
    tag: str
    digest: str

    @property
    def reference(self) -> str:
        """What the operator pulls: go-containerregistry leaves the tag aside where there is a digest."""
        return self.digest or self.tag or "latest"

    @property
    def is_pinned(self) -> bool:
        """Whether it stays as it is until somebody changes it."""
        return bool(self.digest) or self.tag not in ("", "latest")

    @property
    def is_of_flux(self) -> bool:
        """Whether it is Flux's own artifact, which holds one release."""
        return self.repository.endswith("/flux-manifests")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        # As much of the digest as tells it apart.
        return f"{self.repository}{tag}{f'@{self.digest[:_SHORT]}…' if self.digest else ''}"


def parsed(url: str) -> Artifact | None:
    """None for what is no such address."""
    match = _URL.fullmatch(url)
    return Artifact(match["repository"], match["tag"] or "", match["digest"] or "") if match else None


def releases_in(artifact: Artifact, artifacts: Artifacts) -> tuple[str, ...]:
    """The releases of Flux that an artifact of the flux-operator holds.

    Raises ReleaseNotFound where there is no such artifact, or nothing of Flux in it;
    SourceUnavailable, UntrustedArchive.
    """
    paths = artifacts.listing(artifact.repository, artifact.reference)
    if paths is None:
        raise ReleaseNotFound(
            f"there is no artifact {artifact}", hint="name one that exists in spec.distribution.artifact"
        )
    found = {match[1] for match in map(_FOLDER.match, paths) if match and is_tag(match[1])}
    if not found:
        raise ReleaseNotFound(
            f"the artifact {artifact} holds no folder flux/vX.Y.Z",
            hint="name an artifact of the flux-operator in spec.distribution.artifact",
        )
    return tuple(sorted(found))


def release_of(artifact: Artifact, artifacts: Artifacts) -> str:
    """The release in Flux's own artifact: its tag, or what it states; empty where neither is a release.

    Raises as ``releases_in``.
    """
    if is_tag(artifact.tag):
        return artifact.tag
    annotations = artifacts.annotations(artifact.repository, artifact.reference)
    if annotations is None:
        raise ReleaseNotFound(f"there is no artifact {artifact}", hint="name one that exists")
    tag = annotations.get(REVISION, "").partition("@")[0]
    return tag if is_tag(tag) else ""


def belongs(artifact: Artifact, artifacts: Artifacts) -> bool:
    """Whether the tag, where there is one beside a digest, stands for it. Raises as ``releases_in``."""
    if not (artifact.tag and artifact.digest):
        return True
    return artifacts.digest(artifact.repository, artifact.tag) == artifact.digest
