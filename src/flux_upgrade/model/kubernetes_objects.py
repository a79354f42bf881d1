"""What a Kubernetes API is asked for: objects, and what tells them apart. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_upgrade.values import NamedTuple

Object = Mapping[str, Any]
"""An object as JSON has it: ``apiVersion``, ``kind``, ``metadata`` and the rest."""


class Kind(NamedTuple):
    """A kind of objects, whatever version its API is at."""

    group: str
    """``apps``; empty for the core's own."""
    name: str
    """``Deployment``."""


class Reference(NamedTuple):
    """One object of a cluster."""

    kind: Kind
    namespace: str
    """Empty for an object of the whole cluster."""
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
SOURCES = "source.toolkit.fluxcd.io"
"""The group of GitRepository, OCIRepository and Bucket."""


def reference(obj: Object) -> Reference:
    """What tells an object apart."""
    metadata = part(obj, "metadata")
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    kind = Kind(group, str(obj.get("kind", "")))
    return Reference(kind, str(metadata.get("namespace") or ""), str(metadata.get("name", "")))


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
