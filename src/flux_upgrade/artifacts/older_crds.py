"""Refuse to move a tag to a release without API versions in which its clusters may have stored objects.

The API server rejects the CRDs of such a release (``impact.stored_versions``), so Flux applies nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from flux_upgrade.artifacts.promote import Rollback
from flux_upgrade.artifacts.pull import Pulled
from flux_upgrade.artifacts.tag_history import TagState, flux_manifest, history_of
from flux_upgrade.assessment.evidence import crd_list
from flux_upgrade.impact.impact import Stored
from flux_upgrade.impact.stored_versions.refused import stored
from flux_upgrade.model.errors import FluxUpgradeError, StoredVersionLost
from flux_upgrade.model.file_history import FileRevisions
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version

_ACCEPT = "--accept-breaks"


def require_way_back(planned: Rollback, registry: ArtifactRegistry, spool: Callable[[], BinaryIO]) -> None:
    """Raise StoredVersionLost if clusters may have stored API versions that the older release does not have."""
    lost = _lost_by(planned, registry, spool)
    if not lost.refused and lost.unknown is None:
        return
    hint = f"run with {_ACCEPT} if no cluster has applied {planned.rejected or 'what the tag points to'}"
    if lost.refused and not lost.after_migrate:
        hint = (
            f"run `flux migrate` with the Flux CLI {lost.cli} in every cluster that follows the tag, then run with "
            f"{_ACCEPT}"
        )
    elif lost.refused:
        hint = f"choose a release that has them to go back to with --to; or {hint}"
    raise StoredVersionLost(f"{planned.address} stays: the older release {_reason(lost)}", hint=hint)


def _lost_by(planned: Rollback, registry: ArtifactRegistry, spool: Callable[[], BinaryIO]) -> Stored:
    try:
        current = flux_manifest(planned.current, registry, spool)
        target = crd_list(flux_manifest(planned.wanted, registry, spool))
    except FluxUpgradeError as error:
        return Stored(unknown=Unknown(error.message))
    state = TagState(planned.address.tag, planned.current, planned.tags)
    history = history_of(state, registry, spool, until=planned.wanted.digest)
    return stored(history, current, target, (), Version(planned.rejected))


def require_stored(
    pulled: Pulled, manifest: bytes, version: str, registry: ArtifactRegistry, spool: Callable[[], BinaryIO]
) -> None:
    """Raise StoredVersionLost if clusters may have stored API versions that a newer manifest does not have."""
    old, target = pulled.pin.content, crd_list(manifest)
    lost = stored(FileRevisions(missing=Unknown("")), old, target, (), pulled.pin.version)
    if not lost.refused and lost.unknown is None:
        return
    state = TagState(pulled.address.tag, pulled.stored, pulled.tags)
    lost = stored(history_of(state, registry, spool), old, target, (), pulled.pin.version)
    if lost.refused or lost.unknown is not None:
        raise StoredVersionLost(
            f"{pulled.address} stays: {version} {_reason(lost)}",
            hint=f"run `flux-upgrade upgrade {pulled.address} --approve {version}`, then run the bootstrap again",
        )


def _reason(lost: Stored) -> str:
    versions = dict.fromkeys(f"{each.kind} {each.version}" for each in lost.refused)
    if not versions:
        return f"may lack API versions in which clusters have stored objects: {lost.unknown}"
    return f"does not have API versions in which clusters may have stored objects: {enumeration(versions)}"
