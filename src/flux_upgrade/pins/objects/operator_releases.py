"""Releases of the flux-operator, and which releases of Flux each of them knows.

Chart, image and manifests of one release carry the same version. What it knows stands in its
manifests, ``…/flux-operator-manifests:v<version>``: a folder ``flux/vX.Y.Z`` for each release of
Flux (flux-operator .github/workflows/release.yaml).
"""

from __future__ import annotations

from bisect import bisect_left

from flux_upgrade.errors import ReleaseNotFound
from flux_upgrade.kinds.parts.operator_artifact import Artifact, releases_in
from flux_upgrade.ports import Artifacts
from flux_upgrade.versions import is_tag, precedence

MANIFESTS = "flux-operator-manifests"
PUBLISHED = f"ghcr.io/controlplaneio-fluxcd/{MANIFESTS}"
"""What is asked about charts and images."""


def is_release(tag: str) -> bool:
    """Whether it is the tag of a stable release: ``v0.38.1``."""
    return is_tag(tag) and "-" not in tag and "+" not in tag


def is_release_of_manifests(artifact: Artifact) -> bool:
    """Whether it is the operator's own artifact, by the tag of a release."""
    return last(artifact.repository) == MANIFESTS and is_release(artifact.tag)


def last(repository: str) -> str:
    """The last word of a repository's name."""
    return repository.rstrip("/").rpartition("/")[2]


def releases(repository: str, artifacts: Artifacts) -> tuple[str, ...]:
    """The stable ones, lowest first. ``repository``: of the manifests. Raises as ``Artifacts.tags``."""
    return tuple(sorted(filter(is_release, artifacts.tags(repository)), key=precedence))


def highest(known: tuple[str, ...]) -> str:
    """Of the releases of Flux in an artifact, of which there is at least one."""
    return max(known, key=precedence)


def lowest_with(repository: str, own: str, target: str, artifacts: Artifacts) -> str:
    """The lowest release above ``own``, a tag, that knows the release ``target`` of Flux.

    No release forgets one, so that a few of them have to be looked into. Raises ReleaseNotFound
    where there is none (yet); SourceUnavailable, UntrustedArchive.
    """

    def knows(tag: str) -> bool:
        try:
            return target in releases_in(Artifact(repository, tag, ""), artifacts)
        except ReleaseNotFound:
            return False

    later = [tag for tag in releases(repository, artifacts) if precedence(tag) > precedence(own)]
    at = bisect_left(later, x=True, key=knows)
    if at == len(later):
        raise ReleaseNotFound(
            f"no release of the flux-operator after {own} in {repository} holds Flux {target}",
            hint="it is released some days after Flux, and a mirror later: try again then",
        )
    return later[at]
