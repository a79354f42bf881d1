"""What a program builds of a kustomization, with the old manifest and with the new one."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.overlay.result import Overlay, OverlayVerdict
from flux_upgrade.kustomize.build_files import files_of
from flux_upgrade.kustomize.errors import CannotTell
from flux_upgrade.kustomize.kustomization import Kustomization
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import FluxUpgradeError, Unreadable
from flux_upgrade.model.ports import Builder
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import readable

Files = Mapping[str, bytes]
_SYNC = "gotk-sync.yaml"
_USUAL = "flux-system"  # What `flux bootstrap` calls the Kustomization in it


def with_build(
    overlay: Overlay, tree: Snapshot, of: Kustomization, manifests: tuple[Files, Files], builder: Builder
) -> Overlay:
    """``manifests``: the old one and the new one, each with its path."""
    old, new = manifests
    try:
        files = files_of(tree, of)
    except CannotTell as error:
        return overlay._replace(unbuilt=error.message)
    name = _called(files.get(posixpath.join(of.folder, _SYNC), b""))
    try:
        before = builder.build({**files, **old}, of.folder, name)
    except FluxUpgradeError as error:
        return overlay._replace(unbuilt=f"it does not build today either: {error.message}")
    try:
        after = builder.build({**files, **new}, of.folder, name)
    except FluxUpgradeError as error:
        return overlay._replace(builder=builder.name, failed=error.message)
    try:
        changes = manifest_changes(parse(before).documents, parse(after).documents)
    except Unreadable as error:
        return overlay._replace(unbuilt=f"what {builder.name} built cannot be read: {error.message}")
    # The program has the last word about what builds.
    findings = tuple(
        each._replace(
            verdict=OverlayVerdict.UNKNOWN,
            detail=f"{builder.name} builds it nevertheless: {each.detail}",
            hint="",
            fails=False,
        )
        if each.fails
        else each
        for each in overlay.findings
    )
    return overlay._replace(builder=builder.name, built=changes, findings=findings)


def _called(sync: bytes) -> str:
    """The Kustomization in a ``gotk-sync.yaml``."""
    for each in readable(sync):
        if each.text_at("apiVersion").startswith("kustomize.toolkit.fluxcd.io/"):
            return each.text_at("metadata", "name") or _USUAL
    return _USUAL
