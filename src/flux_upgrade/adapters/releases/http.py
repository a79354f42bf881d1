"""Releases over http: Flux's on GitHub, and web servers that are laid out as ``<tag>/<asset>``.

https://docs.github.com/rest/releases
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import quote, urlsplit

from flux_upgrade.adapters.http import archive, origins
from flux_upgrade.adapters.http.archive import MAX_COMPRESSED, parse_json, refused
from flux_upgrade.adapters.http.cache import DownloadCache
from flux_upgrade.adapters.http.client import CONDITIONAL, PLAIN, BodyTooLarge, Client, RequestOptions
from flux_upgrade.adapters.releases import directory
from flux_upgrade.adapters.releases.directory import INDEX, LaidOutReleases
from flux_upgrade.adapters.releases.registry import FluxManifestsRegistry
from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UsageError
from flux_upgrade.model.versions import Release, ReleaseManifests

_MAX_PAGES = 50
_VERSION = {"X-GitHub-Api-Version": "2022-11-28"}
_API = RequestOptions(headers={"Accept": "application/vnd.github+json", **_VERSION}, conditional=True)
_SHA = RequestOptions(headers={"Accept": "application/vnd.github.sha", **_VERSION})
ARCHIVE = RequestOptions(limit=MAX_COMPRESSED, verbatim=True)
"""How archives are fetched: bounded, and as the bytes that a checksum is of."""
_COMMIT = re.compile("[0-9a-f]{40}")


def asset_url(asset: dict[str, object], what: str, *, api_url: str) -> str:
    """Where an asset can be fetched without a token; over https, if the API is. Raises SourceUnavailable."""
    url = asset.get("browser_download_url")
    schemes = ("https://",) if api_url.startswith("https://") else ("https://", "http://")
    if not isinstance(url, str) or not url.startswith(schemes):
        raise SourceUnavailable(
            f"{what} has no download URL", hint="run flux-upgrade again later, or use another --release-source"
        )
    return origins.followed(api_url, url, "names for a download")


class GitHubReleases:
    """The port Releases over GitHub's API; what Flux published comes from its registry."""

    def __init__(  # noqa: PLR0913  (three parts, and three addresses that tests and mirrors replace)
        self,
        client: Client,
        cache: DownloadCache,
        registry: FluxManifestsRegistry,
        *,
        repository: str = "fluxcd/flux2",
        api_url: str = "https://api.github.com",
        raw_url: str = "https://raw.githubusercontent.com",
    ) -> None:
        self._client = client
        self._cache = cache
        self._registry = registry
        self._repository = repository
        self._repository_url = f"{api_url.rstrip('/')}/repos/{repository}"
        self._releases_url = f"{self._repository_url}/releases"
        self._raw_url = f"{raw_url.rstrip('/')}/{repository}"
        self._entries: dict[str, dict[str, object]] | None = None

    def list(self) -> tuple[Release, ...]:
        """Every release of Flux 2, and those on its pages; asked for once.

        GitHub lists the newest first: a page with a release of Flux v0 is the last that is of use.
        """
        if self._entries is None:
            self._entries = self._all_entries()
        return tuple(filter(None, map(directory.release_of, self._entries.values())))

    def _all_entries(self) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        url: str | None = f"{self._releases_url}?per_page=100"
        for _ in range(_MAX_PAGES):
            if url is None:
                break
            response = self._client.get(url, _API)
            if not response.is_found:
                raise SourceUnavailable(
                    f"{origins.host(url)} has no repository {self._repository}",
                    hint="check its name, and that the token can read it",
                )
            entries = directory.objects(response.body, "GitHub's list of releases")
            # A release that is made between two pages moves the last one of a page to the next.
            found |= {str(entry.get("tag_name")): entry for entry in entries}
            if any(str(entry.get("tag_name")).startswith("v0.") for entry in entries):
                break
            url = origins.next_page(response.headers.get("link", ""), url)
        return found

    def manifests(self, tag: str) -> ReleaseManifests:
        """From v0.25.3 on, a release without a checksum is refused."""
        directory.require_tag(tag)
        release = self._release(tag)
        asset = directory.asset_of(release, archive.MANIFESTS)
        if asset is None:
            raise ReleaseNotFound(
                f"the release {tag} of {self._repository} has no {archive.MANIFESTS}",
                hint="run flux-upgrade again later: assets appear some minutes after the release",
            )
        digest = archive.sha256_of_digest(asset.get("digest"))
        stated = self._stated(tag, release)
        expected = stated or digest
        kept = None if expected is None else self._cache.get(expected)
        data = self._download(asset, tag) if kept is None else kept
        manifests = archive.checked_manifests(tag, data, stated, digest)
        if kept is None and expected is not None:
            self._cache.put(data)
        return manifests

    def published(self, tag: str) -> str | None:
        directory.require_tag(tag)
        return self._registry.published(tag)

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        directory.require_tag(tag)
        found = {}
        for path in paths:
            response = self._client.get(f"{self._raw_url}/{quote(tag)}/{quote(path)}")
            if response.is_found:
                found[path] = sha256(response.body).hexdigest()
        return found or None

    def commit(self, tag: str) -> str:
        """GitHub's REST API, "Get a commit": its sha alone, as text."""
        directory.require_tag(tag)
        url = f"{self._repository_url}/commits/{quote(tag)}"
        try:
            response = self._client.get(url, _SHA)
        except SourceUnavailable:
            return ""
        found = response.body.decode("ascii", "replace").strip()
        return found if response.is_found and _COMMIT.fullmatch(found) else ""

    def _release(self, tag: str) -> dict[str, object]:
        if self._entries is not None and (tag in self._entries or not tag.startswith("v0.")):
            # The list has every release since v1: one that is not on it costs no further call.
            if tag not in self._entries:
                raise directory.not_found(tag, self._repository, self._entries)
            return self._entries[tag]
        response = self._client.get(f"{self._releases_url}/tags/{quote(tag)}", _API)
        release = parse_json(response.body, f"GitHub's release {tag}") if response.is_found else None
        if not isinstance(release, dict) or release.get("tag_name") != tag:
            raise directory.not_found(tag, self._repository, directory.known_tags(self))
        return release

    def _stated(self, tag: str, release: dict[str, object]) -> str | None:
        name = archive.checksums_name(tag)
        asset = directory.asset_of(release, name)
        response = None
        if asset is not None:
            response = self._client.get(
                asset_url(asset, f"{name} of {tag}", api_url=self._releases_url),
                RequestOptions(limit=archive.MAX_CHECKSUMS),
            )
        if asset is None or response is None or not response.is_found:
            if archive.is_checksummed(tag):
                raise refused(f"the release {tag}", f"it has no {name}")
            return None
        archive.require_sha256(response.body, f"{name} of {tag}", archive.sha256_of_digest(asset.get("digest")))
        return archive.stated_sha256(tag, response.body.decode("utf-8", "replace"))

    def _download(self, asset: dict[str, object], tag: str) -> bytes:
        what = f"{archive.MANIFESTS} of {tag}"
        try:
            response = self._client.get(asset_url(asset, what, api_url=self._releases_url), ARCHIVE)
        except BodyTooLarge:
            raise refused(what, f"it is larger than {MAX_COMPRESSED} bytes") from None
        if not response.is_found:
            raise ReleaseNotFound(
                f"the release {tag} of {self._repository} lists {archive.MANIFESTS}, but the file is missing",
                hint="run flux-upgrade again later: assets appear some minutes after the release",
            )
        return response.body


