"""The artifacts of a bootstrap: Flux itself, and an overlay with nothing in it, ready to be pushed.

They are what ``flux push artifact --reproducible`` makes of the same files: nothing in them is of the
machine or the moment, so that a bootstrap that is run twice, anywhere, pushes the same digest. Where a tag
stands for an artifact with Flux already, nothing that a person made in it is lost.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO

from flux_upgrade.artifacts.pull import Pulled
from flux_upgrade.bootstrap.components import ManifestPlan, RenderedComponents
from flux_upgrade.bootstrap.kustomization import EMPTY
from flux_upgrade.bootstrap.options import COMPONENTS_FILE
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import AlreadyBootstrapped
from flux_upgrade.model.oci import SCHEME, reference
from flux_upgrade.model.oci.layer import deflate
from flux_upgrade.model.oci.manifest import (
    CONTENT_TYPE,
    FLUX_SOURCE,
    Descriptor,
    StoredManifest,
    content_type,
    new_manifest,
    successor,
)
from flux_upgrade.model.oci.packing import Packed, is_packable, pack
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.oci.tar import EntryType
from flux_upgrade.model.values import NamedTuple

CREATED = datetime(1970, 1, 1, tzinfo=UTC)  # fluxcd/flux2 `cmd/flux/push_artifact.go`, `--reproducible`
_HEX = 12
_MAX_LAYER = 64 * 1024 * 1024  # Bytes of a layer that is made anew in memory; Flux's own manifest has below 1 MB


class Blob(NamedTuple):
    content: bytes
    descriptor: Descriptor


class PackedArtifact(NamedTuple):
    """One, with all that is pushed for it."""

    tag: str
    stored: StoredManifest
    config: Blob
    layer: Blob
    diff_id: str  # `sha256:…` of the uncompressed layer: what its content is known by


class ExistingArtifact(NamedTuple):
    """What a tag stands for, which holds Flux."""

    pulled: Pulled
    files: Mapping[str, bytes]
    is_plain: bool  # It holds nothing else, and can be packed anew

    @property
    def components(self) -> str:
        return self.pulled.pin.path


def flux_artifact(
    packed: Packed, version: str, commit: str, existing: ExistingArtifact | None, now: datetime
) -> PackedArtifact:
    """``version``: of Flux, a tag; ``commit``: of Flux's repository, empty where it is not known.

    ``existing``: what it takes the place of, which stays as the way back.
    """
    revision = f"{version}@sha1:{commit}" if commit else version
    tag = reference.immutable(version, packed.diff_id)
    if existing is None:
        layer = _compressed(packed, CONTENT_TYPE)
        made = new_manifest(layer.descriptor, created=CREATED, source=FLUX_SOURCE, revision=revision)
        return _artifact(tag, packed, layer, made)
    stored, manifest = existing.pulled.stored, existing.pulled.manifest
    layer = _compressed(packed, content_type(manifest.layers[0].media_type))
    made = successor(manifest, layer.descriptor, created=now, revision=revision, previous=stored.digest)
    return _artifact(tag, packed, layer, made)


def overlay_artifact(address: Address, *files: str) -> PackedArtifact:
    """An artifact with nothing to apply, for a cluster whose own manifests are not pushed yet.

    ``files``: path of its kustomization, or those of all clusters that take it.
    """
    packed = pack(dict.fromkeys(files, EMPTY))
    layer = _compressed(packed, CONTENT_TYPE)
    # Nobody's commit: it tells itself where it belongs, in the form that Flux reads (RFC-0005).
    made = new_manifest(
        layer.descriptor,
        created=CREATED,
        source=f"{SCHEME}{address.repository}",
        revision=f"{address.tag}@{packed.diff_id}",
    )
    # Its immutable tag is ``0123456789ab``: without Flux, it has no version.
    return _artifact(packed.diff_id.removeprefix("sha256:")[:_HEX], packed, layer, made)


def _compressed(packed: Packed, media_type: str) -> Blob:
    into = BytesIO()
    descriptor = deflate([packed.content], into, media_type)
    return Blob(into.getvalue(), descriptor)


def _artifact(tag: str, packed: Packed, layer: Blob, made: tuple[StoredManifest, bytes, Descriptor]) -> PackedArtifact:
    stored, config, descriptor = made
    return PackedArtifact(tag, stored, Blob(config, descriptor), layer, packed.diff_id)


def existing_artifact(pulled: Pulled, namespace: str) -> ExistingArtifact:
    """Raises AlreadyBootstrapped for a Flux of another namespace, or at another path of the artifact."""
    path, options = pulled.pin.path, pulled.pin.proof.options
    if path != posixpath.join(namespace, COMPONENTS_FILE):
        raise _taken(pulled, f"has Flux at {path}, which is not the path of a bootstrap")
    if options is not None and options.namespace != namespace:
        raise _taken(pulled, f"has Flux for the namespace {options.namespace}")
    if pulled.layer.size > _MAX_LAYER:
        raise _taken(pulled, f"is larger than {_MAX_LAYER} bytes")
    entries = pulled.layer.entries()
    is_plain = all(each.kind is EntryType.FOLDER or (each.is_file and is_packable(each.name)) for each in entries)
    files = {each.name: pulled.layer.read(each) for each in entries if each.is_file}
    return ExistingArtifact(pulled, files, is_plain)


def desired_artifact(
    existing: ExistingArtifact,
    install: InstallOptions,
    kustomization: Mapping[str, bytes] | None,
    components: RenderedComponents,
) -> tuple[ManifestPlan, dict[str, bytes], Packed | None]:
    """Flux's manifest, the files, and the layer with them; None: it is the one that is there.

    ``install.version`` empty: the one that is there is kept; ``kustomization`` None: so is that.

    Raises AlreadyBootstrapped where another kustomization would lose something; and as ``taken``.
    """
    where = f"{existing.pulled.address}/{existing.components}"
    manifest = components.taken(where, existing.files[existing.components], install)
    files = dict(existing.files)
    if kustomization is not None:
        ours = {posixpath.join(install.namespace, name): text for name, text in kustomization.items()}
        # What the old kustomization had beside it goes with it: the old artifact keeps it.
        beside = f"{install.namespace}/"
        files = {path: text for path, text in files.items() if not path.startswith(beside)} | ours
    files[existing.components] = manifest.content
    return manifest, files, _packed(existing, files)


def _packed(existing: ExistingArtifact, files: Mapping[str, bytes]) -> Packed | None:
    if files == existing.files:
        return None
    content = files[existing.components]
    if files == {**existing.files, existing.components: content}:
        spliced = existing.pulled.layer.replaced(existing.pulled.entry, content)
        return Packed(b"".join(spliced.chunks()), spliced.diff_id)
    if not existing.is_plain:
        raise _taken(existing.pulled, "contains links or special names, which would be lost with another kustomization")
    return pack(files)


def _taken(pulled: Pulled, what: str) -> AlreadyBootstrapped:
    return AlreadyBootstrapped(
        f"{pulled.address} {what}", hint=f"use another tag, or run `flux-upgrade upgrade {pulled.address}`"
    )
