"""Put an artifact into its registry, under a tag that is not moved afterwards."""

from __future__ import annotations

from flux_upgrade.artifact import names
from flux_upgrade.artifact.manifest import PREVIOUS, StoredManifest, parse
from flux_upgrade.ports import ArtifactRegistry
from flux_upgrade.promotion.pulled import Pulled
from flux_upgrade.promotion.successor import Made


def put(
    pulled: Pulled, tag: str, made: Made, registry: ArtifactRegistry, *, has_config: bool = False
) -> None:
    """Blobs first. ``has_config``: another one was put before, and the config is the same for all.

    Raises what ``ArtifactRegistry`` raises; then the tag stands for nothing, or for the whole artifact.
    """
    # Flux has written the same one since v2.9.
    if not has_config and made.config_descriptor != pulled.manifest.config:
        registry.put_blob(made.config, made.config_descriptor)
    if made.layer is not None:
        registry.put_blob(made.layer, made.layer_descriptor)
    registry.put_manifest(made.stored, tag)


def keep(pulled: Pulled, registry: ArtifactRegistry) -> str:
    """A way back to what was pulled: a tag that is not moved. Empty where it has one, or needs none."""
    tag = pulled.immutable_tag
    if not tag:
        return ""
    if tag in pulled.tags:
        # It may be of another manifest with the same content.
        if registry.digest(tag) == pulled.stored.digest:
            return ""
        tag = names.another(tag, pulled.stored.digest)
        if tag in pulled.tags:
            return ""
    registry.put_manifest(pulled.stored, tag)
    return tag


def note(pulled: Pulled, wanted: StoredManifest, registry: ArtifactRegistry) -> None:
    """Have a rollback find what was pulled, where ``wanted``, which is to take its place, does not tell."""
    before = names.before(pulled.address.tag, wanted.digest)
    # One that waited for its approval was made from what was promoted then. A note that there is may be
    # about an earlier promotion.
    if parse(wanted).annotations.get(PREVIOUS) != pulled.stored.digest or before in pulled.tags:
        registry.put_manifest(pulled.stored, before)
