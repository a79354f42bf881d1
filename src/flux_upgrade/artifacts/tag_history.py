"""Read the manifests of Flux that a tag pointed to before.

The tag ``….before-…``, or the annotation `flux-upgrade.previous`, leads from an artifact to the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled, yaml_files
from flux_upgrade.impact.stored_versions.refused import installed_crds
from flux_upgrade.model.errors import FluxUpgradeError, NothingFound
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.oci import reference as names
from flux_upgrade.model.oci.layer import inflate
from flux_upgrade.model.oci.manifest import PREVIOUS, StoredManifest, parse
from flux_upgrade.model.oci.tar import temporary_file_errors
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.unknown import Unknown

_MOST = 100  # Artifacts that are read; a tag that gets each release of Flux has about twenty a year
_SHOWN = len("sha256:") + 12  # Characters of a digest
_CRD = b"CustomResourceDefinition"


def history_of(pulled: Pulled, ports: ArtifactPorts) -> FileRevisions:
    """Return what a tag pointed to before ``pulled``, oldest first, back to the last `flux migrate` that was confirmed.

    What the tag was rolled back from is aside. Raises nothing: ``missing`` says what the registry does not have.
    """
    newest_first: list[FileRevision] = []
    rolled_back: list[FileRevision] = []
    missing = None
    try:
        for tag in names.rejected_artifacts(pulled.tags, pulled.address.tag):
            revision = _revision(_manifest(tag, ports.registry), ports)
            rolled_back.append(revision._replace(is_aside=True))
        for stored in _before(pulled, ports.registry):
            revision = _revision(stored, ports)
            newest_first.append(revision)
    except FluxUpgradeError as error:
        missing = Unknown(error.message)
    return FileRevisions((*reversed(newest_first), *rolled_back), missing)


def _before(pulled: Pulled, registry: ArtifactRegistry) -> Iterator[StoredManifest]:
    """Yield what a tag pointed to, newest first. Raises NothingFound where that is not recorded."""
    tag, stored, seen = pulled.address.tag, pulled.stored, {pulled.stored.digest}
    while len(seen) <= _MOST:
        note = names.before(tag, stored.digest)
        reference = note if note in pulled.tags else parse(stored).annotations.get(PREVIOUS, "")
        if not reference:
            raise NothingFound(f"the registry does not record what {tag} pointed to before {stored.digest[:_SHOWN]}")
        stored = _manifest(reference, registry)
        if stored.digest in seen:
            raise NothingFound(f"the registry does not record what {tag} pointed to first")
        seen.add(stored.digest)
        yield stored
        if names.migrated(tag, stored.digest) in pulled.tags:
            return
    raise NothingFound(f"{tag} pointed to more than {_MOST} artifacts before")


def _manifest(reference: str, registry: ArtifactRegistry) -> StoredManifest:
    stored = registry.manifest(reference)
    if stored is None:
        raise NothingFound(f"the registry no longer has {reference[:_SHOWN]}")
    return stored


def _revision(stored: StoredManifest, ports: ArtifactPorts) -> FileRevision:
    """Read the CRDs of an artifact. Raises NothingFound for one without, and what ``pull`` raises."""
    layers = parse(stored).layers
    content = b""
    if layers:
        with ports.registry.blob(layers[0]) as blob, ports.spool() as file, temporary_file_errors():
            content = b"\n---\n".join(text for _, text in yaml_files(inflate(blob, file)) if _CRD in text)
    if installed_crds(content) is None:
        raise NothingFound(f"{stored.digest[:_SHOWN]} has no readable Flux manifest")
    return FileRevision(stored.digest, "", content)
