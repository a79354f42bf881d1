"""What takes an artifact's place: the same layer with one file replaced, under an immutable tag."""

from __future__ import annotations

from io import BytesIO
from typing import BinaryIO, Self

from flux_upgrade.artifact import names
from flux_upgrade.artifact.layer import Spliced, deflate, inflate
from flux_upgrade.artifact.manifest import (
    Descriptor,
    StoredManifest,
    content_type,
    parse,
    successor,
)
from flux_upgrade.errors import UntrustedArchive
from flux_upgrade.kinds import Change
from flux_upgrade.plan import Upgrade
from flux_upgrade.promotion.pulled import Means, Pulled, room
from flux_upgrade.values import NamedTuple


class Successor(NamedTuple):
    """An artifact that is to be, or is there already."""

    upgrade: Upgrade
    tag: str
    """Its immutable tag."""
    spliced: Spliced
    is_there: bool
    """Whether something has that tag: the same content was pushed before."""
    stored: StoredManifest | None = None
    """What has it, where it was looked at: only what may be promoted is."""

    @property
    def version(self) -> str:
        """The release of Flux in it, a tag."""
        return self.upgrade.target


class Made(NamedTuple):
    """A successor, ready to be pushed."""

    stored: StoredManifest
    config: BinaryIO
    config_descriptor: Descriptor
    layer: BinaryIO
    layer_descriptor: Descriptor

    def __enter__(self) -> Self:
        """See ``__exit__``."""
        return self

    def __exit__(self, *trouble: object) -> None:
        """Let go of the temporary file."""
        self.layer.close()


def successor_of(pulled: Pulled, upgrade: Upgrade) -> Successor:
    """``upgrade``: of the manifest that ``pulled`` holds."""
    assert isinstance(upgrade.change, Change)  # noqa: S101 it is no pin
    spliced = pulled.layer.replaced(pulled.entry, upgrade.change.new)
    tag = names.immutable(upgrade.target, spliced.diff_id)
    return Successor(upgrade, tag, spliced, tag in pulled.tags)


def looked_at(pulled: Pulled, wanted: Successor, means: Means) -> Successor:
    """With what is there already. Raises UntrustedArchive where that is something else.

    Half of a digest stands in the tag, and whoever may push can push under it.
    """
    stored = means.registry.manifest(wanted.tag) if wanted.is_there else None
    if stored is None:
        return wanted._replace(is_there=False)
    manifest = parse(stored)
    if not manifest.is_index and manifest.layers:
        with means.registry.blob(manifest.layers[0]) as blob, means.spool() as content, room():
            if inflate(blob, content).diff_id == wanted.spliced.diff_id:
                return wanted._replace(stored=stored)
    raise UntrustedArchive(
        f"{pulled.address.repository}:{wanted.tag} does not hold what its name says",
        hint="find out who pushed it; remove the tag, and run again",
    )


def make(pulled: Pulled, wanted: Successor, means: Means) -> Made:
    """The bytes that are to be pushed."""
    layer = means.spool()
    media_type = content_type(pulled.manifest.layers[0].media_type)
    with room():
        descriptor = deflate(wanted.spliced.chunks(), layer, media_type)
    layer.seek(0)
    commit = means.commit_of(wanted.version)
    stored, config, config_descriptor = successor(
        pulled.manifest,
        descriptor,
        created=means.now,
        revision=f"{wanted.version}@sha1:{commit}" if commit else wanted.version,
        previous=pulled.stored.digest,
    )
    return Made(stored, BytesIO(config), config_descriptor, layer, descriptor)
