"""Where Flux begins to read for each cluster of a repository."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.clusters.graph.flux_objects import FluxKustomization, SourceKey, kustomization_of, source_of
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.graph.pushed import ARTIFACT, PushedArtifacts
from flux_upgrade.clusters.graph.reads import Root
from flux_upgrade.clusters.graph.walk import normalized
from flux_upgrade.clusters.known import known_of
from flux_upgrade.config.config import Known
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.kubernetes_objects import KUSTOMIZATION
from flux_upgrade.model.text import is_below, repository_path
from flux_upgrade.pins.pin import Pin, Role, SyncSource
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, is_variable, readable

_SYNC = "gotk-sync.yaml"  # What `flux bootstrap` writes
_GIT = "GitRepository"


def graph_of(  # noqa: PLR0913 (the repository, and what is known of it)
    clusters: Iterable[Cluster],
    tree: Snapshot,
    urls: Sequence[str],
    below: str = "",
    known: Sequence[Known] = (),
    *,
    is_all: bool = True,
) -> ClusterGraph:
    """Which file is read by which cluster. ``urls`` and ``is_all``: as ``ClusterGraph``; ``below``: as ``roots_of``.

    ``known``: entries of the config file.
    """
    pushed, clusters = PushedArtifacts(tree, frozenset(map(normalized, urls))), tuple(clusters)
    kept = {member.path for each in clusters for member in each.members if member.pin.role is Role.INSTALLS}
    kept |= {file.path for file, _ in tree.flux_kustomizations if posixpath.dirname(file.path) in _homes(clusters)}
    kept |= set(tree.named((f"/{_SYNC}",)))
    entries: dict[str, tuple[Known, ...]] = {}
    for cluster in clusters if known else ():
        entries[cluster.name] = (*entries.get(cluster.name, ()), *known_of(cluster, known))
    roots = {
        name: _as_known(shown, entries.get(name, ()), tree)
        for name, shown in roots_of(clusters, tree, below, pushed).items()
    }
    return ClusterGraph(tree, roots, urls, entries, is_all=is_all, kept=kept)


def _as_known(roots: tuple[Root, ...], entries: Sequence[Known], tree: Snapshot) -> tuple[Root, ...]:
    """Return the root that an entry of the config file states, if the repository does not show one that exists."""
    entry = next((entry for entry in entries if entry.root is not None), None)
    if entry is None or entry.root is None or any(_has(root.folder, tree) for root in roots):
        return roots
    sync = roots[0] if roots else Root("", SourceKey(_GIT, *SyncSource.named_after("flux-system", "")[:2]), "")
    # The repository that Flux reads may be checked in to a directory of this one.
    is_below_base = bool(sync.folder) and entry.root.endswith(f"/{sync.folder}")
    base = entry.root.removesuffix(f"/{sync.folder}") if is_below_base else ""
    return (Root(entry.root, sync.source, entry.place, base, sync.url, in_sync=sync.folder),)


def _homes(clusters: Iterable[Cluster]) -> frozenset[str]:
    """Return the directories that manifests of Flux are in, where their syncs are, too."""
    members = (member for each in clusters for member in each.members if member.pin.is_manifest)
    return frozenset(posixpath.dirname(member.path) for member in members)


def roots_of(
    clusters: Iterable[Cluster], tree: Snapshot, below: str = "", pushed: PushedArtifacts | None = None
) -> dict[str, tuple[Root, ...]]:
    """Name of a cluster → its roots, none where nothing tells; clusters of the same name are one.

    Where there is but the sync of ``flux bootstrap``, because something else installs Flux, there is a cluster, too;
    it is looked for in the directory ``below``. If its root is unknown, its name is the path of the sync.
    """
    pushed = pushed or PushedArtifacts(tree, ())
    found: dict[str, tuple[Root, ...]] = {}
    clusters = tuple(clusters)
    for each in clusters:
        if not each.is_tools:
            found[each.name] = (*found.get(each.name, ()), *_roots(each, tree, pushed))
    known = {root.folder for roots in found.values() for root in roots}
    installed = {posixpath.dirname(member.path) for each in clusters for member in each.members}
    for path in tree.named((f"/{_SYNC}",)):
        if not is_below(path, below):
            continue
        roots = _beside(posixpath.dirname(path), tree, pushed)
        for root in roots:
            if root.folder not in known:
                known.add(root.folder)
                found[root.folder or "."] = (*found.get(root.folder or ".", ()), root)
        if not roots and posixpath.dirname(path) not in installed and _hides_root(tree.at(path)):
            found[path] = ()
    return found


def _hides_root(file: File | None) -> bool:
    """Return whether a sync does not show its root; False for a template of a sync, which is of no cluster yet."""
    if file is None:
        return True
    return b"{{" not in file.content and b"{%" not in file.content and _is_unclear(file)


def _is_unclear(file: File) -> bool:
    """Return whether a Kustomization in a sync, or its path, is unknown."""
    paths = (item.text_at("spec", "path") for item in file.readable if item.text_at("kind") == KUSTOMIZATION.name)
    return any(isinstance(parsed, BrokenDocument) for parsed in file.objects) or any(map(is_variable, paths))


def _roots(cluster: Cluster, tree: Snapshot, pushed: PushedArtifacts) -> Iterator[Root]:
    known: set[str] = set()
    for member in cluster.members:
        pin = member.pin
        if pin.role is not Role.INSTALLS:
            continue
        if pin.is_manifest:
            roots = _beside(posixpath.dirname(member.path), tree, pushed)
        elif pin.folder is not None:
            key = SourceKey(_GIT, pin.sync.namespace, pin.sync.name)
            roots = [_placed(Root(pin.folder, key, member.place, url=pin.sync.url), member.path, tree)]
        else:
            roots = list(_of_artifact(pin, member.place, pushed))
        for root in roots:
            if root.folder not in known:
                known.add(root.folder)
                yield root


def _of_artifact(pin: Pin, place: str, pushed: PushedArtifacts) -> Iterator[Root]:
    """Of a FluxInstance whose ``sync`` takes an artifact that this repository pushes."""
    for each in readable(pin.content) if b"FluxInstance" in pin.content else ():
        kind, url, path, name = (each.text_at("spec", "sync", key) for key in ("kind", "url", "path", "name"))
        key = SourceKey(kind, *SyncSource.named_after(each.text_at("metadata", "namespace"), name)[:2])
        base = pushed.folder_of(key, url) if each.text_at("kind") == "FluxInstance" else None
        if base is not None:
            yield Root(repository_path(posixpath.join(base, path)), key, place, base)


def _beside(folder: str, tree: Snapshot, pushed: PushedArtifacts) -> list[Root]:
    """What the Kustomizations beside a manifest say: that of ``flux bootstrap``, or one that reads its own file."""
    beside = (each for each in tree.flux_kustomizations if posixpath.dirname(each[0].path) == folder)
    syncs = [(file, of) for file, each in beside if (of := _read(file, each)) is not None]
    by_bootstrap = [each for each in syncs if posixpath.basename(each[0].path) == _SYNC]
    by_itself = [each for each in syncs if is_below(each[0].path, each[1].folder) and each[1].folder != folder]
    # People add Kustomizations to gotk-sync.yaml: that of `flux bootstrap` reads the file that it stands in.
    both = [each for each in by_bootstrap if each in by_itself]
    if not both and any(_is_unclear(file) for file, _ in by_bootstrap):
        return []  # The Kustomization that is known may be one that a user added
    roots = []
    for file, of in (both or by_bootstrap or by_itself)[:1]:
        base = next(_bases(file, of.source, pushed), None)
        # Nothing here pushes the artifact: its root is that of the repository if the sync is where it reads itself.
        if base is None and of.source.kind == ARTIFACT and not is_below(file.path, of.folder):
            continue
        root = Root(repository_path(posixpath.join(base or "", of.folder)), of.source, file.path, base or "")
        roots.append(root if base else _placed(root, file.path, tree))
    return roots


def _placed(root: Root, path: str, tree: Snapshot) -> Root:
    """Return a root where its directory is: one that does not exist may be below a parent of the file that names it.

    The repository that Flux reads is checked in below that parent then. ``path``: of that file.
    """
    above, base = posixpath.dirname(path), ""
    while above and not base and not _has(root.folder, tree):
        base = above if _has(posixpath.join(above, root.folder), tree) else ""
        above = posixpath.dirname(above)
    if not base and not _has(root.folder, tree) and (above := _above(root.folder, tree)):
        return root._replace(folder=root.folder[len(above) + 1 :], above=above)
    return root._replace(folder=posixpath.join(base, root.folder), base=base)


def _above(folder: str, tree: Snapshot) -> str:
    """Return the part of a root's directory that is above a tree without a checkout; empty if the tree is whole."""
    location, names = tree.location, folder.split("/")
    for length in range(len(names), 0, -1) if location.root and not location.is_checkout else ():
        above = "/".join(names[:length])
        if location.root.endswith(f"/{above}") and _has(folder[len(above) + 1 :], tree):
            return above
    return ""


def _has(folder: str, tree: Snapshot) -> bool:
    return next(tree.candidates(folder), None) is not None


def _bases(file: File, key: SourceKey, pushed: PushedArtifacts) -> Iterator[str]:
    """The directory that a source in a file contains, if it is an artifact of this repository."""
    if key.kind != ARTIFACT:
        return
    with suppress(Unreadable):  # the source may follow: then nothing here is known to push it
        for each in file.readable:
            data = each.data()
            source = source_of(data if isinstance(data, dict) else {})
            if source is not None and source.key == key and (base := pushed.folder_of(key, source.url)) is not None:
                yield base


def _read(file: File, kustomization: Object) -> FluxKustomization | None:
    """Return a Kustomization that may reconcile the cluster's root, or None."""
    if b"CustomResourceDefinition" in file.content:
        return None
    with suppress(Unreadable):  # a template, or a value that Flux rejects
        data = kustomization.data()
        of = kustomization_of(data if isinstance(data, dict) else {})
        if of is not None and not is_variable(of.path) and not of.is_remote and of.source.kind:
            return of
    return None
