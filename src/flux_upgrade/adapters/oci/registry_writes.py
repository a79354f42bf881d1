"""Pushing to a repository: blobs, and manifests under a tag.

OCI Distribution Specification 1.1, "Pushing a blob monolithically" (POST, then PUT) and "Pushing
Manifests". Both can be done twice, so what breaks off is begun anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO
from urllib.parse import urlsplit

from flux_upgrade.adapters.http import failures, origins
from flux_upgrade.adapters.http.client import Client, RequestOptions, Response
from flux_upgrade.adapters.oci.repository import RegistryRepository
from flux_upgrade.model.errors import ForbiddenByRegistry, RegistryUnavailable, UntrustedArchive
from flux_upgrade.model.oci.manifest import Descriptor, StoredManifest
from flux_upgrade.model.text import one_line

_NOT_FOUND, _NOT_ALLOWED = 404, 405
_KEPT = (405, 409, 412)  # statuses for a tag that may not be moved: a locked one of ACR, Quay's, Harbor's
_PERHAPS_KEPT = (400, 403)  # Those that say so with one of `_KEPT_WORDS`: ECR (TAG_INVALID), Artifactory, GitLab
_KEPT_WORDS = ("immutable", "tag_invalid", "overwrit", "already exist", "protected")
_BYTES = "application/octet-stream"


class RegistryWrites:
    """What can be written to one repository. All raise SourceUnavailable, ForbiddenByRegistry."""

    def __init__(self, client: Client, repository: RegistryRepository) -> None:
        self._client = client
        self._repository = repository

    def blob(self, blob: BinaryIO, descriptor: Descriptor) -> None:
        self._client.persist(lambda: self._uploaded(blob, descriptor))

    def manifest(self, manifest: StoredManifest, tag: str) -> None:
        """Have a tag stand for a manifest.

        Raises UntrustedArchive where it stands for another digest afterwards.
        """
        url = f"{self._repository.url}/manifests/{tag}"
        headers = {"Content-Type": manifest.media_type}
        response = self._client.persist(lambda: self._sent("PUT", url, manifest.content, headers))
        if _is_kept(response):
            # The answer to an earlier attempt may have been lost.
            if self._repository.digest(tag) != manifest.digest:
                raise self._forbidden(response, tag)
        elif not response.is_found:
            raise self._failed(f"rejected the manifest for {tag}", response)
        else:
            stated = response.headers.get("docker-content-digest") or self._repository.digest(tag)
            if stated != manifest.digest:
                raise UntrustedArchive(
                    f"{self._repository.named(tag)} should now point to {manifest.digest},"
                    f" but the registry reports {one_line(stated or 'no such tag')}",
                    hint=f"check the digest of {tag}, and correct it before Flux pulls it",
                )

    def _uploaded(self, blob: BinaryIO, descriptor: Descriptor) -> Response | failures.FailedAttempt:
        begun = self._sent("POST", f"{self._repository.url}/blobs/uploads/", None, {})
        if isinstance(begun, failures.FailedAttempt):
            return begun
        location = begun.headers.get("location")
        if not begun.is_found or location is None:
            raise self._failed("rejected the start of an upload", begun)
        target = origins.redirected(begun.url, location, keeps_plain_host=True)
        target += f"{'&' if urlsplit(target).query else '?'}digest={descriptor.digest}"
        # requests sends a file without content in chunks, which few registries take.
        body = blob if descriptor.size else b""
        ended = self._sent("PUT", target, body, {"Content-Type": _BYTES})
        if isinstance(ended, failures.FailedAttempt) or ended.is_found:
            return ended
        # An upload that the registry has forgotten is begun anew.
        error = self._failed(f"rejected the blob {descriptor.digest}", ended)
        return failures.FailedAttempt(error, is_final=ended.status != _NOT_FOUND)

    def _sent(
        self, method: str, url: str, body: bytes | BinaryIO | None, headers: Mapping[str, str]
    ) -> Response | failures.FailedAttempt:
        """One request that changes something, after logging in where that is wanted."""

        def send(authorization: Mapping[str, str]) -> Response | failures.FailedAttempt:
            if body is not None and not isinstance(body, bytes):
                body.seek(0)
            is_ours = origins.origin(url) == origins.origin(self._repository.url)
            host = origins.host(self._repository.url)
            options = RequestOptions({**headers, **(authorization if is_ours else {})}, charged_to=host)
            return self._client.attempt(method, url, body, options)

        response = self._repository.login.ask(send, writes=True)
        if isinstance(response, Response) and not _is_kept(response):
            self._repository.login.check(response, writes=True)
        return response

    def _forbidden(self, response: Response, tag: str) -> ForbiddenByRegistry:
        return ForbiddenByRegistry(
            f"the registry does not allow you to overwrite the tag {self._repository.named(tag)}, or is read-only"
            f" ({response.status}){self._repository.login.reason(response)}",
            hint=f"exclude {tag} from the repository's rule for immutable tags, or make the registry writable",
        )

    def _failed(self, what: str, response: Response) -> ForbiddenByRegistry | RegistryUnavailable:
        reason = f"({response.status}){self._repository.login.reason(response)}"
        if response.status == _NOT_ALLOWED:
            message = f"{self._repository.name} is read-only {reason}"
            return ForbiddenByRegistry(message, hint="make it writable, or push to another repository")
        return RegistryUnavailable(
            f"{self._repository.name} {what} {reason}",
            hint="check that the repository exists, and that the registry supports OCI artifacts",
        )


def _is_kept(response: Response | failures.FailedAttempt) -> bool:
    if isinstance(response, failures.FailedAttempt) or "/manifests/" not in response.url:
        return False
    if response.status in _KEPT:
        return True
    said = response.body.decode("utf-8", "replace").lower()
    return response.status in _PERHAPS_KEPT and any(words in said for words in _KEPT_WORDS)
