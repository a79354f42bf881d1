"""What Flux reconciles from this repository: its Kustomizations of a GitRepository, with their paths."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.model.text import is_below, repository_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.yaml_places import is_variable, readable

_GROUP = "kustomize.toolkit.fluxcd.io/"
_USUAL = "flux-system"
"""How `flux bootstrap` and the flux-operator name the source that is this repository."""
_BOOTSTRAP = "gotk-sync.yaml"


class FluxKustomization(NamedTuple):
    """A Kustomization of Flux's that reconciles a folder of this repository."""

    path: str
    """Its own file; relative to the repository's root."""
    target: str
    """``spec.path``, cleaned; empty for the root."""
    is_remote: bool = False
    """Whether ``spec.kubeConfig`` leads to another cluster than the one that reconciles it."""


def flux_kustomizations(tree: Tree) -> tuple[FluxKustomization, ...]:
    """In the order of the files. A path that is a variable, or of another source, is left out."""
    found = [each for path in tree.candidates() for each in _syncs_in(tree, path)]
    ours = {source for source, sync in found if _is_of_this_repository(sync)} | {_USUAL}
    # Other repositories are laid out by others, and many Kustomizations take such a one from its root.
    return tuple(sync for source, sync in found if sync.target or source in ours)


def _is_of_this_repository(sync: FluxKustomization) -> bool:
    """Whether its source can only be this repository: `flux bootstrap` wrote it, or it reconciles itself."""
    folder, _, name = sync.path.rpartition("/")
    return name == _BOOTSTRAP or (bool(sync.target) and is_below(folder, sync.target))


def _syncs_in(tree: Tree, path: str) -> Iterator[tuple[str, FluxKustomization]]:
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
            folder = repository_path(target)
            is_remote = each.has("spec", "kubeConfig")
            yield each.text_at("spec", "sourceRef", "name"), FluxKustomization(path, folder, is_remote)
