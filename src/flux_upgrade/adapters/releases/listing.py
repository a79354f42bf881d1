"""GitHub's release objects, as the API lists them and as mirrors keep them in ``releases.json``.

Only ``tag_name`` is needed; names, notes, dates and assets may be missing
(mirrors leave them out). Pure: bytes in, values out.
"""

from __future__ import annotations

from flux_upgrade.edges.checksums import MANIFESTS, sha256_of_digest
from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import SourceUnavailable
from flux_upgrade.model import Release
from flux_upgrade.versions import is_tag


def parse_json(data: bytes, what: str) -> object:
    """The JSON value in ``data``. Raises SourceUnavailable; ``what`` names it there."""
    import json

    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise _broken(what, "is not JSON") from None
    return value


def parse_releases(data: bytes, what: str) -> tuple[Release, ...]:
    """The releases in a list of release objects, in its order.

    Drafts are left out, and tags that are not ``v`` and a semantic version.
    Raises SourceUnavailable where it is no list of objects.
    """
    found = (release_of(entry) for entry in objects(data, what))
    return tuple(release for release in found if release is not None)


def objects(data: bytes, what: str) -> list[dict[str, object]]:
    """The list of objects in ``data``. Raises SourceUnavailable where it is none."""
    value = parse_json(data, what)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise _broken(what, "is not a list of release objects")
    return value


def release_of(entry: dict[str, object]) -> Release | None:
    """One release object as a value; None for drafts and for tags that are no versions."""
    tag = entry.get("tag_name")
    if not isinstance(tag, str) or not is_tag(tag) or entry.get("draft") is True:
        return None
    prerelease, published, notes = (entry.get(key) for key in ("prerelease", "published_at", "body"))
    return Release(
        tag=tag,
        prerelease=prerelease if isinstance(prerelease, bool) else "-" in tag,
        published_at=published if isinstance(published, str) else "",
        notes=notes if isinstance(notes, str) else "",
    )


def asset_of(entry: dict[str, object], name: str) -> dict[str, object] | None:
    """The asset ``name`` of a release object, or None."""
    assets = entry.get("assets")
    for asset in assets if isinstance(assets, list) else ():
        if isinstance(asset, dict) and asset.get("name") == name:
            return asset
    return None


def archive_digest(data: bytes, tag: str, what: str) -> str | None:
    """The sha256 that a list of release objects gives for the archive of ``tag``, where it does."""
    for entry in objects(data, what):
        if entry.get("tag_name") == tag:
            asset = asset_of(entry, MANIFESTS)
            return None if asset is None else sha256_of_digest(asset.get("digest"))
    return None


def _broken(what: str, why: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"{one_line(what)} {why}",
        hint="it should be GitHub's list of release objects, a list with at least tag_name in each",
    )
