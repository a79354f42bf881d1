"""Image manifests as values: what was pulled, and the one that is pushed in its place.

Formats: OCI Image Specification 1.1 (manifest.md, descriptor.md, annotations.md); the media types
and the order of the keys are those that ``flux push artifact`` writes since Flux v0.40
(github.com/fluxcd/pkg/oci).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from flux_upgrade.model.oci.reference import refused
from flux_upgrade.model.values import NamedTuple

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.cncf.flux.config.v1+json"
CONTENT_TYPE = "application/vnd.cncf.flux.content.v1.tar+gzip"

CREATED = "org.opencontainers.image.created"
SOURCE = "org.opencontainers.image.source"
REVISION = "org.opencontainers.image.revision"
FLUX_SOURCE = "https://github.com/fluxcd/flux2"
"""What Flux's RFC on bootstrapping from OCI has for ``SOURCE``: where the revision is from."""
VERSION = "flux-upgrade.version"  # Flux's, with the commit of its tag: `v2.9.4@sha1:…`
PREVIOUS = "flux-upgrade.previous"  # Digest of the manifest that an artifact was made from: the way back


CONFIG = (
    b'{"architecture":"","created":"0001-01-01T00:00:00Z","os":"",'
    b'"rootfs":{"type":"layers","diff_ids":null},"config":{}}'
)
"""The config blob of every artifact that Flux v2.9 pushes; older ones held the layer's digest."""

_WHAT = "the artifact's manifest"
_DOCKER_TYPE = "application/vnd.docker.distribution.manifest.v2+json"  # What Flux v0.32 to v0.39 pushed
_INDEX_TYPES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SCHEMA = 2
_WRITTEN = (CREATED, VERSION, PREVIOUS)
# What is said of the bytes of a layer, and true of no others: fields of a descriptor, and annotations
# that oras (oras-go, content/file) and eStargz (containerd/stargz-snapshotter, estargz) write.
_OF_THE_BYTES = ("mediaType", "size", "digest", "data", "urls")
_ANNOTATIONS_OF_THE_BYTES = (
    "io.deis.oras.content.digest",
    "containerd.io/snapshot/stargz/toc.digest",
    "io.containers.estargz.uncompressed-size",
)


class Descriptor(NamedTuple):
    media_type: str
    digest: str  # `sha256:…`
    size: int


class StoredManifest(NamedTuple):
    """A manifest, to the byte."""

    media_type: str
    content: bytes
    digest: str  # `sha256:…` of `content`


class ImageManifest(NamedTuple):
    media_type: str
    config: Descriptor | None  # None: it is an index
    layers: tuple[Descriptor, ...]  # None where it is an index
    annotations: Mapping[str, str]
    is_index: bool  # Whether it only names images, one for each platform
    stated_layers: tuple[Mapping[str, object], ...] = ()  # `layers` with all that is said of them, as JSON has it


def parse(stored: StoredManifest) -> ImageManifest:
    """What a stored manifest says. Raises UntrustedArchive for what is neither an image's nor an index."""
    document = _document(stored.content)
    media_type = document.get("mediaType", stored.media_type)
    annotations = _annotations(document)
    # Both at once would be read as the one or the other: CVE-2021-41190.
    if "manifests" in document and ("layers" in document or "config" in document):
        raise refused(_WHAT, "it is both an image and an index")
    if media_type in _INDEX_TYPES and "manifests" in document:
        return ImageManifest(str(media_type), None, (), annotations, is_index=True)
    if media_type not in (MANIFEST_TYPE, _DOCKER_TYPE):
        raise refused(_WHAT, f"it is of the type '{media_type}', not an image's")
    layers = document.get("layers")
    if document.get("schemaVersion") != _SCHEMA or not isinstance(layers, list):
        raise refused(_WHAT, "it is not an image's: it has no layers")
    return ImageManifest(
        str(media_type),
        _descriptor(document.get("config")),
        tuple(map(_descriptor, layers)),
        annotations,
        is_index=False,
        stated_layers=tuple(layers),
    )


def successor(
    manifest: ImageManifest, layer: Descriptor, *, created: datetime, revision: str, previous: str
) -> tuple[StoredManifest, bytes, Descriptor]:
    """The manifest that takes the place of an image's, with ``layer`` for its first layer; its config too.

    As ``flux push artifact`` writes it. Other layers and annotations stay. So do the source and the revision of
    manifests of the user's own: Flux shows that revision in events, and in commit statuses.
    ``revision``: ``v2.9.4@sha1:…``, or the version alone; ``previous``: the digest of the manifest.
    What ties an artifact to another (``subject``) or names its kind (``artifactType``) is left out:
    Flux writes neither.
    """
    annotations = {
        **manifest.annotations,
        **({} if _is_own(manifest) else {REVISION: revision, SOURCE: FLUX_SOURCE}),
        CREATED: _timestamp(created),
        VERSION: revision,
        PREVIOUS: previous,
    }
    first, *others = manifest.stated_layers
    return _written([_in_place_of(first, layer), *others], annotations)


