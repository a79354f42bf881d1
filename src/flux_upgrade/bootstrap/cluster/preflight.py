"""Whether a cluster can be bootstrapped. Reads only.

What ``flux bootstrap`` asks (fluxcd/flux2 ``cmd/flux/cluster_info.go``, ``pkg/bootstrap/bootstrap.go``),
and besides: the flux-operator, a Flux of another namespace, and one that is newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flux_upgrade.bootstrap.cluster.wait import plain
from flux_upgrade.impact.kubernetes_versions import Minor, minor_of, support
from flux_upgrade.model.errors import AlreadyBootstrapped, ClusterUnfit, Downgrade
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.kubernetes_objects import (
    CRD,
    FLUX_INSTANCE,
    KUSTOMIZATION,
    SECRET,
    KubernetesApi,
    Object,
    ObjectReference,
    part,
)
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

_FLUX = ObjectReference(CRD, "", "gitrepositories.source.toolkit.fluxcd.io")
_VERSION, _MANAGER = "app.kubernetes.io/version", "app.kubernetes.io/managed-by"
_OPERATOR = "fluxcd.controlplane.io/"
_OWNER = ("kustomize.toolkit.fluxcd.io/namespace", "kustomize.toolkit.fluxcd.io/name")


class Desired(NamedTuple):
    version: str
    namespace: str
    components: tuple[Object, ...]
    sync: tuple[Object, ...]  # Sources and Kustomizations; of the Kustomizations, Flux's own is the first
    revisions: Mapping[str, str]
    """Name of a source → what it has to come to, ``main@sha1:…``; others may come to anything."""
    secrets: tuple[Secret, ...] = ()
    """Those that were made in this run; what is in the cluster otherwise is left untouched."""
    secret_name: str = ""
    force: bool = False


class ClusterState(NamedTuple):
    reconciles_itself: bool = False  # Flux has applied its own manifests from the source already, and is left to do so
    has_secret: bool = False  # The one that Flux gets at its source with
    warnings: tuple[str, ...] = ()


def check_cluster(cluster: KubernetesApi, desired: Desired) -> ClusterState:
    """Raises ClusterUnavailable, ClusterUnfit, AlreadyBootstrapped, Downgrade."""
    warnings = _kubernetes_fits(cluster.name, cluster.version(), desired.version)
    labels = part(cluster.get(_FLUX) or {}, "metadata", "labels")
    syncs = [each for each in desired.sync if each.get("kind") == KUSTOMIZATION.name]
    if not desired.force:
        names = [(desired.namespace, str(part(each, "metadata").get("name"))) for each in syncs]
        _refuse_another(cluster, labels, names)
    applied = [_is_applied(cluster, desired.namespace, each) for each in syncs]
    flux = plain(labels.get(_VERSION))
    if is_tag(flux) and is_tag(desired.version) and Version(flux) > Version(desired.version):
        raise Downgrade(
            f"the cluster '{cluster.name}' runs Flux {flux}, which is newer than {desired.version}",
            hint=f"use --version={flux} or later",
        )
    secret = ObjectReference(SECRET, desired.namespace, desired.secret_name)
    return ClusterState(
        reconciles_itself=bool(applied) and applied[0],
        has_secret=bool(desired.secret_name) and cluster.get(secret) is not None,
        warnings=warnings,
    )


def _kubernetes_fits(cluster: str, version: str, flux: str) -> tuple[str, ...]:
    minor, stated = minor_of(version), support(flux)
    if minor is None:
        return (f"flux-upgrade does not know the cluster's Kubernetes version '{plain(version)}'",)
    if minor < stated.least:
        raise ClusterUnfit(
            f"Flux {flux} requires Kubernetes {_shown(stated.least)}, but '{cluster}' has {plain(version)}",
            hint="upgrade the cluster, or use an older --version",
        )
    if stated.tested is None or stated.tested[0] <= minor <= stated.tested[1]:
        return ()
    first, last = map(_shown, stated.tested)
    return (f"Flux {flux} is tested with Kubernetes {first} to {last}; '{cluster}' has {plain(version)}",)


def _shown(minor: Minor) -> str:
    return f"{minor[0]}.{minor[1]}"


def _refuse_another(cluster: KubernetesApi, labels: Object, ours: Sequence[tuple[str, str]]) -> None:
    """Two that apply the same objects undo each other's work again and again.

    ``ours``: namespace and name of each Kustomization that is to be in the cluster.
    """
    instances = [str(part(each, "metadata").get("name")) for each in cluster.list(FLUX_INSTANCE)]
    manager = plain(labels.get(_MANAGER))
    if instances or any(label.startswith(_OPERATOR) for label in labels):
        manager = f"the flux-operator ({plain(', '.join(instances)) or 'its labels are on the CRDs'})"
        raise _managed(cluster.name, manager)
    if manager not in ("", "flux"):
        raise _managed(cluster.name, f"'{manager}'")
    namespace, name = (plain(labels.get(each)) for each in _OWNER)
    if name and (namespace, name) not in ours:
        raise _managed(cluster.name, f"the Kustomization {namespace}/{name}")


def _managed(cluster: str, manager: str) -> AlreadyBootstrapped:
    return AlreadyBootstrapped(
        f"Flux in the cluster '{cluster}' is already managed by {manager}",
        hint="keep it that way, or remove that manager and use --force",
    )


def _is_applied(cluster: KubernetesApi, namespace: str, wanted: Object) -> bool:
    """Whether a Kustomization is there and has been applied. Another path is refused whatever was asked."""
    name, path = str(part(wanted, "metadata").get("name")), str(part(wanted, "spec").get("path", ""))
    there = cluster.get(ObjectReference(KUSTOMIZATION, namespace, name))
    if there is None:
        return False
    synced = plain(part(there, "spec").get("path"))
    # ``./a/`` and ``a`` are the same; as ``flux bootstrap`` compares them.
    if synced.removeprefix("./").strip("/") != path.removeprefix("./").strip("/"):
        raise AlreadyBootstrapped(
            f'sync path configuration ("{path}") would overwrite path ("{synced}") of existing Kustomization '
            f"{namespace}/{name} in the cluster '{cluster.name}'",
            hint=f"use --path={synced}; to move the path, change it in Git and let Flux apply it",
        )
    return bool(part(there, "status").get("lastAppliedRevision"))
