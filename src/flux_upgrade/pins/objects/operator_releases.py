"""Releases of the flux-operator, and which releases of Flux each of them knows.

Chart, image and manifests of one release carry the same version. What it knows stands in its
manifests, ``…/flux-operator-manifests:v<version>``: a folder ``flux/vX.Y.Z`` for each release of
Flux (flux-operator .github/workflows/release.yaml).
"""

from __future__ import annotations

import re
from bisect import bisect_left

from flux_upgrade.model.errors import HostNotAllowed, ReleaseNotFound, SourceUnavailable
from flux_upgrade.model.oci.manifest import REVISION
from flux_upgrade.model.ports import Artifacts
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.objects.chart_place import last
from flux_upgrade.pins.objects.operator_table import LOWEST, included

_URL = re.compile(
    r"oci://(?P<repository>[A-Za-z0-9.-]+(?::\d+)?(?:/[a-z0-9._-]+)+)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_FOLDER = re.compile(r"(?:\./)?flux/(v[^/]+)/.")
"""flux-operator internal/controller/fluxinstance_controller.go: it looks for ``flux/<version>``."""
_SHORT = len("sha256:") + 12
MANIFESTS = "flux-operator-manifests"
PUBLISHED = f"ghcr.io/controlplaneio-fluxcd/{MANIFESTS}"  # What is asked about charts and images


class DistributionArtifact(NamedTuple):
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


def parsed(url: str) -> DistributionArtifact | None:
    """None for what is no such address."""
    match = _URL.fullmatch(url)
    return DistributionArtifact(*(each or "" for each in match.groups())) if match else None


def releases_in(artifact: DistributionArtifact, artifacts: Artifacts) -> tuple[Version, ...]:
    """The releases of Flux that an artifact of the flux-operator holds.

    If the registry is unreachable, those that ``operator_table`` has for the tag of its release.

    Raises ReleaseNotFound where there is no such artifact, or nothing of Flux in it;
    SourceUnavailable, UntrustedArchive.
    """
    try:
        paths = artifacts.listing(artifact.repository, artifact.reference)
    except HostNotAllowed:  # You decide about the host
        raise
    except SourceUnavailable:
        is_ours = is_release_of_manifests(artifact) and not artifact.digest
        known = included(artifact.tag) if is_ours else ()
        if not known:
            raise
        return known
    if paths is None:
        raise ReleaseNotFound(
            f"there is no artifact {artifact}", hint="set an existing artifact in spec.distribution.artifact"
        )
    found = {Version(match[1]) for match in map(_FOLDER.match, paths) if match and is_tag(match[1])}
    if not found:
        raise ReleaseNotFound(
            f"the artifact {artifact} has no directory flux/vX.Y.Z",
            hint="set an artifact of the flux-operator in spec.distribution.artifact",
        )
    return tuple(sorted(found))


def release_of(artifact: DistributionArtifact, artifacts: Artifacts) -> str:
    """The release in Flux's own artifact: its tag, or what it states; empty where neither is a release.

    Raises as ``releases_in``.
    """
    if is_tag(artifact.tag):
        return artifact.tag
    annotations = artifacts.annotations(artifact.repository, artifact.reference)
    if annotations is None:
        raise ReleaseNotFound(f"there is no artifact {artifact}", hint="set an existing artifact")
    tag = annotations.get(REVISION, "").partition("@")[0]
    return tag if is_tag(tag) else ""


def belongs(artifact: DistributionArtifact, artifacts: Artifacts) -> bool:
    """Whether the tag, where there is one beside a digest, stands for it. Raises as ``releases_in``."""
    if not (artifact.tag and artifact.digest):
        return True
    return artifacts.digest(artifact.repository, artifact.tag) == artifact.digest


def is_release(tag: str) -> bool:
    """Whether it is the tag of a stable release: ``v0.38.1``."""
    return is_tag(tag) and "-" not in tag and "+" not in tag


def is_release_of_manifests(artifact: DistributionArtifact) -> bool:
    """Whether it is the operator's own artifact, by the tag of a release."""
    return last(artifact.repository) == MANIFESTS and is_release(artifact.tag)


def releases(repository: str, artifacts: Artifacts) -> tuple[Version, ...]:
    """The stable ones, lowest first. ``repository``: of the manifests. Raises as ``Artifacts.tags``."""
    return tuple(sorted(Version(tag) for tag in artifacts.tags(repository) if is_release(tag)))


def lowest_with(repository: str, own: str, target: str, artifacts: Artifacts) -> str:
    """The lowest release above ``own``, a tag, that knows the release ``target`` of Flux.

    No release forgets one, so that a few of them have to be looked into. Raises ReleaseNotFound
    where there is none (yet); SourceUnavailable, with the release that ``operator_table`` has; UntrustedArchive.
    """

    def knows(tag: str) -> bool:
        try:
            return target in releases_in(DistributionArtifact(repository, tag, ""), artifacts)
        except ReleaseNotFound:
            return False

    try:
        later = [tag for tag in releases(repository, artifacts) if tag > own]
    except HostNotAllowed:
        raise
    except SourceUnavailable as error:
        if target not in LOWEST:
            raise
        least = f"{LOWEST[target]} or later"
        message = f"Flux {target} needs the flux-operator {least}, which could not be looked up: {error.message}"
        raise type(error)(message, hint=f"{error.hint}; or upgrade the flux-operator to {least} yourself") from error
    at = bisect_left(later, x=True, key=knows)
    if at == len(later):
        raise ReleaseNotFound(
            f"no flux-operator release after {own} in {repository} includes Flux {target}",
            hint="run again later: it is released some days after Flux, and a mirror has it later",
        )
    return later[at]
