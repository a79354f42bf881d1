"""What Flux published for a release: the OCI artifact ``flux-manifests:<tag>``.

An anonymous pull, as the OCI Distribution Specification 1.1 ("Pulling
manifests", "Pulling blobs") and Docker's token authentication describe it.
"""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import urlencode, urlsplit

from flux_upgrade.edges import checksums, trouble
from flux_upgrade.edges.archive import MAX_COMPRESSED, read_single, refused
from flux_upgrade.edges.http import Ask, BodyTooLarge, Client, Response
from flux_upgrade.edges.listing import parse_json
from flux_upgrade.errors import SourceUnavailable

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONTENT_TYPE = "application/vnd.cncf.flux.content.v1.tar+gzip"
"""The media type of an artifact's layer, as ``flux push artifact`` writes it."""

_UNAUTHORIZED = 401
_MAX_MANIFEST = 4 * 1024 * 1024  # bytes; the specification asks registries to take that much
_PARAMETER = re.compile(r'([A-Za-z]+)="([^"]*)"')


def bearer_challenge(header: str) -> dict[str, str] | None:
    """The parameters of the Bearer challenge in ``WWW-Authenticate``; None where there is none."""
    start = header.lower().find("bearer ")
    return None if start < 0 else {key.lower(): value for key, value in _PARAMETER.findall(header[start:])}


def layer_digest(manifest: object) -> str | None:
    """The sha256 of the one layer of Flux's content in an image manifest; None if there is not one."""
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    digests = [
        checksums.sha256_of_digest(layer.get("digest"))
        for layer in (layers if isinstance(layers, list) else ())
        if isinstance(layer, dict) and layer.get("mediaType") == CONTENT_TYPE
    ]
    return digests[0] if len(digests) == 1 else None


class FluxManifestsRegistry:
    """Reads ``gotk-components.yaml`` out of Flux's own artifacts."""

    def __init__(
        self, client: Client, base: str = "https://ghcr.io", repository: str = "fluxcd/flux-manifests"
    ) -> None:
        self._client = client
        self._url = f"{base.rstrip('/')}/v2/{repository}"
        self._repository = repository

    def published(self, tag: str) -> str | None:
        """The text that Flux published for ``tag``; None where it is not there (yet).

        ``tag`` is one for which ``versions.is_tag`` holds. Raises SourceUnavailable,
        UntrustedArchive.
        """
        if "+" in tag:
            return None  # no character of an OCI tag
        what = f"the artifact {self._repository}:{tag}"
        response, token = self._manifest(tag)
        if not response.is_found:
            return None
        digest = layer_digest(parse_json(response.body, what))
        if digest is None:
            raise refused(what, f"it has not one layer of the type {CONTENT_TYPE}")
        layer = self._layer(digest, token, what)
        return read_single(layer, "gotk-components.yaml", what)

    def _manifest(self, tag: str) -> tuple[Response, str]:
        """The answer for the manifest, and the token that it took, if any."""
        url = f"{self._url}/manifests/{tag}"
        response = self._client.get(url, self._ask("", _MAX_MANIFEST, (401, 404)))
        if response.status != _UNAUTHORIZED:
            return response, ""
        token = self._token(response)
        return self._client.get(url, self._ask(token, _MAX_MANIFEST, (404,))), token

    def _layer(self, digest: str, token: str, what: str) -> bytes:
        try:
            response = self._client.get(
                f"{self._url}/blobs/sha256:{digest}", self._ask(token, MAX_COMPRESSED, (), verbatim=True)
            )
        except BodyTooLarge:
            raise refused(what, f"it is larger than {MAX_COMPRESSED} bytes") from None
        actual = sha256(response.body).hexdigest()
        if actual != digest:
            raise checksums.mismatch(what, digest, actual)
        return response.body

    def _token(self, response: Response) -> str:
        """An anonymous token from the realm that a registry's 401 names."""
        challenge = bearer_challenge(response.headers.get("www-authenticate", ""))
        realm = "" if challenge is None else challenge.get("realm", "")
        scheme = urlsplit(response.url).scheme
        if challenge is None or urlsplit(realm).scheme not in ("https", scheme):
            raise self._no_anonymous_pull(response.url)
        query = urlencode([(key, challenge[key]) for key in ("service", "scope") if key in challenge])
        url = f"{realm}{'&' if '?' in realm else '?'}{query}" if query else realm
        answer = parse_json(self._client.get(url, Ask(accept_status=())).body, "the registry's token")
        token = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise self._no_anonymous_pull(response.url)
        return token

    def _no_anonymous_pull(self, url: str) -> SourceUnavailable:
        return SourceUnavailable(
            f"{trouble.host(url)} gives no anonymous access to {self._repository}",
            hint="use a registry that does, or a release source that has <tag>/gotk-components.yaml",
        )

    @staticmethod
    def _ask(token: str, limit: int, accept_status: tuple[int, ...], *, verbatim: bool = False) -> Ask:
        headers = {"Accept": MANIFEST_TYPE}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return Ask(headers, limit, accept_status, verbatim=verbatim)
