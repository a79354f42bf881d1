"""Flux's own repository on the stand-in, with the releases that were written for the demo."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import written_release

from github_stand_in.hub import StandIn
from github_stand_in.repository import Repository


def publish_releases(
    hub: StandIn, dates: Mapping[str, str], notes: Mapping[str, str] | None = None, full_name: str = "fluxcd/flux2"
) -> Repository:
    """Publish releases: tag → time of publication; ``notes`` by tag. Makes the repository where there is none."""
    repository = hub.repositories.get(full_name) or hub.create_repository(full_name, {"README.md": b"Flux\n"})
    for tag, published_at in dates.items():
        archive = written_release.archive(written_release.files(tag))
        stated = f"{hashlib.sha256(archive).hexdigest()}  manifests.tar.gz\n"
        assets = {"manifests.tar.gz": archive, f"flux_{tag.removeprefix('v')}_checksums.txt": stated.encode()}
        repository.publish_release(tag, published_at, assets, body=(notes or {}).get(tag, ""))
    return repository
