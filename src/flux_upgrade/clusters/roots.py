"""Where Flux begins to read for each cluster of a repository."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.clusters.graph.flux_objects import FluxKustomization, SourceKey, kustomization_of
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.graph.walk import Root
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.model.text import is_below
from flux_upgrade.pins.formats.yaml_places import is_variable, readable
from flux_upgrade.pins.pin import Role

_SYNC = "gotk-sync.yaml"  # What `flux bootstrap` writes
_BY_BOOTSTRAP = SourceKey("GitRepository", "flux-system", "flux-system")  # As the flux-operator names it, too


def graph_of(
    clusters: Iterable[Cluster], tree: Tree, urls: Sequence[str], below: str = "", *, is_all: bool = True
) -> ClusterGraph:
    """Which file is read by which cluster. ``urls`` and ``is_all``: as ``ClusterGraph``; ``below``: as ``roots_of``."""
    return ClusterGraph(tree, roots_of(clusters, tree, below), urls, is_all=is_all)


def roots_of(clusters: Iterable[Cluster], tree: Tree, below: str = "") -> dict[str, tuple[Root, ...]]:
    """Name of a cluster → its roots, none where nothing tells; clusters of the same name are one.

    Where there is but the sync of ``flux bootstrap``, because something else installs Flux, there is a cluster, too;
    it is looked for in the directory ``below``.
    """
    found: dict[str, tuple[Root, ...]] = {}
    for each in clusters:
        if not each.is_tools:
            found[each.name] = (*found.get(each.name, ()), *_roots(each, tree))
    known = {root.folder for roots in found.values() for root in roots}
    for path in tree.named((f"/{_SYNC}",)):
        for root in _beside(posixpath.dirname(path), tree) if is_below(path, below) else ():
            if root.folder not in known:
                known.add(root.folder)
                found[root.folder or "."] = (*found.get(root.folder or ".", ()), root)
    return found


def _roots(cluster: Cluster, tree: Tree) -> Iterator[Root]:
    known: set[str] = set()
    for member in cluster.members:
        pin = member.pin
        if pin.role is not Role.INSTALLS:
            continue
        if pin.is_manifest:
            roots = _beside(posixpath.dirname(member.path), tree)
        else:
            roots = [Root(pin.folder, _BY_BOOTSTRAP, member.place)] if pin.folder is not None else []
        for root in roots:
            if root.folder not in known:
                known.add(root.folder)
                yield root


def _beside(folder: str, tree: Tree) -> list[Root]:
    """What the Kustomizations beside a manifest say: that of ``flux bootstrap``, or one that reads its own file."""
    syncs = [(path, of) for path in _yaml_in(folder, tree) for of in _kustomizations(path, tree)]
    by_bootstrap = [each for each in syncs if posixpath.basename(each[0]) == _SYNC]
    by_itself = [each for each in syncs if is_below(each[0], each[1].folder) and each[1].folder != folder]
    # People add Kustomizations to gotk-sync.yaml: that of `flux bootstrap` reads the file that it stands in.
    both = [each for each in by_bootstrap if each in by_itself]
    return [Root(of.folder, of.source, path) for path, of in (both or by_bootstrap or by_itself)[:1]]


def _yaml_in(folder: str, tree: Tree) -> Iterator[str]:
    return (path for path in tree.candidates() if posixpath.dirname(path) == folder)


def _kustomizations(path: str, tree: Tree) -> Iterator[FluxKustomization]:
    try:
        content = tree.read(path)
    except Unreadable:
        return
    if b"kustomize.toolkit.fluxcd.io/" not in content or b"CustomResourceDefinition" in content:
        return
    for each in readable(content):
        try:
            data = each.data()
        except Unreadable:
            continue
        of = kustomization_of(data if isinstance(data, dict) else {})
        if of is not None and not is_variable(of.path) and not of.is_remote and of.source.kind:
            yield of
