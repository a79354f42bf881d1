"""Read the manifests of Flux that a tag pointed to before.

The tag ``….before-…``, or the annotation `flux-upgrade.previous`, leads from an artifact to the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from flux_upgrade.artifacts.pull import yaml_files
from flux_upgrade.impact.stored_versions.refused import installed_crds
from flux_upgrade.model.errors import FluxUpgradeError, NothingFound
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.oci import reference as names
from flux_upgrade.model.oci.layer import inflate
from flux_upgrade.model.oci.manifest import PREVIOUS, StoredManifest, parse
from flux_upgrade.model.oci.tar import temporary_file_errors
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple

_MOST = 100  # Artifacts that are read; a tag that gets each release of Flux has about twenty a year
_SHOWN = len("sha256:") + 12  # Characters of a digest
_CRD = b"CustomResourceDefinition"


class TagState(NamedTuple):
    """A tag, and what it points to."""

    tag: str
    stored: StoredManifest
    tags: tuple[str, ...]  # All tags of its repository


def history_of(
    state: TagState, registry: ArtifactRegistry, spool: Callable[[], BinaryIO], until: str = ""
) -> FileRevisions:
    """Return what a tag pointed to before, oldest first, back to the last `flux migrate` that was confirmed.

    What the tag was rolled back from is aside. ``until``: digest of the oldest artifact that counts; empty: all count.
    Raises nothing: ``missing`` says what the registry does not have.
    """
    newest_first: list[FileRevision] = []
    rolled_back: list[FileRevision] = []
    missing = None
    try:
        for tag in names.rejected_artifacts(state.tags, state.tag):
            stored = _manifest(tag, registry)
            content = flux_manifest(stored, registry, spool)
            rolled_back.append(FileRevision(stored.digest, "", content, is_aside=True))
        for stored in _before(state, registry):
            newest_first.append(FileRevision(stored.digest, "", flux_manifest(stored, registry, spool)))
            if stored.digest == until:
                break
    except FluxUpgradeError as error:
        missing = Unknown(error.message)
    return FileRevisions((*reversed(newest_first), *rolled_back), missing)


def _before(state: TagState, registry: ArtifactRegistry) -> Iterator[StoredManifest]:
    """Yield what a tag pointed to, newest first. Raises NothingFound where that is not recorded."""
    tag, stored, seen = state.tag, state.stored, {state.stored.digest}
    while len(seen) <= _MOST:
        note = names.before(tag, stored.digest)
        reference = note if note in state.tags else parse(stored).annotations.get(PREVIOUS, "")
        if not reference:
            raise NothingFound(f"the registry does not record what {tag} pointed to before {stored.digest[:_SHOWN]}")
        stored = _manifest(reference, registry)
        if stored.digest in seen:
            raise NothingFound(f"the registry does not record what {tag} pointed to first")
        seen.add(stored.digest)
        yield stored
        if names.migrated(tag, stored.digest) in state.tags:
            return
    raise NothingFound(f"{tag} pointed to more than {_MOST} artifacts before")


def _manifest(reference: str, registry: ArtifactRegistry) -> StoredManifest:
    stored = registry.manifest(reference)
    if stored is None:
        raise NothingFound(f"the registry no longer has {reference[:_SHOWN]}")
    return stored


def flux_manifest(stored: StoredManifest, registry: ArtifactRegistry, spool: Callable[[], BinaryIO]) -> bytes:
    """Read the CRDs of an artifact. Raises NothingFound for one without, and what ``pull`` raises."""
    layers = parse(stored).layers
    content = b""
    if layers:
        with registry.blob(layers[0]) as blob, spool() as file, temporary_file_errors():
            content = b"\n---\n".join(text for _, text in yaml_files(inflate(blob, file)) if _CRD in text)
    if installed_crds(content) is None:
        raise NothingFound(f"{stored.digest[:_SHOWN]} has no readable Flux manifest")
    return content