class HttpReleases(LaidOutReleases):
    """The port Releases over http(s), below ``base_url``.

    Raises UsageError for an address that is not http(s), or that holds a
    password, a query or a fragment.
    """

    def __init__(self, base_url: str, client: Client, cache: DownloadCache) -> None:
        try:
            parts = urlsplit(base_url)
            usable = origins.origin(base_url).scheme in origins.PORTS
        except ValueError:
            usable = False
        if not usable or "@" in parts.netloc or parts.query or parts.fragment:
            # The address is not shown: what made it unusable may be a password in it.
            raise UsageError(
                "the URL of the release source is not valid",
                hint="write it as https://host/path, without user name, password, '?' or '#'",
            )
        self._base = base_url.rstrip("/")
        self._client = client
        self._cache = cache
        self._name = f"the release source {origins.host(base_url)}"
        self._where_index = f"{self._name}'s {INDEX}"

    def list(self) -> tuple[Release, ...]:
        body = self._read(INDEX)
        if body is None:
            raise directory.no_index(self._name)
        return directory.parse_releases(body, self._where_index)

    def manifests(self, tag: str) -> ReleaseManifests:
        """Without a checksums file they are not verified."""
        directory.require_tag(tag)
        text = self._get(tag, archive.checksums_name(tag), options=RequestOptions(limit=archive.MAX_CHECKSUMS))
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
            raise refused(f"{archive.MANIFESTS} of {tag}", f"it is larger than {MAX_COMPRESSED} bytes") from None
        if data is None:
            raise directory.not_found(tag, self._name, directory.known_tags(self))
        return data

    def _read(self, *parts: str) -> bytes | None:
        return self._get(*parts, options=CONDITIONAL if parts == (INDEX,) else PLAIN)

    def _get(self, *parts: str, options: RequestOptions) -> bytes | None:
        url = "/".join((self._base, *(quote(part) for part in parts)))
        response = self._client.get(url, options)
        return response.body if response.is_found else None
