"""The files of a bootstrapped folder → the objects that they are in a cluster. Pure.

As ``flux bootstrap``: a ``kustomization.yaml`` beside the files is built, with its patches; without one
the files are applied as they are.
"""

from __future__ import annotations

import posixpath
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping

from flux_upgrade.bootstrap.files import errors_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import ClusterUnfit, Unreadable
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.kubernetes_objects import (
    CRD,
    SECRET,
    KubernetesApi,
    Object,
    ObjectReference,
    part,
    reference,
)
from flux_upgrade.model.values import NamedTuple

Builder = Callable[[Mapping[str, bytes], str, str], bytes]
"""Files of a repository, the kustomization's folder, the name of the Kustomization → YAML documents."""

COMPONENTS, SYNC = "gotk-components.yaml", "gotk-sync.yaml"
_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PLAIN = {"apiVersion", "kind", "metadata", "resources"}


class ClusterObjects(NamedTuple):
    """What is applied."""

    components: tuple[Object, ...]
    """All that is not in ``sync``; encrypted Secrets are left out, which Flux alone can read."""
    sync: tuple[Object, ...]
    """Sources and Kustomizations of ``gotk-sync.yaml``, as they are after the kustomization's patches."""


def manifests_of(files: Mapping[str, bytes], folder: str, name: str, build: Builder | None) -> ClusterObjects:
    """The objects of ``folder``.

    ``files``: path relative to the repository's root → content; the folder's own, and whatever its
    kustomization refers to. ``name``: of the Kustomization. ``build``: None where no program can.
    Raises ClusterUnfit, Unreadable.
    """
    stated = tuple(_objects(files, (posixpath.join(folder, SYNC),)))
    objects = tuple(_built(files, folder, name, build))
    own = {reference(each) for each in stated}
    sync = tuple(each for each in objects if reference(each) in own)
    if not any(reference(each).kind == CRD for each in objects):
        raise ClusterUnfit(
            f"what {folder} comes to has no Flux in it",
            hint=f"let {COMPONENTS} stand among the resources of its kustomization.yaml",
        )
    return ClusterObjects(
        tuple(each for each in objects if reference(each) not in own and "sops" not in each),
        sync or stated,
    )


def _built(files: Mapping[str, bytes], folder: str, name: str, build: Builder | None) -> Iterator[Object]:
    file = next((path for path in _NAMES if posixpath.join(folder, path) in files), "")
    if not file:
        return _objects(files, (posixpath.join(folder, each) for each in (COMPONENTS, SYNC)))
    path = posixpath.join(folder, file)
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
            f"{path} has more than plain resources, and nothing here can build it",
            hint="install kustomize, kubectl or flux, so that it is on PATH",
        )
    return _documents(build(files, folder, name), f"what {path} builds to")


def _objects(files: Mapping[str, bytes], paths: Iterable[str]) -> Iterator[Object]:
    for path in paths:
        if path not in files:
            raise Unreadable(f"{path} is missing", hint="bootstrap the folder first")
        yield from _documents(files[path], path)


def _documents(content: bytes, path: str) -> Iterator[Object]:
    with errors_of(path):
        documents = parse(content).documents
        for document in documents:
            _ = document.key  # raises for what is no object
        objects = [document.data for document in documents]
    yield from objects


class ClusterSecretPlace:
    """The protocol ``SecretPlace``. What is put is kept until ``handed_over`` is asked for it.

    Flux's namespace has to be there first, so that Secrets are applied with the components.
    """

    is_readable = True
    is_cluster = True

    def __init__(self, cluster: KubernetesApi) -> None:
        self._cluster = cluster
        self.where = f"the cluster '{cluster.name}'"
        self.handed_over: tuple[Secret, ...] = ()

    def present(self, name: str, namespace: str) -> Secret | None:
        there = self._cluster.get(ObjectReference(SECRET, namespace, name))
        if there is None:
            return None
        data = {key: _text(value) for key, value in part(there, "data").items()}
        return Secret(name, namespace, data, str(there.get("type", "Opaque")))

    def has(self, name: str, namespace: str) -> bool:
        return self.present(name, namespace) is not None

    def put(self, handed_over: tuple[Secret, ...]) -> None:
        self.handed_over = handed_over


def _text(value: object) -> str:
    """Of base64; what is no text is nothing that we would have put there."""
    try:
        return b64decode(str(value), validate=True).decode()
    except ValueError:
        return ""
