"""The three files of a bootstrap beside what is in the repository: what is written, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from flux_upgrade.bootstrap import kustomization, sync
from flux_upgrade.bootstrap.components import FlagChange, ManifestPlan, RenderedComponents
from flux_upgrade.bootstrap.options import COMPONENTS_FILE, KUSTOMIZATION_FILE, SYNC_FILE, BootstrapOptions
from flux_upgrade.model.errors import AlreadyBootstrapped, EditConflict, Unreadable
from flux_upgrade.model.text import is_below, repository_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.gotk_components.pin import is_placeholder
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object

_NAMES = (COMPONENTS_FILE, SYNC_FILE, KUSTOMIZATION_FILE)


class FileChange(NamedTuple):
    """One file that is written. Paths are relative to the repository's root."""

    path: str
    before: bytes | None
    after: bytes


class FilesPlan(NamedTuple):
    version: str
    changes: tuple[FileChange, ...]
    kept: tuple[str, ...] = ()
    shown: tuple[FlagChange, ...] = ()
    edits: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Names of new files that the user's own ``kustomization.yaml`` does not list: Flux would not apply
    them."""
    manifest: ManifestPlan | None = None


class RootSync(NamedTuple):
    """A Flux that reconciles a folder of the repository, itself included."""

    path: str
    target: str
    name: str = ""  # Of the Kustomization, and of its namespace


def plan_files(
    options: BootstrapOptions, tree: Snapshot, components: RenderedComponents, roots: Iterable[RootSync] | None = None
) -> FilesPlan:
    """What is to be written for one cluster. Reads only.

    ``roots``: ``root_syncs`` of the tree, where it has been searched already.

    Raises AlreadyBootstrapped, EditConflict, Unreadable, UsageError, and what ``components`` raises.
    """
    sync.sync_of(options)  # before anything is fetched
    paths = [f"{options.folder}/{name}" for name in _NAMES]
    there = {path: tree.read(path) for path in tree.named(tuple(paths)) if path in paths}
    _refuse_others(options, paths[1], root_syncs(tree) if roots is None else roots, tree)
    filled = {path: content for path, content in there.items() if not is_placeholder(content)}
    if paths[0] in filled:
        manifest = components.taken(paths[0], filled[paths[0]], options.install)
    else:
        manifest = components.made(options.install)
    settled = options._replace(install=options.install._replace(version=manifest.version))
    synced, shown, edits = _sync(sync.sync_of(settled), paths[1], filled.get(paths[1]))
    listing = kustomization.render_kustomization(tree, options.folder, _NAMES[:2])
    with errors_of(paths[2]):
        unlisted = kustomization.unlisted(listing, _NAMES[:2])
    contents = zip(paths, (manifest.content, synced, listing), strict=True)
    changes = [FileChange(path, there.get(path), after) for path, after in contents if there.get(path) != after]
    return FilesPlan(
        version=manifest.version,
        changes=tuple(sorted(changes)),
        kept=tuple(path for path in paths if path not in {each.path for each in changes}),
        shown=manifest.shown + shown,
        edits=manifest.edits + edits,
        unlisted=unlisted,
        manifest=manifest,
    )


def _sync(wanted: sync.Sync, path: str, content: bytes | None) -> tuple[bytes, tuple[FlagChange, ...], tuple[str, ...]]:
    """The file, the flags that change in it, and the edits by hand."""
    if content is None:
        return sync.written(wanted).encode(), (), ()
    with errors_of(path):
        found = sync.recover_sync(content)
        if repository_path(found.sync.path) != repository_path(wanted.path):
            raise AlreadyBootstrapped(
                f'{path} reconciles "{found.sync.path}", and would be overwritten with "{wanted.path}"',
                hint="use another --path, or change spec.path in that file first; Flux then deletes what it applied "
                "from the old path",
            )
        shown = sync.shown(found, wanted)
        edits = sync.edits(found)
        return sync.resynced(found, wanted) if shown else content, shown, edits


def root_syncs(tree: Snapshot) -> tuple[RootSync, ...]:
    """Every Flux of the repository, in the order of the files."""
    return tuple(
        RootSync(file.path, _path_of(each), each.text_at("metadata", "name"))
        for file, each in tree.flux_kustomizations
        if _is_root(each)
    )


def _path_of(sync: Object) -> str:
    """Return its ``spec.path``; empty for the root, which an explicit null is, too."""
    path = sync.text_at("spec", "path")
    return "" if path.lower() in ("~", "null") else path


def _refuse_others(options: BootstrapOptions, own: str, roots: Iterable[RootSync], tree: Snapshot) -> None:
    """Two Fluxes that reconcile one folder undo each other."""
    ours = repository_path(options.sync_path)
    for root in roots:
        theirs = repository_path(root.target)
        if root.path != own and theirs == ours:
            raise AlreadyBootstrapped(
                f'another Flux reconciles "{options.sync_path}": see {root.path}',
                hint="use another --path, or the --namespace of the existing Flux",
            )
        # Both have their objects under one name: whichever is applied by the other's takes over its path.
        if root.path == own or root.name != options.namespace:
            continue
        outer = theirs if is_below(ours, theirs) else ours
        is_nested = is_below(ours, theirs) or is_below(theirs, ours)
        if is_nested and outer not in tree.kustomization_folders:
            raise AlreadyBootstrapped(
                f'the paths "{options.sync_path}" and "{root.target}" ({root.path}) overlap: one cluster would apply '
                "the other's manifests",
                hint="use a --path outside of it, or list the manifests in a kustomization.yaml in the outer directory",
            )


def _is_root(obj: Object) -> bool:
    """``flux bootstrap`` gives all of it one name, that of the namespace."""
    names = {obj.text_at(*path, "name") for path in (("metadata",), ("spec", "sourceRef"))}
    # What another cluster is to have is not reconciled by this one.
    is_of_git = obj.text_at("spec", "sourceRef", "kind") == "GitRepository"
    is_here = is_of_git and not obj.has("spec", "kubeConfig")
    return is_here and names == {obj.text_at("metadata", "namespace")} and "" not in names


@contextmanager
def errors_of(path: str) -> Iterator[None]:
    try:
        yield
    except (Unreadable, EditConflict) as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from error
