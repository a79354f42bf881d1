"""A registry that is only read: where tags would be put is remembered, and nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from flux_upgrade.artifact.manifest import Descriptor, StoredManifest
from flux_upgrade.ports import ArtifactRegistry


class RecordingRegistry:
    """The port ArtifactRegistry over another one."""

    def __init__(self, registry: ArtifactRegistry) -> None:
        self._registry = registry
        self._tags: dict[str, str] = {}

    def manifest(self, reference: str) -> StoredManifest | None:
        """See the port: what was there before."""
        return self._registry.manifest(reference)

    def digest(self, reference: str) -> str | None:
        """See the port: of a tag that was put, what it would stand for."""
        return self._tags.get(reference) or self._registry.digest(reference)

    def tags(self) -> tuple[str, ...]:
        """See the port: those that were there before."""
        return self._registry.tags()

    def blob(self, descriptor: Descriptor) -> BinaryIO:
        """See the port: of what was there before."""
        return self._registry.blob(descriptor)

    def is_signed(self, digest: str, tags: Sequence[str]) -> bool:
        """See the port."""
        return self._registry.is_signed(digest, tags)

    def put_blob(self, blob: BinaryIO, descriptor: Descriptor) -> None:
        """Nothing: whoever refers to it has it."""

    def put_manifest(self, manifest: StoredManifest, tag: str) -> None:
        """As if it had been put."""
        self._tags[tag] = manifest.digest
