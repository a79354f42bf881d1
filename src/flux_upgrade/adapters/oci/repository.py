"""OCI registries, read only: manifests, blobs and tags, each checked against its digest.

The OCI Distribution Specification 1.1 ("Pulling manifests", "Pulling blobs",
"Listing Tags"). Names are taken apart as github.com/distribution/reference does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from flux_upgrade.adapters.http import archive, failures, origins
from flux_upgrade.adapters.http.archive import MAX_COMPRESSED, parse_json, refused
from flux_upgrade.adapters.http.client import BodyTooLarge, Client, RequestOptions, Response
from flux_upgrade.adapters.oci.registry_credentials import DOCKER_HUB, CredentialSource
from flux_upgrade.adapters.oci.registry_login import ANONYMOUS, LOG_IN, REFUSALS, RegistryLogin
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.oci.manifest import MANIFEST_TYPE, StoredManifest
from flux_upgrade.model.oci.reference import HOST, PATH, TAG
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
_DOCKER_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_ACCEPTED = ", ".join((MANIFEST_TYPE, INDEX_TYPE, *_DOCKER_TYPES))

_DENIED, _NOT_FOUND = (401, 403), 404
_MAX_MANIFEST = 4 * 1024 * 1024  # bytes; the specification asks registries to take that much
_MAX_PAGES = 50
_PAGE = 1000  # tags; ghcr.io and Docker Hub give no more at a time, whatever is asked for
_DOCKER_HUB_NAMES = ("docker.io", "index.docker.io")


class PulledManifest(NamedTuple):
    digest: str  # `sha256:…` of its bytes
    content: dict[str, object]

    @property
    def is_index(self) -> bool:
        """Whether it only names images, one for each platform."""
        return "manifests" in self.content

    @property
    def annotations(self) -> dict[str, str]:
        stated = self.content.get("annotations")
        pairs = stated.items() if isinstance(stated, dict) else ()
        return {key: value for key, value in pairs if isinstance(key, str) and isinstance(value, str)}

    @property
    def layers(self) -> list[dict[str, object]]:
        """Descriptors of its layers; none where it is an index."""
        return descriptors(self.content.get("layers"))


class RegistryRepository:
    def __init__(
        self, client: Client, base: str, path: str, remedy: str = ANONYMOUS, credentials: CredentialSource | None = None
    ) -> None:
        """``base``: ``https://ghcr.io``; ``remedy``: what to do where a password is missing."""
        self.name = f"{origins.host(base)}/{path}"
        self._client = client
        self.url = f"{base.rstrip('/')}/v2/{path}"
        self.login = RegistryLogin(client, base, path, credentials, remedy)

    def manifest(self, reference: str) -> PulledManifest | None:
        """What a tag or a digest stands for; None: there is no such thing.

        Raises SourceUnavailable; UntrustedArchive where its bytes have another digest.
        """
        stored = self.stored(reference)
        if stored is None:
            return None
        return PulledManifest(stored.digest, self._content(reference, stored.content))

    def stored(self, reference: str) -> StoredManifest | None:
        if not _is_reference(reference):
            return None
        expected = archive.sha256_of_digest(reference)
        what = f"the manifest of {self.named(reference)}"
        try:
            response = self._get(f"manifests/{reference}", RequestOptions({"Accept": _ACCEPTED}, _MAX_MANIFEST))
        except BodyTooLarge:
            raise refused(what, f"it is larger than {_MAX_MANIFEST} bytes") from None
        if not response.is_found:
            return None
        stated = archive.sha256_of_digest(response.headers.get("docker-content-digest"))
        actual = archive.require_sha256(response.body, what, expected, stated)
        media_type = self._content(reference, response.body).get("mediaType")
        if not isinstance(media_type, str):  # it may be left out in OCI's formats
            media_type = response.headers.get("content-type", MANIFEST_TYPE).partition(";")[0].strip()
        return StoredManifest(media_type, response.body, f"sha256:{actual}")

    def digest(self, reference: str) -> str | None:
        """The digest of what a tag stands for now; None: there is no such tag.

        By a HEAD, where the registry states it there. Raises SourceUnavailable, UntrustedArchive.
        """
        if not _is_reference(reference):
            return None
        options = RequestOptions({"Accept": _ACCEPTED}, accept_status=REFUSALS, method="HEAD")
        response = self._get(f"manifests/{reference}", options)
        if response.status == _NOT_FOUND:
            return None
        stated = archive.sha256_of_digest(response.headers.get("docker-content-digest"))
        if response.is_found and stated is not None:
            return f"sha256:{stated}"
        # The header is optional, and some do not know the method.
        stored = self.stored(reference)
        return None if stored is None else stored.digest

    def _content(self, reference: str, body: bytes) -> dict[str, object]:
        what = f"the manifest of {self.named(reference)}"
        content = parse_json(body, what)
        if not isinstance(content, dict):
            raise refused(what, "it is not a JSON object")
        return content

    def image(self, found: PulledManifest) -> PulledManifest:
        """Of an index, the image in it that is for linux/amd64, or the only one; else ``found`` itself.

        Raises SourceUnavailable; UntrustedArchive where there is none.
        """
        if not found.is_index:
            return found
        chosen = _of_platform(descriptors(found.content["manifests"]))
        image = None if chosen is None else self.manifest(chosen)
        if image is None or image.is_index:
            raise refused(f"the index {self.named(found.digest)}", "it has no readable image")
        return image

    def blob(self, digest: str, what: str, limit: int = MAX_COMPRESSED) -> bytes:
        """A blob of at most ``limit`` bytes; ``what`` names it in errors.

        Raises SourceUnavailable, UntrustedArchive.
        """
        expected = archive.sha256_of_digest(digest)
        if expected is None:
            raise refused(what, "its digest is not a sha256")
        try:
            options = RequestOptions(limit=limit, accept_status=(), verbatim=True)
            body = self._get(f"blobs/sha256:{expected}", options).body
        except BodyTooLarge:
            raise refused(what, f"it is larger than {limit} bytes") from None
        archive.require_sha256(body, what, expected)
        return body

    def tags(self) -> tuple[str, ...]:
        """All tags, in the registry's order; none where there is no such repository.

        Raises SourceUnavailable.
        """
        found: dict[str, None] = {}
        for page in self._tag_pages():
            found |= dict.fromkeys(page)
        return tuple(found)

    def _tag_pages(self) -> Iterator[list[str]]:
        url: str | None = f"{self.url}/tags/list?n={_PAGE}"
        for _ in range(_MAX_PAGES):
            if url is None:
                return
            response = self.ask(url, RequestOptions(limit=_MAX_MANIFEST))
            if not response.is_found:
                return
            answer = parse_json(response.body, f"the list of tags of {self.name}")
            names = answer.get("tags") if isinstance(answer, dict) else None
            yield [name for name in (names if isinstance(names, list) else ()) if isinstance(name, str)]
            url = origins.next_page(response.headers.get("link", ""), url)
        if url is not None:
            raise SourceUnavailable(
                f"{self.name} has more than {_MAX_PAGES} pages of tags",
                hint="set a tag or a digest, which needs no list",
            )

    def named(self, reference: str) -> str:
        return f"{self.name}{'@' if ':' in reference else ':'}{one_line(reference)}"

    def _get(self, path: str, options: RequestOptions) -> Response:
        return self.ask(f"{self.url}/{path}", options)

    def ask(self, url: str, options: RequestOptions) -> Response:
        """The answer of the registry, to somebody whom it knows where it wants that.

        Raises SourceUnavailable, also where it refuses.
        """
        response = self.login.ask(lambda authorization: self._once(url, options, authorization))
        self.login.check(response)
        return response

    def _once(self, url: str, options: RequestOptions, authorization: Mapping[str, str]) -> Response:
        # The next page of a list may be at the host that the registry redirected to.
        is_ours = origins.origin(url) == origins.origin(self.url)
        headers = {**options.headers, **(authorization if is_ours else {})}
        accepted = (*options.accept_status, *_DENIED)
        authorized = replace(options, headers=headers, accept_status=accepted, keeps_plain_host=True)
        try:
            return self._client.get(url, authorized)
        except failures.RateLimited as error:
            hint = "run flux-upgrade again then, or use a registry with a higher limit"
            raise failures.RateLimited(error.message, hint=hint) from error


