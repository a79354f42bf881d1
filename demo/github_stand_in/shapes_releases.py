"""Releases as the REST API shows them."""

from __future__ import annotations

import hashlib

from github_stand_in.model import Asset, Release
from github_stand_in.shapes import Json, Shapes


class ReleaseShapes(Shapes):
    """The shapes of one repository's releases."""

    def release(self, release: Release) -> Json:
        """A release."""
        url = f"{self.url}/releases/{release.id}"
        return {
            "url": url,
            "html_url": f"{self.html}/releases/tag/{release.tag}",
            "assets_url": f"{url}/assets",
            "upload_url": f"{url}/assets{{?name,label}}",
            "tarball_url": f"{self.url}/tarball/{release.tag}",
            "zipball_url": f"{self.url}/zipball/{release.tag}",
            "id": release.id,
            "node_id": f"RE_{release.id}",
            "tag_name": release.tag,
            "target_commitish": self.repository.default_branch,
            "name": release.tag,
            "body": release.body,
            "draft": release.draft,
            "prerelease": release.prerelease,
            "immutable": True,
            "created_at": release.published_at or self.repository.created_at,
            "published_at": release.published_at or None,
            "author": self.user("fluxcdbot"),
            "assets": [self._asset(release, asset) for asset in release.assets],
        }

    def _asset(self, release: Release, asset: Asset) -> Json:
        return {
            "url": f"{self.url}/releases/assets/{asset.id}",
            "browser_download_url": f"{self.html}/releases/download/{release.tag}/{asset.name}",
            "id": asset.id,
            "node_id": f"RA_{asset.id}",
            "name": asset.name,
            "label": None,
            "state": "uploaded",
            "content_type": "application/octet-stream",
            "size": len(asset.content),
            "digest": f"sha256:{hashlib.sha256(asset.content).hexdigest()}",
            "download_count": 0,
            "created_at": release.published_at or self.repository.created_at,
            "updated_at": release.published_at or self.repository.created_at,
            "uploader": self.user("fluxcdbot"),
        }
