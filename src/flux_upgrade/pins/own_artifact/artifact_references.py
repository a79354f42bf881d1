"""Everything in a tree that takes an artifact of one's own, with what patches make of it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence

from flux_upgrade.model.oci.reference import Address
from flux_upgrade.pins.formats.kustomize_patches import PatchedPlace
from flux_upgrade.pins.objects.flux_manifests_patches import Aim, patches
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference, in_object, in_text
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import ENDS
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument

SUFFIXES = (".yaml", ".yml", ".json", *ENDS)
_MOST = 4 * 1024 * 1024  # Bytes: hand-written files are smaller
_BESIDE = (b"OCIRepository", b"FluxInstance", b"/spec")
"""Files without the address that have one of these may hold patches."""
_REF = (("spec", "ref"), *(("spec", "ref", field) for field in ("digest", "semver", "tag")), ("spec", "url"))
_VERIFY = (("spec", "verify"), *(("spec", "verify", field) for field in ("provider", "secretRef")))
_SYNC = (("spec", "sync", "ref"), ("spec", "sync", "url"))


def files_of(tree: Snapshot) -> Iterator[File]:
    """The files of a tree that may hold references, or patches of them."""
    for file in filter(None, map(tree.at, tree.named(SUFFIXES))):
        if len(file.content) <= _MOST and any(mark in file.content for mark in (b"oci://", *_BESIDE)):
            yield file


def references_in(
    files: Sequence[File], address: Address, patch_files: Collection[str]
) -> tuple[ArtifactReference, ...]:
    """In the order of the files. ``patch_files``: what kustomizations call patches."""
    found = tuple(
        reference
        for file in files
        if b"oci://" in file.content and file.path not in patch_files
        for each in file.objects
        for reference in (
            in_text(file, each, address) if isinstance(each, BrokenDocument) else in_object(file, each, address)
        )
    )
    for name in dict.fromkeys(each.source for each in found if each.source):
        own = [each for each in found if each.source == name]
        for patch in patches(files, Aim((name,), fields=_VERIFY), patch_files):
            if not patch.removes:  # what one overlay takes away, another may keep
                found = _changed(found, _nearest(patch, own), lambda each: each._replace(is_verified=True))
        for patch in patches(files, Aim((name,), fields=_REF), patch_files):
            found = _changed(found, _nearest(patch, own), _referred(patch))
    for name in dict.fromkeys(each.instance for each in found if each.instance):
        own = [each for each in found if each.instance == name]
        aim = Aim((name,), "FluxInstance", _SYNC, ("spec", "distribution"))
        for patch in patches(files, aim, patch_files):
            found = _changed(found, _nearest(patch, own), _referred(patch))
    return found


def _changed(
    found: Sequence[ArtifactReference],
    chosen: Collection[ArtifactReference],
    how: Callable[[ArtifactReference], ArtifactReference],
) -> tuple[ArtifactReference, ...]:
    spots = {_place(each) for each in chosen}
    return tuple(how(each) if _place(each) in spots else each for each in found)


def _place(reference: ArtifactReference) -> tuple[str, int]:
    return reference.path, reference.stated.line


def _nearest(patch: PatchedPlace, references: Sequence[ArtifactReference]) -> list[ArtifactReference]:
    """Those that a patch may be for: every cluster has objects of the same name, and patches near them."""
    steps = {_place(each): _shared(patch.file.path, each.path) for each in references}
    most = max(steps.values())
    return [each for each in references if steps[_place(each)] == most]


def _shared(path: str, other: str) -> int:
    """How many folders two files have in common."""
    folders = (posixpath.dirname(each).split("/") for each in (path, other))
    count = 0
    for one, two in zip(*folders, strict=False):
        if one != two:
            break
        count += 1
    return count


def _referred(patch: PatchedPlace) -> Callable[[ArtifactReference], ArtifactReference]:
    reason = f"a patch replaces it: {patch.file.path}:{patch.line}"
    hint = "edit the patch, or set the version in the object"
    return lambda each: each if each.reason else each._replace(reason=reason, hint=hint)
