"""The artifacts of a bootstrap, ready to be pushed: Flux itself, and an overlay with nothing in it.

They are what ``flux push artifact --reproducible`` makes of the same files: nothing in them is of the
machine or the moment, so that a bootstrap that is run twice, anywhere, pushes the same digest.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO

from flux_upgrade.bootstrap.oci_kustomization import EMPTY
from flux_upgrade.bootstrap.oci_names import COMPONENTS_FILE, overlay_tag
from flux_upgrade.model.oci import SCHEME, reference
from flux_upgrade.model.oci.layer import deflate
from flux_upgrade.model.oci.manifest import (
    CONTENT_TYPE,
    FLUX_SOURCE,
    Descriptor,
    Manifest,
    StoredManifest,
    content_type,
    fresh,
    successor,
)
from flux_upgrade.model.oci.packing import Packed, pack
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.values import NamedTuple

CREATED = datetime(1970, 1, 1, tzinfo=UTC)
"""fluxcd/flux2 ``cmd/flux/push_artifact.go``, ``--reproducible``."""


class Blob(NamedTuple):
    """What is uploaded."""

    content: bytes
    descriptor: Descriptor


class Artifact(NamedTuple):
    """One, with all that is pushed for it."""

    tag: str
    """Its immutable tag."""
    stored: StoredManifest
    config: Blob
    layer: Blob
    diff_id: str
    """``sha256:…`` of the uncompressed layer: what its content is known by."""


def flux_files(namespace: str, components: bytes, kustomization: Mapping[str, bytes]) -> dict[str, bytes]:
    """Path in the artifact → content.

    ``components``: what Flux is installed with; ``kustomization``: ``kustomization.yaml`` and the files that
    it names, relative to it.
    """
    files = {**kustomization, COMPONENTS_FILE: components}
    return {posixpath.join(namespace, name): content for name, content in files.items()}


def flux_artifact(packed: Packed, version: str, commit: str) -> Artifact:
    """``version``: of Flux, a tag; ``commit``: of Flux's repository, empty where it is not known."""
    layer = _compressed(packed, CONTENT_TYPE)
    made = fresh(layer.descriptor, created=CREATED, source=FLUX_SOURCE, revision=_revision(version, commit))
    return _artifact(reference.immutable(version, packed.diff_id), packed, layer, made)


def flux_successor(
    packed: Packed, version: str, commit: str, *, before: tuple[StoredManifest, Manifest], now: datetime
) -> Artifact:
    """One that takes the place of another, which stays as the way back."""
    stored, manifest = before
    layer = _compressed(packed, content_type(manifest.layers[0].media_type))
    made = successor(
        manifest,
        layer.descriptor,
        created=now,
        revision=_revision(version, commit),
        previous=stored.digest,
    )
    return _artifact(reference.immutable(version, packed.diff_id), packed, layer, made)


def overlay_artifact(address: Address, *files: str) -> Artifact:
    """An artifact with nothing to apply, for a cluster whose own manifests are not pushed yet.

    ``files``: path of its kustomization, or those of all clusters that take it.
    """
    packed = pack(dict.fromkeys(files, EMPTY))
    layer = _compressed(packed, CONTENT_TYPE)
    # Nobody's commit: it tells itself where it belongs, in the form that Flux reads (RFC-0005).
    made = fresh(
        layer.descriptor,
        created=CREATED,
        source=f"{SCHEME}{address.repository}",
        revision=f"{address.tag}@{packed.diff_id}",
    )
    return _artifact(overlay_tag(packed.diff_id), packed, layer, made)


def _revision(version: str, commit: str) -> str:
    return f"{version}@sha1:{commit}" if commit else version


def _compressed(packed: Packed, media_type: str) -> Blob:
    into = BytesIO()
    descriptor = deflate([packed.content], into, media_type)
    return Blob(into.getvalue(), descriptor)


def _artifact(
    tag: str, packed: Packed, layer: Blob, made: tuple[StoredManifest, bytes, Descriptor]
) -> Artifact:
    stored, config, descriptor = made
    return Artifact(tag, stored, Blob(config, descriptor), layer, packed.diff_id)
