"""The kinds that an API server has of its own, and those that CRDs add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind and where it is served."""

    group: str
    versions: tuple[str, ...]
    """The preferred one first."""
    plural: str
    name: str
    namespaced: bool

    @property
    def api_versions(self) -> tuple[str, ...]:
        """``apps/v1``; the core's is ``v1``."""
        return tuple(f"{self.group}/{each}" if self.group else each for each in self.versions)


def _core(plural: str, name: str, *, namespaced: bool = True) -> Kind:
    return Kind("", ("v1",), plural, name, namespaced)


BUILT_IN = (
    _core("namespaces", "Namespace", namespaced=False),
    _core("serviceaccounts", "ServiceAccount"),
    _core("services", "Service"),
    _core("secrets", "Secret"),
    _core("configmaps", "ConfigMap"),
    _core("resourcequotas", "ResourceQuota"),
    _core("pods", "Pod"),
    _core("events", "Event"),
    Kind("apps", ("v1",), "deployments", "Deployment", namespaced=True),
    Kind("networking.k8s.io", ("v1",), "networkpolicies", "NetworkPolicy", namespaced=True),
    Kind("rbac.authorization.k8s.io", ("v1",), "clusterroles", "ClusterRole", namespaced=False),
    Kind("rbac.authorization.k8s.io", ("v1",), "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Kind("apiextensions.k8s.io", ("v1",), "customresourcedefinitions", "CustomResourceDefinition", namespaced=False),
)

CRDS = "customresourcedefinitions"


def of_crd(crd: dict[str, Any]) -> Kind:
    """The kind that a CRD defines. Versions: GA before beta before alpha, the later one first."""
    spec = crd["spec"]
    served = [each["name"] for each in spec["versions"] if each["served"]]
    served.sort(key=_stability, reverse=True)
    names = spec["names"]
    return Kind(spec["group"], tuple(served), names["plural"], names["kind"], spec["scope"] == "Namespaced")


def _stability(version: str) -> tuple[int, str]:
    return (0 if "alpha" in version else 1 if "beta" in version else 2, version)
