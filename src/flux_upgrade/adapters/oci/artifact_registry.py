"""The registry of an artifact, read and written, and its signatures: every byte checked, little in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from tempfile import TemporaryFile
from typing import BinaryIO

from flux_upgrade.adapters.http import archive, failures
from flux_upgrade.adapters.http.client import BodyTooLarge, Client, RequestOptions
from flux_upgrade.adapters.http.origins import next_page
from flux_upgrade.adapters.oci.registry_credentials import DOCKER_HUB, CredentialSource, same_host
from flux_upgrade.adapters.oci.registry_login import LOG_IN, REFUSALS
from flux_upgrade.adapters.oci.registry_writes import RegistryWrites
from flux_upgrade.adapters.oci.repository import INDEX_TYPE, RegistryRepository, descriptors
from flux_upgrade.model.errors import ForbiddenByRegistry, RegistryUnavailable, SourceUnavailable
from flux_upgrade.model.oci.layer import MAX_UNCOMPRESSED
from flux_upgrade.model.oci.manifest import Descriptor, StoredManifest
from flux_upgrade.model.oci.reference import refused
from flux_upgrade.model.oci.tar import temporary_file_errors
from flux_upgrade.model.text import json_of

_BUNDLE = "application/vnd.dev.sigstore.bundle"
_SIGNATURES = ("application/vnd.dev.cosign.artifact.sig.v1+json", "application/vnd.cncf.notary.signature")
_PREDICATE = "dev.sigstore.bundle.predicateType"
_IS_SIGNATURE = "https://sigstore.dev/cosign/sign/v1"
_MAX_PAGES = 20


def is_signed(repository: RegistryRepository, digest: str, tags: Sequence[str]) -> bool:
    """Whether there is a signature of the manifest ``digest``; ``tags``: all tags of the repository.

    Raises SourceUnavailable, UntrustedArchive.
    """
    name = digest.replace(":", "-")
    if f"{name}.sig" in tags or any(map(_is_signature, _referrers(repository, digest))):
        return True
    # Where a registry has no list of referrers, those who sign keep one under a tag.
    kept = repository.manifest(name) if name in tags else None
    return kept is not None and any(map(_is_signature, _listed(kept.content)))


def _referrers(repository: RegistryRepository, digest: str) -> Iterator[dict[str, object]]:
    """Descriptors of what refers to a manifest; none where the registry does not list them."""
    url: str | None = f"{repository.url}/referrers/{digest}"
    options = RequestOptions({"Accept": INDEX_TYPE}, accept_status=REFUSALS)
    for _ in range(_MAX_PAGES):
        response = None if url is None else repository.ask(url, options)
        if response is None or not response.is_found:
            return
        answer = json_of(response.body)
        if answer is None:
            return  # the page of some other server
        yield from _listed(answer)
        url = next_page(response.headers.get("link", ""), response.url)


def _listed(index: object) -> list[dict[str, object]]:
    return descriptors(index.get("manifests") if isinstance(index, dict) else None)


def _is_signature(descriptor: dict[str, object]) -> bool:
    artifact_type = str(descriptor.get("artifactType"))
    annotations = descriptor.get("annotations")
    stated = annotations.get(_PREDICATE) if isinstance(annotations, dict) else None
    is_bundle = artifact_type.startswith(_BUNDLE) and stated in (None, _IS_SIGNATURE)
    return is_bundle or artifact_type in _SIGNATURES


_LOG_IN = f"set --username and --password-stdin, or {LOG_IN}"


class OciArtifactRegistry:
    """The port ArtifactRegistry."""

    def __init__(
        self, client: Client, host: str, path: str, credentials: CredentialSource, *, plain_http: bool = False
    ) -> None:
        """``host`` with its port, if it is named. Credentials are looked up when it asks for some."""
        host = same_host(host)
        if host == DOCKER_HUB and "/" not in path:
            path = f"library/{path}"
        base = f"{'http' if plain_http else 'https'}://{host}"
        self._address = f"{base}/{path}"
        self._repository = RegistryRepository(client, base, path, _LOG_IN, credentials)
        self._writes = RegistryWrites(client, self._repository)

    def __str__(self) -> str:
        """Its address: ``https://ghcr.io/org/flux-manifests``."""
        return self._address

    def manifest(self, reference: str) -> StoredManifest | None:
        with _of_the_registry():
            return self._repository.stored(reference)

    def digest(self, reference: str) -> str | None:
        with _of_the_registry():
            return self._repository.digest(reference)

    def tags(self) -> tuple[str, ...]:
        with _of_the_registry():
            return self._repository.tags()

    def blob(self, descriptor: Descriptor) -> BinaryIO:
        """Also raises WriteFailed, where there is no room for it."""
        what = f"the blob {descriptor.digest} of {self._repository.name}"
        if archive.sha256_of_digest(descriptor.digest) is None:
            raise refused(what, "its digest is not a sha256")
        if descriptor.size > MAX_UNCOMPRESSED:  # whoever pushed the manifest wrote that
            raise refused(what, f"it is larger than {MAX_UNCOMPRESSED} bytes")
        file = TemporaryFile()  # noqa: SIM115  (the caller closes it)
        try:
            with _of_the_registry():
                self._receive(descriptor, what, file)
            with temporary_file_errors():  # what is left in its buffer is written now
                file.seek(0)
        except BaseException:
            with suppress(OSError):
                file.close()
            raise
        return file

    def is_signed(self, digest: str, tags: Sequence[str]) -> bool:
        with _of_the_registry():
            return is_signed(self._repository, digest, tags)

    def put_blob(self, blob: BinaryIO, descriptor: Descriptor) -> None:
        with _of_the_registry():
            self._writes.blob(blob, descriptor)

    def put_manifest(self, manifest: StoredManifest, tag: str) -> None:
        with _of_the_registry():
            self._writes.manifest(manifest, tag)

    def _receive(self, descriptor: Descriptor, what: str, file: BinaryIO) -> None:
        received = _Received(file)
        options = RequestOptions(limit=descriptor.size, accept_status=REFUSALS, verbatim=True, into=received)
        try:
            response = self._repository.ask(f"{self._repository.url}/blobs/{descriptor.digest}", options)
        except BodyTooLarge:
            raise refused(what, f"it has more than the {descriptor.size} bytes that it should have") from None
        if not response.is_found:
            raise RegistryUnavailable(
                f"{self._repository.name} did not return the blob {descriptor.digest} ({response.status})"
                f"{self._repository.login.reason(response)}",
                hint="push the artifact again: it is incomplete in the registry",
            )
        actual = received.sha256.hexdigest()
        if received.size != descriptor.size or f"sha256:{actual}" != descriptor.digest.lower():
            raise refused(
                what,
                f"it should have {descriptor.size} bytes and this digest,"
                f" and has {received.size} bytes and the digest sha256:{actual}",
            )


class _Received:
    """A Sink: a file, and what is to be known of its content."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.restart()

    def restart(self) -> None:
        # What was written before is written over: it is no longer than what is taken in the end.
        self.sha256, self.size = sha256(), 0
        self._file.seek(0)

    def write(self, chunk: bytes) -> None:
        self.sha256.update(chunk)
        self.size += len(chunk)
        with temporary_file_errors():  # not to be taken for trouble with the network
            self._file.write(chunk)


@contextmanager
def _of_the_registry() -> Iterator[None]:
    """Have errors say what helps with a registry, where the client speaks of release sources."""
    try:
        yield
    except (RegistryUnavailable, ForbiddenByRegistry):
        raise
    except SourceUnavailable as error:
        raise RegistryUnavailable(error.message, hint=_hint(error)) from error


def _hint(error: SourceUnavailable) -> str:
    match error:
        case failures.NotTrusted():
            return "set --ca-file to a file with its CA certificate"
        case failures.NotTls():
            return "check its name and port; or pass --plain-http if it does not use https"
        case failures.RateLimited():
            return "run flux-upgrade again then, or log in for a higher limit"
    return "check the registry's name, the network and the proxy, then run flux-upgrade again"
