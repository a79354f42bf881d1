"""The release that a cluster runs: that of the commit that Flux follows, and not that of a changed file."""

from __future__ import annotations

from dataclasses import replace

from flux_upgrade.assessment.assessment import ClusterBase
from flux_upgrade.assessment.evidence import Evidence, Transition
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.impact.stored_versions.refused import release_of
from flux_upgrade.manifests.parts import Part, join
from flux_upgrade.model.errors import FluxUpgradeError, Unreadable
from flux_upgrade.model.file_history import FollowedFile, FollowedFiles
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import NO_VERSION, Version, is_tag
from flux_upgrade.pins.discover import pin_in
from flux_upgrade.pins.formats import terraform_files
from flux_upgrade.pins.pin import Pin, Role


def base_of(pin: Pin, path: str, evidence: Evidence) -> ClusterBase | None:
    """Return what the cluster of an installation at ``path`` runs; None if changes go to the branch itself."""
    files = evidence.followed_files
    if files is None:
        return None
    branch = evidence.tree.followed_branch(path, evidence.is_this_repository)
    followed = _followed(pin, path, branch, files)
    is_for_terraform = terraform_files.is_for_terraform(path)
    if isinstance(followed, Unknown):
        return ClusterBase(followed, pin.version, followed, is_for_terraform)
    same = _pin_in(followed.content, pin, path, evidence)
    return ClusterBase(same, pin.version, followed.instead or branch, is_for_terraform)


def release_before(lead: Member, evidence: Evidence) -> Version:
    """Return the release of a cluster in the commit that Flux follows; empty if it is unknown, or need not be asked."""
    pin = lead.pin
    base = base_of(pin, lead.path, evidence) if pin.role is Role.INSTALLS and is_tag(pin.version) else None
    if base is None or isinstance(base.pin, Unknown) or not is_tag(base.pin.version):
        return NO_VERSION
    return base.pin.version


def _followed(pin: Pin, path: str, branch: str | Unknown, files: FollowedFiles) -> FollowedFile | Unknown:
    """Return the installation in the commit that Flux follows; of several files, all of them joined."""
    if not pin.parts:
        return files.file(path, branch, pin.content)
    parts = []
    instead = None
    for part in pin.files(path):
        followed = files.file(part.path, branch, part.content)
        if isinstance(followed, Unknown):
            return followed
        instead = instead or followed.instead
        parts.append(Part(part.path, followed.content))
    try:
        return FollowedFile(join(parts), instead)
    except Unreadable as error:
        return Unknown(error.message)


def _pin_in(content: bytes, pin: Pin, path: str, evidence: Evidence) -> Pin | Unknown:
    """Return the same pin in another content of its file."""
    if content == pin.content:
        return pin
    if pin.is_manifest:
        version, proof = release_of(content), replace(pin.proof, base=None)
        return pin._replace(content=content, version=version, proof=proof) if version else _unnamed(path)
    try:
        same = pin_in(content, pin._replace(path=path), evidence.pin_context)
    except FluxUpgradeError as error:
        return Unknown(error.message)
    return same if same is not None and same.version else _unnamed(path)


def _unnamed(path: str) -> Unknown:
    return Unknown(f"{path} names no release there")


def from_base(transition: Transition, base: ClusterBase | None) -> Transition:
    """Return a transition from what the cluster runs, if the file has a newer release."""
    if base is None or not base.is_behind or isinstance(base.pin, Unknown):
        return transition
    releases: dict[str, str] = {base.written: base.pin.version}
    feedback = transition.feedback
    feedback = feedback._replace(
        migrated=tuple(releases.get(each, each) for each in feedback.migrated),
        migrated_since=tuple(releases.get(each, each) for each in feedback.migrated_since),
    )
    return transition._replace(pin=base.pin, feedback=feedback)
