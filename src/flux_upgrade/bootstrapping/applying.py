"""Apply objects to a cluster, each kind when the cluster can take it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from flux_upgrade.bootstrapping.readiness import Awaited
from flux_upgrade.bootstrapping.waiting import POLL, Run, wait_for
from flux_upgrade.cluster_objects import CRD, NAMESPACE, Object, reference
from flux_upgrade.errors import NotReady
from flux_upgrade.hosting import Secret
from flux_upgrade.ports import Cluster

MANAGER = "kubectl"
"""Who owns the fields that are applied.

kustomize-controller takes over what is applied by this name, as by ``kubectl apply --server-side``
(fluxcd/kustomize-controller ``internal/controller/kustomization_controller.go``, the field managers that
it undoes): a field that is removed in Git later is removed in the cluster. Fields that ``flux bootstrap``
applied as ``flux`` stay there for good.
"""

_PULL_SECRET = "kubernetes.io/dockerconfigjson"  # noqa: S105 a type


def apply_components(
    cluster: Cluster, objects: Sequence[Object], secrets: Sequence[Secret], run: Run
) -> None:
    """Namespaces and CRDs, then, once these are established, the rest.

    ``secrets``: those for pulling images go before what pulls them, others are left alone.
    Raises ClusterUnavailable, NotReady.
    """
    first = [each for each in objects if reference(each).kind in (NAMESPACE, CRD)]
    run.tell(f"applying {len(objects)} objects")
    for each in sorted(first, key=lambda obj: reference(obj).kind != NAMESPACE):
        _apply(cluster, each, run)
    wait_for(cluster, [Awaited(reference(each)) for each in first if reference(each).kind == CRD], run)
    apply_secrets(cluster, [each for each in secrets if is_for_pulling(each)], run)
    apply_all(cluster, [each for each in objects if each not in first], run)


def apply_all(cluster: Cluster, objects: Sequence[Object], run: Run) -> None:
    """In their order. Raises ClusterUnavailable, NotReady."""
    for each in objects:
        _apply(cluster, each, run)


def apply_secrets(cluster: Cluster, secrets: Sequence[Secret], run: Run) -> None:
    """Create them, or put these values in the place of those that they have. Raises ClusterUnavailable."""
    for each in secrets:
        run.tell(f"applying Secret {each.namespace}/{each.name}")
        _apply(cluster, _manifest(each), run)


def is_for_pulling(secret: Secret) -> bool:
    """Whether it is for a registry of images."""
    return secret.type == _PULL_SECRET


def _manifest(secret: Secret) -> Object:
    """As ``data``: of ``stringData`` the cluster does not remember who owns which key."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret.name, "namespace": secret.namespace},
        "type": secret.type,
        "data": {key: b64encode(text.encode()).decode() for key, text in secret.string_data.items()},
    }


def _apply(cluster: Cluster, wanted: Object, run: Run) -> None:
    """An established CRD is not served by each of the cluster's API servers at once."""
    while cluster.apply(wanted, MANAGER) is None:
        if not run.left:
            raise NotReady(
                f"the cluster '{cluster.name}' does not serve the kind of {reference(wanted)}",
                hint="let the CRD of that kind stand among the resources, or install it first",
            )
        run.timing.sleep(min(POLL, run.left))
