"""An artifact as it stands in its registry, with the one manifest of Flux that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import BinaryIO

from flux_upgrade.model.errors import NothingFound, Overtaken, Unreadable, UsageError
from flux_upgrade.model.oci.layer import Layer, inflate
from flux_upgrade.model.oci.manifest import ImageManifest, StoredManifest, parse
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.oci.tar import TarEntry, temporary_file_errors
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.gotk_components.pin import InstallationFinder
from flux_upgrade.pins.pin import Pin
from flux_upgrade.pins.regenerate import Regenerator

_MAX_FILE = 16 * 1024 * 1024  # Bytes of a YAML file that is looked into. Flux's own manifest has below 1 MB.


def yaml_files(layer: Layer) -> Iterator[tuple[TarEntry, bytes]]:
    """Yield the YAML files of a layer with their contents, but for very large ones."""
    for entry in layer.files(lambda name: name.endswith((".yaml", ".yml"))):
        if entry.size <= _MAX_FILE:
            yield entry, layer.read(entry, _MAX_FILE)


class ArtifactPorts(NamedTuple):
    registry: ArtifactRegistry
    regenerator: Regenerator
    spool: Callable[[], BinaryIO]  # A temporary file, which is gone once it is closed
    commit_of: Callable[[str], str]  # A tag of Flux → the commit that it stands for; empty where that is not known
    now: datetime


class Pulled(NamedTuple):
    address: Address
    stored: StoredManifest
    manifest: ImageManifest
    layer: Layer  # The first one, which is what Flux takes unless an OCIRepository has a layerSelector
    entry: TarEntry
    pin: Pin  # The same; its path is that in the layer
    tags: tuple[str, ...]


def pull(address: Address, ports: ArtifactPorts) -> Pulled:
    """Raises NothingFound, Overtaken, Unreadable, UsageError, and what ``ArtifactRegistry`` raises."""
    if not address.tag and not address.digest:
        raise UsageError(
            f"{address} has neither a tag nor a digest",
            hint="add the tag of the cluster's OCIRepository, like :production",
        )
    if address.tag and address.digest and (found := ports.registry.digest(address.tag)) != address.digest:
        raise Overtaken(
            f"{address} is outdated: the tag " + (f"points to {found}" if found is not None else "does not exist"),
            hint="use the current digest, or remove the digest",
        )
    stored = ports.registry.manifest(address.digest or address.tag)
    if stored is None:
        raise NothingFound(
            f"the artifact {address} does not exist",
            hint="check the name and the tag, or push a first artifact with `flux push artifact`",
        )
    manifest = parse(stored)
    if manifest.is_index or not manifest.layers:
        what = "an index of images for several platforms" if manifest.is_index else "an image without layers"
        raise Unreadable(
            f"{address} is {what}, not a Flux artifact",
            hint="use the artifact of the cluster's OCIRepository, as `flux push artifact` creates it",
        )
    with ports.registry.blob(manifest.layers[0]) as blob, temporary_file_errors():
        layer = inflate(blob, ports.spool())
    layer.require_extractable()
    entry, installation = _only(address, list(_manifests(layer, ports.regenerator)))
    return Pulled(address, stored, manifest, layer, entry, installation, ports.registry.tags())


def _manifests(layer: Layer, regenerator: Regenerator) -> Iterator[tuple[TarEntry, Pin]]:
    manifests = InstallationFinder(regenerator)
    for entry, content in yaml_files(layer):
        found = manifests.at(entry.name, content)
        if found is not None:
            yield entry, found


def _only(address: Address, found: list[tuple[TarEntry, Pin]]) -> tuple[TarEntry, Pin]:
    if not found:
        raise NothingFound(
            f"{address} has no Flux manifest", hint="add a gotk-components.yaml, as `flux install --export` writes it"
        )
    if len(found) > 1:
        raise Unreadable(
            f"{address} has {len(found)} Flux manifests: {', '.join(entry.name for entry, _ in found)}",
            hint="split them into one artifact per cluster, or upgrade them in Git and push them again",
        )
    return found[0]
