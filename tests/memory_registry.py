"""The port ArtifactRegistry in memory, and artifacts as ``flux push artifact`` makes them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import BinaryIO

from flux_upgrade.model.oci.manifest import CONFIG_TYPE, CONTENT_TYPE, MANIFEST_TYPE, Descriptor, StoredManifest

OLD_CONFIG = b'{"architecture":"","os":"","rootfs":{"type":"layers","diff_ids":[]},"config":{}}'
"""Like the one that the CLI wrote before v2.9: it is another for each artifact."""
FILE = "flux-system/gotk-components.yaml"


def digest_of(content: bytes) -> str:
    """``sha256:…``."""
    return f"sha256:{sha256(content).hexdigest()}"


def tar_of(files: Mapping[str, bytes | tarfile.TarInfo]) -> bytes:
    """A tar file in the order of ``files``; an entry that is no file says itself what it is."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def stored(layer: bytes, annotations: Mapping[str, str] | None = None, config: bytes = OLD_CONFIG) -> StoredManifest:
    """The manifest of an artifact with one layer, as the CLI writes it."""
    described = [
        {"mediaType": media_type, "size": len(blob), "digest": digest_of(blob)}
        for media_type, blob in ((CONFIG_TYPE, config), (CONTENT_TYPE, layer))
    ]
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": described[0],
        "layers": described[1:],
        "annotations": dict(annotations or {}),
    }
    content = json.dumps(document, separators=(",", ":")).encode()
    return StoredManifest(MANIFEST_TYPE, content, digest_of(content))


class MemoryRegistry:
    """One repository."""

    def __init__(self) -> None:
        self.manifests: dict[str, StoredManifest] = {}
        """By digest."""
        self.named: dict[str, str] = {}
        """Tag → digest."""
        self.blobs: dict[str, bytes] = {}
        self.signed: set[str] = set()
        self.calls: list[str] = []
        self.before: Callable[[str], object] = str
        """Called before each call is answered, with its words: what somebody else does meanwhile."""

    def add(
        self, tag: str, files: Mapping[str, bytes | tarfile.TarInfo], annotations: Mapping[str, str] | None = None
    ) -> StoredManifest:
        """Push an artifact, as somebody else does it."""
        layer = gzip.compress(tar_of(files), mtime=0)
        made = stored(layer, annotations)
        self.blobs |= {digest_of(layer): layer, digest_of(OLD_CONFIG): OLD_CONFIG}
        self.manifests[made.digest], self.named[tag] = made, made.digest
        return made

    def at(self, reference: str) -> StoredManifest:
        """What a tag or a digest stands for; it is there."""
        return self.manifests[self.named.get(reference, reference)]

    def files(self, reference: str) -> dict[str, bytes]:
        """The files of an artifact's layer."""
        layer = json.loads(self.at(reference).content)["layers"][0]["digest"]
        with tarfile.open(fileobj=io.BytesIO(self.blobs[layer])) as tar:
            members = [(member, tar.extractfile(member)) for member in tar if member.isfile()]
            return {member.name: file.read() for member, file in members if file is not None}

    def _called(self, *words: str) -> None:
        call = " ".join(words)
        self.calls.append(call)
        self.before(call)

    def manifest(self, reference: str) -> StoredManifest | None:
        self._called("manifest", reference)
        return self.manifests.get(self.named.get(reference, reference))

    def digest(self, reference: str) -> str | None:
        self._called("digest", reference)
        return self.named.get(reference)

    def tags(self) -> tuple[str, ...]:
        self._called("tags")
        return tuple(self.named)

    def blob(self, descriptor: Descriptor) -> BinaryIO:
        self._called("blob", descriptor.digest)
        return io.BytesIO(self.blobs[descriptor.digest])

    def is_signed(self, digest: str, tags: Sequence[str]) -> bool:
        self._called("is_signed", digest)
        assert set(tags) <= set(self.named)
        return digest in self.signed

    def put_blob(self, blob: BinaryIO, descriptor: Descriptor) -> None:
        self._called("put_blob", descriptor.media_type)
        blob.seek(0)
        content = blob.read()
        assert (digest_of(content), len(content)) == (descriptor.digest, descriptor.size)
        self.blobs[descriptor.digest] = content

    def put_manifest(self, manifest: StoredManifest, tag: str) -> None:
        self._called("put_manifest", tag)
        document = json.loads(manifest.content)
        for each in (document["config"], *document["layers"]):
            assert each["digest"] in self.blobs, "a registry refuses what refers to nothing"
        self.manifests[manifest.digest], self.named[tag] = manifest, manifest.digest
