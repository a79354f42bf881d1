"""What Flux published for a release: the OCI artifact ``flux-manifests:<tag>``."""

from __future__ import annotations

from flux_upgrade.artifact.manifest import CONTENT_TYPE
from flux_upgrade.edges import checksums
from flux_upgrade.edges.archive import read_single, refused
from flux_upgrade.edges.cache import DownloadCache
from flux_upgrade.edges.http import Client
from flux_upgrade.edges.oci import Manifest, Repository

_REMEDY = "use a registry that does, or a release source that has <tag>/gotk-components.yaml"


def layer_digest(manifest: object) -> str | None:
    """The sha256 of the one layer of Flux's content in an image manifest; None if there is not one."""
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    digests = [
        checksums.sha256_of_digest(layer.get("digest"))
        for layer in (layers if isinstance(layers, list) else ())
        if isinstance(layer, dict) and layer.get("mediaType") == CONTENT_TYPE
    ]
    return digests[0] if len(digests) == 1 else None


def published_text(repository: Repository, tag: str, found: Manifest, cache: DownloadCache) -> str:
    """The text in the artifact that ``tag`` stands for, in Flux's own repository or in a copy.

    ``found``: the artifact's manifest. Raises SourceUnavailable, UntrustedArchive.
    """
    what = f"the artifact {repository.name}:{tag}"
    digest = layer_digest(repository.image(found).content)
    if digest is None:
        raise refused(what, f"it has not one layer of the type {CONTENT_TYPE}")
    layer = cache.get(digest)
    if layer is None:
        layer = repository.blob(f"sha256:{digest}", what)
        cache.put(layer)
    return read_single(layer, "gotk-components.yaml", what)


class FluxManifestsRegistry:
    """Reads ``gotk-components.yaml`` out of Flux's own artifacts."""

    def __init__(
        self, client: Client, base: str = "https://ghcr.io", repository: str = "fluxcd/flux-manifests"
    ) -> None:
        self._repository = Repository(client, base, repository, _REMEDY)

    def published(self, tag: str) -> str | None:
        """The text that Flux published for ``tag``; None where it is not there (yet).

        ``tag`` is one for which ``versions.is_tag`` holds. Raises SourceUnavailable,
        UntrustedArchive.
        """
        found = self._repository.manifest(tag)
        return None if found is None else published_text(self._repository, tag, found, DownloadCache(None))