def open_repository(client: Client, name: str, credentials: CredentialSource | None = None) -> RegistryRepository:
    """The repository ``ghcr.io/fluxcd/flux-manifests``, at its own host.

    Over https, or plain http on the loopback. Without a host it is Docker Hub's. Without
    ``credentials`` it is asked as nobody.
    Raises SourceUnavailable for what is no name of a repository.
    """
    host, _, path = name.partition("/")
    if path and host != "localhost" and not set(".:[") & set(host):
        host, path = "docker.io", name
    if host in _DOCKER_HUB_NAMES:
        host, path = DOCKER_HUB, path if "/" in path else f"library/{path}"
    if HOST.fullmatch(host) is None or PATH.fullmatch(path) is None:
        raise SourceUnavailable(
            f"'{one_line(name)}' is not the name of an OCI repository",
            hint="write it like ghcr.io/fluxcd/flux-manifests, in lower case",
        )
    scheme = "http" if origins.is_loopback(host) else "https"
    remedy = ANONYMOUS if credentials is None else LOG_IN
    return RegistryRepository(client, f"{scheme}://{host}", path, remedy, credentials)


def _is_reference(text: str) -> bool:
    return archive.sha256_of_digest(text) is not None or TAG.fullmatch(text) is not None


def descriptors(stated: object) -> list[dict[str, object]]:
    """What a manifest says of blobs, or an index of images."""
    return [each for each in (stated if isinstance(stated, list) else ()) if isinstance(each, dict)]


def _of_platform(images: list[dict[str, object]]) -> str | None:
    """The digest of the image that a cluster's node would take."""
    wanted = {"os": "linux", "architecture": "amd64"}
    for image in images:
        platform = image.get("platform")
        if isinstance(platform, dict) and wanted.items() <= platform.items():
            return str(image.get("digest"))
    return str(images[0].get("digest")) if len(images) == 1 else None
