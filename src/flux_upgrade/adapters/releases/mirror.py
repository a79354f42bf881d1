"""Releases on a web server that is laid out as ``<tag>/<asset>``, with ``releases.json`` beside."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from flux_upgrade.adapters.http import archive, origins
from flux_upgrade.adapters.http.archive import MAX_COMPRESSED, refused
from flux_upgrade.adapters.http.cache import DownloadCache
from flux_upgrade.adapters.http.client import CONDITIONAL, PLAIN, BodyTooLarge, Client, RequestOptions
from flux_upgrade.adapters.releases import listing
from flux_upgrade.adapters.releases.directory import INDEX, LaidOutReleases
from flux_upgrade.model.errors import SourceUnavailable, UsageError
from flux_upgrade.model.versions import Release, ReleaseManifests

ARCHIVE = RequestOptions(limit=MAX_COMPRESSED, verbatim=True)
"""How archives are fetched: bounded, and as the bytes that a checksum is of."""


class HttpReleases(LaidOutReleases):
    """The port Releases over http(s), below ``base_url``.

    Raises UsageError for an address that is not http(s), or that holds a
    password, a query or a fragment.
    """

    def __init__(self, base_url: str, client: Client, cache: DownloadCache) -> None:
        self._base = _checked(base_url)
        self._client = client
        self._cache = cache
        self._name = f"the release source {origins.host(base_url)}"
        self._where_index = f"{self._name}'s {INDEX}"

    def list(self) -> tuple[Release, ...]:
        body = self._read(INDEX)
        if body is None:
            raise SourceUnavailable(
                f"{self._name} has no releases.json",
                hint="put one beside the tags, or name the version: a list is not needed for one release",
            )
        return listing.parse_releases(body, self._where_index)

    def manifests(self, tag: str) -> ReleaseManifests:
        """Without a checksums file they are not verified."""
        listing.require_tag(tag)
        text = self._get(
            tag, archive.checksums_name(tag), options=RequestOptions(limit=archive.MAX_CHECKSUMS)
        )
        stated = None if text is None else archive.stated_sha256(tag, text.decode("utf-8", "replace"))
        data = None if stated is None else self._cache.get(stated)
        if data is not None:
            return archive.checked_manifests(tag, data, stated)
        data = self._archive(tag)
        digest = self._digest(tag) if text is None else None
        manifests = archive.checked_manifests(tag, data, stated, digest)
        if stated is not None:
            self._cache.put(data)
        return manifests

    def _archive(self, tag: str) -> bytes:
        try:
            data = self._get(tag, archive.MANIFESTS, options=ARCHIVE)
        except BodyTooLarge:
            raise refused(
                f"{archive.MANIFESTS} of {tag}", f"it is larger than {MAX_COMPRESSED} bytes"
            ) from None
        if data is None:
            raise listing.not_found(tag, self._name, listing.known_tags(self))
        return data

    def _read(self, *parts: str) -> bytes | None:
        return self._get(*parts, options=CONDITIONAL if parts == (INDEX,) else PLAIN)

    def _get(self, *parts: str, options: RequestOptions) -> bytes | None:
        url = "/".join((self._base, *(quote(part) for part in parts)))
        response = self._client.get(url, options)
        return response.body if response.is_found else None


def _checked(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        usable = origins.origin(base_url).scheme in origins.PORTS
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or parts.query or parts.fragment:
        # The address is not shown: what made it unusable may be a password in it.
        raise UsageError(
            "the release source's address cannot be used",
            hint="give it as https://host/path, without user name, password, '?' or '#'",
        )
    return base_url.rstrip("/")
