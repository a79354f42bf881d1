"""GitHub's release objects, as the API lists them and as mirrors keep them in ``releases.json``.

Only ``tag_name`` is needed; names, notes, dates and assets may be missing
(mirrors leave them out). Pure: bytes in, values out.
"""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.adapters.http.archive import MANIFESTS, malformed, parse_json, sha256_of_digest
from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable
from flux_upgrade.model.text import one_line
from flux_upgrade.model.versions import Release, Version, is_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Releases


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
        raise malformed(what, "is not a list of release objects")
    return value


def release_of(entry: dict[str, object]) -> Release | None:
    """One release object as a value; None for drafts and for tags that are no versions."""
    tag = entry.get("tag_name")
    if not isinstance(tag, str) or not is_tag(tag) or entry.get("draft") is True:
        return None
    prerelease, published, notes = (entry.get(key) for key in ("prerelease", "published_at", "body"))
    return Release(
        tag=Version(tag),
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


def require_tag(tag: str) -> None:
    """Raise ReleaseNotFound unless ``tag`` is ``v`` and a semantic version."""
    if not is_tag(tag):
        hint = f"did you mean v{tag}?" if is_tag(f"v{tag}") else "name it as Flux does, for example v2.9.4"
        raise ReleaseNotFound(f"there is no Flux release named '{one_line(tag)}'", hint=hint)


def known_tags(releases: Releases) -> tuple[Version, ...]:
    """What a source lists, for a hint, which may be had without."""
    try:
        return tuple(release.tag for release in releases.list())
    except SourceUnavailable:
        return ()


def not_found(tag: str, source: str, known: Iterable[str] = ()) -> ReleaseNotFound:
    """The error for a well-formed ``tag`` that ``source`` does not have, naming those it has."""
    newest_first = sorted((Version(each) for each in known if is_tag(each)), reverse=True)
    near = [t for t in newest_first if t.minor == Version(tag).minor][:3]
    if tag in newest_first:
        return ReleaseNotFound(
            f"{one_line(source)} lists the Flux release {tag}, and has no manifests for it",
            hint="assets appear some minutes after the release: try again later",
        )
    hint = "check the version and the release source"
    if near:
        hint = f"of that minor it has {', '.join(near)}; the newest that it has is {newest_first[0]}"
    elif newest_first:
        hint = f"the newest that it has is {newest_first[0]}"
    return ReleaseNotFound(f"{one_line(source)} has no Flux release {tag}", hint=hint)
