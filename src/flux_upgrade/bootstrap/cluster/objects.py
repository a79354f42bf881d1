"""The files of a bootstrapped folder → the objects that they are in a cluster. Pure.

As ``flux bootstrap``: a ``kustomization.yaml`` beside the files is built, with its patches; without one
the files are applied as they are.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping

from flux_upgrade.bootstrap.files import errors_of
from flux_upgrade.bootstrap.options import COMPONENTS_FILE, SYNC_FILE
from flux_upgrade.kustomize import kustomization
from flux_upgrade.kustomize.build_files import files_of
from flux_upgrade.kustomize.errors import CannotTell
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import ClusterUnfit, Unreadable
from flux_upgrade.model.kubernetes_objects import CRD, Object, reference
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.snapshot import in_memory

Builder = Callable[[Mapping[str, bytes], str, str], bytes]
"""Files of a repository, the kustomization's folder, the name of the Kustomization → YAML documents."""

_PLAIN = {"apiVersion", "kind", "metadata", "resources"}


def manifests_of(
    files: Mapping[str, bytes], folder: str, name: str, build: Builder | None
) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """The objects of ``folder``: components and sync, as ``preflight.Desired`` has them.

    The sync is what ``gotk-sync.yaml`` has, after the kustomization's patches; the components are all
    else but encrypted Secrets, which Flux alone can read.

    ``files``: path relative to the repository's root → content; the folder's own, and whatever its
    kustomization refers to. ``name``: of the Kustomization. ``build``: None where no program can.
    Raises ClusterUnfit, Unreadable.
    """
    stated = tuple(_objects(files, (posixpath.join(folder, SYNC_FILE),)))
    objects = tuple(_built(files, folder, name, build))
    own = {reference(each) for each in stated}
    sync = tuple(each for each in objects if reference(each) in own)
    if not any(reference(each).kind == CRD for each in objects):
        raise ClusterUnfit(
            f"the manifests in {folder} do not include Flux",
            hint=f"list {COMPONENTS_FILE} in the resources of its kustomization.yaml",
        )
    components = tuple(each for each in objects if reference(each) not in own and "sops" not in each)
    return components, sync or stated


def _built(files: Mapping[str, bytes], folder: str, name: str, build: Builder | None) -> Iterator[Object]:
    path = next((path for each in NAMES if (path := posixpath.join(folder, each)) in files), "")
    if not path:
        return _objects(files, (posixpath.join(folder, each) for each in (COMPONENTS_FILE, SYNC_FILE)))
    with errors_of(path):
        documents = parse(files[path]).documents
        data = documents[0].data if documents else None
    resources = data.get("resources") if isinstance(data, Mapping) and data.keys() <= _PLAIN else None
    if isinstance(resources, list):
        # Nothing is done with them: they are what is built.
        plain = [posixpath.join(folder, posixpath.normpath(str(each))) for each in resources]
        if all(each in files for each in plain):
            return _objects(files, plain)
    if build is None:
        raise ClusterUnfit(
            f"{path} has more than plain resources, and no program to build it was found",
            hint="install kustomize, kubectl or flux on PATH",
        )
    try:
        of = kustomization.read(in_memory(files), folder)
        if of is not None:
            files_of(of.tree, of)
    except CannotTell as error:
        hint = "copy what it refers to into the repository"
        raise ClusterUnfit(f"{path} is not built: {error.message}", hint=hint) from error
    return _documents(build(files, folder, name), f"the build of {path}")


def _objects(files: Mapping[str, bytes], paths: Iterable[str]) -> Iterator[Object]:
    for path in paths:
        if path not in files:
            raise Unreadable(f"{path} is missing", hint="bootstrap the directory first")
        yield from _documents(files[path], path)


def _documents(content: bytes, path: str) -> Iterator[Object]:
    with errors_of(path):
        documents = parse(content).documents
        for document in documents:
            _ = document.key  # raises for what is no object
        objects = [document.data for document in documents]
    yield from objects
