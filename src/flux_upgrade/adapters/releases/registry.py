"""Releases from a registry: ``flux-manifests`` on ghcr.io, or a copy where GitHub cannot be reached.

There are tags, and of each release what Flux published of it. The release's manifests are derived from
that; how, the core knows, and this edge is given.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterable, Mapping

from flux_upgrade.adapters.http import archive
from flux_upgrade.adapters.http.archive import read_single, refused
from flux_upgrade.adapters.http.cache import DownloadCache
from flux_upgrade.adapters.http.client import Client
from flux_upgrade.adapters.oci.registry_credentials import CredentialSource
from flux_upgrade.adapters.oci.repository import PulledManifest, RegistryRepository
from flux_upgrade.adapters.releases import directory
from flux_upgrade.model.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.model.oci.manifest import CONTENT_TYPE, CREATED, REVISION
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release, ReleaseManifests, Version, is_tag

_REMEDY = "use a registry that does, or a --release-source with <tag>/gotk-components.yaml"


def published_text(repository: RegistryRepository, tag: str, found: PulledManifest, cache: DownloadCache) -> str:
    """The text in the artifact that ``tag`` stands for, in Flux's own repository or in a copy.

    ``found``: the artifact's manifest. Raises SourceUnavailable, UntrustedArchive.
    """
    what = f"the artifact {repository.name}:{tag}"
    digests = [
        archive.sha256_of_digest(layer.get("digest"))
        for layer in repository.image(found).layers
        if layer.get("mediaType") == CONTENT_TYPE
    ]
    digest = digests[0] if len(digests) == 1 else None
    if digest is None:
        raise refused(what, f"it does not have exactly one layer of the type {CONTENT_TYPE}")
    layer = cache.get(digest)
    if layer is None:
        layer = repository.blob(f"sha256:{digest}", what)
        cache.put(layer)
    return read_single(layer, "gotk-components.yaml", what)


class FluxManifestsRegistry:
    """Reads ``gotk-components.yaml`` out of Flux's own artifacts."""

    def __init__(
        self,
        client: Client,
        base: str = "https://ghcr.io",
        repository: str = "fluxcd/flux-manifests",
        credentials: CredentialSource | None = None,
    ) -> None:
        self._repository = RegistryRepository(client, base, repository, _REMEDY, credentials)

    def published(self, tag: str) -> str | None:
        """The text that Flux published for ``tag``; None where it is not there (yet).

        ``tag`` is one for which ``versions.is_tag`` holds. Raises SourceUnavailable,
        UntrustedArchive.
        """
        found = self._repository.manifest(tag)
        return None if found is None else published_text(self._repository, tag, found, DownloadCache(None))


_NEVER = "1970-01-01"  # what `flux push artifact --reproducible` writes
_MINORS = 3  # that Flux supports; https://fluxcd.io/flux/releases
_PATCHES = 4
_DAYS = 30
_DAY = 86400  # seconds


class Derivation(NamedTuple):
    """How a published manifest is read, as ``manifests.derive`` does."""

    at_default_registry: Callable[[str], str]  # The text with Flux's own registry, whatever registry this copy names
    derive: Callable[[str, str], ReleaseManifests]
    """Tag and text → the manifests. Raises UnsupportedRelease, UntrustedArchive."""


class RegistryReleases:
    """The port Releases over one repository. Whatever was asked for is remembered.

    ``now``: epoch seconds.
    """

    def __init__(
        self, repository: RegistryRepository, cache: DownloadCache, derivation: Derivation, now: Callable[[], float]
    ) -> None:
        self._repository = repository
        self._cache = cache
        self._derivation = derivation
        self._now = now
        self._manifest = functools.cache(repository.manifest)
        self._text = functools.cache(self._published)

    def list(self) -> tuple[Release, ...]:
        """Its tags, the newest first. Dated are those that a cool-down can be about.

        These are, of the newest three minors, the first patch and the newest ones, down to one that
        is a month old: a request for each of them, and no more.
        """
        return self._listed

    @functools.cached_property
    def _listed(self) -> tuple[Release, ...]:
        known = sorted((Version(tag) for tag in self._repository.tags() if is_tag(tag)), reverse=True)
        if not known:
            raise SourceUnavailable(
                f"{self._repository.name} has no tag of a Flux release, or does not exist",
                hint="copy ghcr.io/fluxcd/flux-manifests to it with its tags, such as v2.9.4",
            )
        dates = self._dates(known)
        return tuple(Release(tag, prerelease="-" in tag, published_at=dates.get(tag, "")) for tag in known)

    def manifests(self, tag: str) -> ReleaseManifests:
        """Derived from what Flux published. Raises UnsupportedRelease, too; never ``verified``."""
        directory.require_tag(tag)
        text = self._text(tag)
        if text is None:
            raise directory.not_found(tag, self._repository.name, directory.known_tags(self))
        return self._derivation.derive(tag, text)

    def published(self, tag: str) -> str | None:
        """What the registry holds for ``tag``, with Flux's own registry for the images in it."""
        directory.require_tag(tag)
        text = self._text(tag)
        return None if text is None else self._derivation.at_default_registry(text)

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        """None: a registry holds no code of Flux's."""
        del tag, paths
        return None

    def commit(self, tag: str) -> str:
        """What the artifact's revision names, ``v2.9.4@sha1:…``, as Flux's own has it."""
        directory.require_tag(tag)
        try:
            stated = self._annotation(tag, REVISION)
        except SourceUnavailable:
            return ""
        found = re.fullmatch(rf"{re.escape(tag)}@sha1:([0-9a-f]{{40}})", stated)
        return found[1] if found else ""

    def _published(self, tag: str) -> str | None:
        found = self._manifest(tag)
        return None if found is None else published_text(self._repository, tag, found, self._cache)

    def _dates(self, newest_first: Iterable[Version]) -> dict[str, str]:
        """Tag → when its artifact was made, RFC 3339; empty where it does not tell."""
        lines: dict[str, list[Version]] = {}
        for tag in newest_first:
            if "-" not in tag:
                lines.setdefault(tag.minor, []).append(tag)
        old = time.strftime("%Y-%m-%d", time.gmtime(self._now() - _DAYS * _DAY))
        dates: dict[str, str] = {}
        for patches in [*lines.values()][:_MINORS]:
            for tag in patches[:_PATCHES]:
                dates[tag] = self._created(tag)
                if dates[tag] < old:
                    break
            first = patches[-1]
            if first not in dates:
                dates[first] = self._created(first)
        return dates

    def _created(self, tag: str) -> str:
        created = self._annotation(tag, CREATED)
        return "" if created.startswith(_NEVER) else created

    def _annotation(self, tag: str, key: str) -> str:
        """Empty where the manifest has none. Raises SourceUnavailable."""
        try:
            found = self._manifest(tag)
        except UntrustedArchive:
            return ""  # it is said where this release's manifests are asked for
        return "" if found is None else found.annotations.get(key, "")
