"""Releases whose API versions came and went as those of Flux did."""

from __future__ import annotations

from functools import cache

import written_release

from flux_upgrade.manifests.options import InstallOptions
from memory import WrittenReleases, regenerator

TAGS = ("v2.5.1", "v2.6.4", "v2.7.5", "v2.8.8", "v2.9.4")
APIS = {
    # Since which minor which versions, the stored one first. v2.5.1 and v2.9.4 share none of GitRepository's.
    "GitRepository": ((0, "v1beta2"), (6, "v1 v1beta2"), (8, "v1")),
    "Kustomization": ((0, "v1 v1beta2 v1beta1"), (7, "v1 v1beta2"), (8, "v1")),
    "HelmRelease": ((0, "v2 v2beta2 v2beta1"), (7, "v2 v2beta2"), (8, "v2")),
    "Alert": ((0, "v1beta3 v1beta2 v1beta1"), (7, "v1beta3 v1beta2"), (9, "v1beta3")),
    "ImagePolicy": ((0, "v1beta2 v1beta1"), (7, "v1 v1beta2"), (9, "v1")),
    "ImageUpdateAutomation": ((0, "v1beta2 v1beta1"), (7, "v1 v1beta2"), (9, "v1")),
    "ArtifactGenerator": ((0, "v1beta1"),),
}


def served(kind: str, tag: str) -> tuple[str, ...]:
    """The versions of a kind in a release, the stored one first."""
    minor, _ = written_release.numbers(tag)
    *_, last = (versions for since, versions in APIS[kind] if since <= minor)
    return tuple(last.split())


@cache
def releases() -> WrittenReleases:
    """All of them."""
    return WrittenReleases(TAGS, served)


@cache
def manifest(tag: str) -> bytes:
    """``gotk-components.yaml`` of one of them."""
    return regenerator(releases()).regenerate(InstallOptions(tag)).text.encode()
