"""What Flux reconciles from this repository: its Kustomizations of a GitRepository, with their paths."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from flux_upgrade.clusters.clusters import Sync, is_below
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.ports import Tree
from flux_upgrade.pins.formats.yaml_places import is_variable, readable

_GROUP = "kustomize.toolkit.fluxcd.io/"
_USUAL = "flux-system"
"""How `flux bootstrap` and the flux-operator name the source that is this repository."""
_BOOTSTRAP = "gotk-sync.yaml"


def syncs(tree: Tree) -> tuple[Sync, ...]:
    """In the order of the files. A path that is a variable, or of another source, is left out."""
    found = [each for path in tree.candidates() for each in _syncs_in(tree, path)]
    ours = {source for source, sync in found if _is_told(sync)} | {_USUAL}
    # Other repositories are laid out by others, and many Kustomizations take such a one from its root.
    return tuple(sync for source, sync in found if sync.target or source in ours)


def _is_told(sync: Sync) -> bool:
    """Whether its source can only be this repository: `flux bootstrap` wrote it, or it reconciles itself."""
    folder, _, name = sync.path.rpartition("/")
    return name == _BOOTSTRAP or (bool(sync.target) and is_below(folder, sync.target))


def _syncs_in(tree: Tree, path: str) -> Iterator[tuple[str, Sync]]:
    """With the name of the GitRepository."""
    try:
        content = tree.read(path)
    except Unreadable:
        return
    if _GROUP.encode() not in content:
        return
    for each in readable(content):
        if each.text_at("kind") != "Kustomization" or not each.text_at("apiVersion").startswith(_GROUP):
            continue
        target = each.text_at("spec", "path")
        # What an OCIRepository or a Bucket holds is laid out by whoever fills it.
        if each.text_at("spec", "sourceRef", "kind") == "GitRepository" and not is_variable(target):
            folder = posixpath.normpath(f"/{target}").strip("/")
            is_remote = each.has("spec", "kubeConfig")
            yield each.text_at("spec", "sourceRef", "name"), Sync(path, folder, is_remote)