def new_manifest(
    layer: Descriptor, *, created: datetime, source: str, revision: str
) -> tuple[StoredManifest, bytes, Descriptor]:
    """The manifest of an artifact that takes nothing's place, as Flux writes it; its config too."""
    annotations = {CREATED: _timestamp(created), REVISION: revision, SOURCE: source}
    return _written([_stated(layer)], annotations)


def digest_besides_first_layer(manifest: ImageManifest) -> str:
    """A digest (hexadecimal) of what ``successor`` keeps of an image's manifest besides the first layer.

    Equal for two artifacts whose successors with the same layer differ in nothing but who made them when.
    """
    first, *others = manifest.stated_layers
    written = _WRITTEN if _is_own(manifest) else (*_WRITTEN, SOURCE, REVISION)
    annotations = {key: value for key, value in manifest.annotations.items() if key not in written}
    unlike = Descriptor(content_type(manifest.layers[0].media_type), "", 0)
    kept = {"first": _in_place_of(first, unlike), "others": others, "annotations": annotations}
    return sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def _is_own(manifest: ImageManifest) -> bool:
    """Whether source and revision are those of the user's repository."""
    return manifest.annotations.get(SOURCE, "") not in ("", FLUX_SOURCE)


def content_type(media_type: str) -> str:
    """What to call a layer that is pushed in place of one of this type.

    A type of somebody's own stays, because ``spec.layerSelector`` of an OCIRepository may name it;
    Docker's, and one that is not gzipped, become Flux's.
    """
    is_own = media_type.endswith("+gzip") and not media_type.startswith("application/vnd.docker.")
    return media_type if is_own else CONTENT_TYPE


def _timestamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _written(
    layers: Sequence[Mapping[str, object]], annotations: Mapping[str, str]
) -> tuple[StoredManifest, bytes, Descriptor]:
    config = Descriptor(CONFIG_TYPE, f"sha256:{sha256(CONFIG).hexdigest()}", len(CONFIG))
    content = _json(
        {
            "schemaVersion": _SCHEMA,
            "mediaType": MANIFEST_TYPE,
            "config": _stated(config),
            "layers": layers,
            "annotations": dict(sorted(annotations.items())),
        }
    )
    digest = f"sha256:{sha256(content).hexdigest()}"
    return StoredManifest(MANIFEST_TYPE, content, digest), CONFIG, config


def _document(content: bytes) -> dict[str, object]:
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise refused(_WHAT, "it is not JSON") from None
    if not isinstance(document, dict):
        raise refused(_WHAT, "it is not a JSON object")
    return document


def _annotations(stated: Mapping[str, object]) -> dict[str, str]:
    found = stated.get("annotations")
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise refused(_WHAT, "its annotations are not text")
    return found


def _descriptor(stated: object) -> Descriptor:
    if not isinstance(stated, dict):
        raise refused(_WHAT, "a blob in it is not described")
    media_type, digest, size = (stated.get(key) for key in ("mediaType", "digest", "size"))
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        raise refused(_WHAT, "the digest of a blob in it is no sha256")
    if not isinstance(media_type, str) or type(size) is not int or size < 0:
        raise refused(_WHAT, f"the blob {digest} has no type or no size")
    _annotations(stated)
    return Descriptor(media_type, digest, size)


def _stated(descriptor: Descriptor) -> dict[str, object]:
    return {"mediaType": descriptor.media_type, "size": descriptor.size, "digest": descriptor.digest}


def _in_place_of(stated: Mapping[str, object], layer: Descriptor) -> dict[str, object]:
    kept = {key: value for key, value in stated.items() if key not in _OF_THE_BYTES}
    annotations = _annotations(stated)
    stale = annotations.keys() & set(_ANNOTATIONS_OF_THE_BYTES)
    if annotations:
        kept["annotations"] = {key: annotations[key] for key in sorted(annotations.keys() - stale)}
    return _stated(layer) | kept


def _json(document: Mapping[str, object]) -> bytes:
    """As Go's encoding/json writes it: compact, and safe inside HTML."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    # Half a surrogate pair becomes what it was written as: \ud800.
    return text.encode("utf-8", "backslashreplace")
