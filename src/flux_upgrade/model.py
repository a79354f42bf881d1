"""The frozen values that flow from the edges through the core."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.values import NamedTuple


class Release(NamedTuple):
    """One Flux release as its source lists it."""

    tag: str
    """The Git tag, with its leading ``v``."""
    prerelease: bool = False
    published_at: str = ""
    """RFC 3339, UTC; empty where the source does not tell."""
    notes: str = ""
    """The release notes, Markdown of anybody's; empty where the source has none."""


class ReleaseManifests(NamedTuple):
    """What a release's ``manifests.tar.gz`` holds."""

    tag: str
    files: Mapping[str, str]
    """File name (``source-controller.yaml``, ``rbac.yaml`` …) → text."""
    verified: bool
    """False where the release publishes no checksum for its manifests (before v0.25.3)."""

    @property
    def components(self) -> tuple[str, ...]:
        """The controllers that the release ships, in alphabetical order."""
        return tuple(
            sorted(
                name.removesuffix(".yaml")
                for name in self.files
                if name not in ("rbac.yaml", "policies.yaml")
            )
        )
