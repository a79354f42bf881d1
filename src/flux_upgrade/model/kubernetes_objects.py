"""Kubernetes objects, what identifies them, the port to a cluster's API, and manifests of Secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.values import NamedTuple

Object = Mapping[str, Any]  # An object as JSON has it: `apiVersion`, `kind`, `metadata` and the rest


class Kind(NamedTuple):
    """A kind of objects, whatever version its API is at."""

    group: str  # `apps`; empty for the core's own
    name: str  # `Deployment`


class ObjectReference(NamedTuple):
    kind: Kind
    namespace: str  # Empty for an object of the whole cluster
    name: str

    def __str__(self) -> str:
        """``Deployment flux-system/source-controller``."""
        return f"{self.kind.name} {self.namespace}/{self.name}".replace(" /", " ")


CRD = Kind("apiextensions.k8s.io", "CustomResourceDefinition")
NAMESPACE = Kind("", "Namespace")
SECRET = Kind("", "Secret")
EVENT = Kind("", "Event")
POD = Kind("", "Pod")
DEPLOYMENT = Kind("apps", "Deployment")
KUSTOMIZATION = Kind("kustomize.toolkit.fluxcd.io", "Kustomization")
FLUX_INSTANCE = Kind("fluxcd.controlplane.io", "FluxInstance")
SOURCES = "source.toolkit.fluxcd.io"  # The group of GitRepository, OCIRepository and Bucket


def reference(obj: Object) -> ObjectReference:
    metadata = part(obj, "metadata")
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    kind = Kind(group, str(obj.get("kind", "")))
    return ObjectReference(kind, str(metadata.get("namespace") or ""), str(metadata.get("name", "")))


def part(obj: Object, *path: str) -> Object:
    """What an object has below ``path``; empty where there is no such mapping."""
    for name in path:
        below = obj.get(name)
        if not isinstance(below, Mapping):
            return {}
        obj = below
    return obj


def parts(obj: Object, name: str) -> tuple[Object, ...]:
    """The mappings of a list; none where there is no list."""
    values = obj.get(name)
    return tuple(each for each in values if isinstance(each, Mapping)) if isinstance(values, list) else ()


class KubernetesApi(Protocol):
    """A Kubernetes cluster. All raise ClusterUnavailable."""

    @property
    def name(self) -> str:
        """What its owner calls it: the context of the kubeconfig."""

    def version(self) -> str:
        """``v1.34.1``, with what its provider appends."""

    def get(self, what: ObjectReference) -> Object | None:
        """One object; None: there is none, or the cluster does not serve its kind."""

    def list(self, kind: Kind, namespace: str = "") -> tuple[Object, ...]:
        """All objects of a kind, of one namespace or of all; none where the kind is not served."""

    def apply(self, wanted: Object, manager: str) -> Object | None:
        """Apply an object server-side as ``manager``, conflicts forced. Done twice, it is applied once.

        The object as it is now; None: the cluster does not serve its kind (yet).
        """

    def changes(self, what: ObjectReference, since: str, seconds: float) -> Iterator[Object | None]:
        """An object's states after the resource version ``since``, each as it comes; None: it is gone.

        Ends after ``seconds`` at the latest, and earlier where the cluster ends it, or offers no watch.
        """

    def close(self) -> None:
        """Let go of connections and temporary files; nothing is asked of it afterwards."""


_KEYS = {"apiVersion", "kind", "metadata", "type", "stringData"}
_NOT_ASCII = re.compile(r"[^\x20-\x7e]")


def manifest(secrets: tuple[Secret, ...]) -> str:
    """Documents for ``kubectl apply``. Every value is a string in double quotes, whatever is in it."""
    lines: list[str] = []
    for secret in secrets:
        lines += [
            "---",
            "apiVersion: v1",
            "kind: Secret",
            "metadata:",
            f"  name: {_quoted(secret.name)}",
            f"  namespace: {_quoted(secret.namespace)}",
            f"type: {secret.type}",
            "stringData:",
            *(f"  {_quoted(name)}: {_quoted(value)}" for name, value in secret.string_data.items()),
        ]
    return "".join(f"{line}\n" for line in lines)


def parse(text: str) -> tuple[Secret, ...]:
    """What ``manifest`` wrote. Raises UsageError for anything else, encrypted ones included."""
    import yaml

    try:
        documents = list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        return tuple(map(_read, documents))
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(
            "the file is not a manifest of Secrets with stringData as flux-upgrade writes it",
            hint="set another file, or move this one away",
        ) from None  # its words may quote what is secret


def _read(document: Any) -> Secret:
    data, metadata = document["stringData"], document["metadata"]
    if (document["apiVersion"], document["kind"]) != ("v1", "Secret") or not data:
        raise ValueError("another kind")
    if not set(document) <= _KEYS or set(metadata) != {"name", "namespace"}:
        raise ValueError("of another user, or encrypted")
    every = (*data, *data.values(), metadata["name"], metadata["namespace"])
    if not all(isinstance(text, str) for text in every):
        raise ValueError("no strings")
    return Secret(metadata["name"], metadata["namespace"], data, document.get("type", "Opaque"))


def _quoted(text: str) -> str:
    # YAML has JSON's escapes but for pairs of surrogates, and not every character may stand there itself.
    return _NOT_ASCII.sub(lambda c: f"\\U{ord(c[0]):08x}", json.dumps(text, ensure_ascii=False))
