"""Whether a cluster can be bootstrapped. Reads only.

What ``flux bootstrap`` asks (fluxcd/flux2 ``cmd/flux/cluster_info.go``, ``pkg/bootstrap/bootstrap.go``),
and besides: the flux-operator, a Flux of another namespace, and one that is newer.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence

from flux_upgrade.bootstrap.cluster.diagnosis import plain
from flux_upgrade.impact.kubernetes_versions import Minor, minor_of, support
from flux_upgrade.model.errors import AlreadyBootstrapped, ClusterUnfit, Downgrade
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


class ClusterRequirements(NamedTuple):
    """What a cluster is to be bootstrapped with, as far as a look at it needs to know."""

    version: str
    """Of Flux: ``v2.9.4``."""
    namespace: str
    paths: tuple[tuple[str, str], ...]
    """Name and ``spec.path`` of each Kustomization that is to be in ``namespace``."""
    secret_name: str = ""
    """Of the Secret that Flux gets at its source with; empty: it needs none."""
    force: bool = False
    """Take over what another tool manages."""


class ClusterState(NamedTuple):
    """What there is."""

    cluster: str
    kubernetes: str
    """``v1.34.1``."""
    flux: str = ""
    """``v2.9.4``; empty: none, or it does not say."""
    reconciles_itself: bool = False
    """Flux has applied its own manifests from the source already, and is left to do so."""
    has_secret: bool = False
    public_key: str = ""
    """The Secret's, ``ssh-ed25519 AAAA…``; empty: it has none."""
    warnings: tuple[str, ...] = ()


def check_cluster(cluster: KubernetesApi, wanted: ClusterRequirements) -> ClusterState:
    """Raises ClusterUnavailable, ClusterUnfit, AlreadyBootstrapped, Downgrade."""
    version = cluster.version()
    warnings = _kubernetes_fits(cluster.name, version, wanted.version)
    crd = cluster.get(_FLUX)
    labels = part(crd or {}, "metadata", "labels")
    if not wanted.force:
        _refuse_another(cluster, labels, wanted)
    applied = [_synced(cluster, wanted, name, path) for name, path in wanted.paths]
    flux = plain(labels.get(_VERSION))
    is_newer = is_tag(flux) and is_tag(wanted.version) and Version(flux) > Version(wanted.version)
    if is_newer:
        raise Downgrade(
            f"the cluster '{cluster.name}' runs Flux {flux}, which is newer than {wanted.version}",
            hint=f"bootstrap with --version={flux}, or with a later one",
        )
    secret = None
    if wanted.secret_name:
        secret = cluster.get(ObjectReference(SECRET, wanted.namespace, wanted.secret_name))
    return ClusterState(
        cluster.name,
        plain(version),
        flux,
        reconciles_itself=bool(applied) and applied[0],
        has_secret=secret is not None,
        public_key=_public_key(secret or {}),
        warnings=warnings,
    )


def _kubernetes_fits(cluster: str, version: str, flux: str) -> tuple[str, ...]:
    minor, stated = minor_of(version), support(flux)
    if minor is None:
        return (f"the cluster's version '{plain(version)}' is no version of Kubernetes that we know",)
    if minor < stated.least:
        raise ClusterUnfit(
            f"Flux {flux} needs Kubernetes {_shown(stated.least)}, and '{cluster}' has {plain(version)}",
            hint="upgrade the cluster, or bootstrap an earlier Flux: --version",
        )
    if stated.tested is None or stated.tested[0] <= minor <= stated.tested[1]:
        return ()
    first, last = map(_shown, stated.tested)
    return (f"Flux {flux} is tested with Kubernetes {first} to {last}; '{cluster}' has {plain(version)}",)


def _shown(minor: Minor) -> str:
    return f"{minor[0]}.{minor[1]}"


def _refuse_another(cluster: KubernetesApi, labels: Object, wanted: ClusterRequirements) -> None:
    """Two that apply the same objects undo each other's work again and again."""
    instances = [str(part(each, "metadata").get("name")) for each in cluster.list(FLUX_INSTANCE)]
    manager = plain(labels.get(_MANAGER))
    if instances or any(label.startswith(_OPERATOR) for label in labels):
        manager = f"the flux-operator ({plain(', '.join(instances)) or 'its labels are on the CRDs'})"
        raise _managed(cluster.name, manager)
    if manager not in ("", "flux"):
        raise _managed(cluster.name, f"'{manager}'")
    namespace, name = (plain(labels.get(each)) for each in _OWNER)
    ours = [(wanted.namespace, each) for each, _ in wanted.paths]
    if name and (namespace, name) not in ours:
        raise _managed(cluster.name, f"the Kustomization {namespace}/{name}")


def _managed(cluster: str, manager: str) -> AlreadyBootstrapped:
    return AlreadyBootstrapped(
        f"Flux in the cluster '{cluster}' is managed by {manager} already",
        hint="leave it to that, or take it over with --force once that is gone",
    )


def _synced(cluster: KubernetesApi, wanted: ClusterRequirements, name: str, path: str) -> bool:
    """Whether a Kustomization is there and has been applied. Another path is refused whatever was asked."""
    there = cluster.get(ObjectReference(KUSTOMIZATION, wanted.namespace, name))
    if there is None:
        return False
    synced = plain(part(there, "spec").get("path"))
    # ``./a/`` and ``a`` are the same; as ``flux bootstrap`` compares them.
    if synced.removeprefix("./").strip("/") != path.removeprefix("./").strip("/"):
        raise AlreadyBootstrapped(
            f'sync path configuration ("{path}") would overwrite path ("{synced}") of existing Kustomization '
            f"{wanted.namespace}/{name} in the cluster '{cluster.name}'",
            hint=f"give --path={synced}; to move the path, change it in Git and let Flux apply that",
        )
    return bool(part(there, "status").get("lastAppliedRevision"))


def _public_key(secret: Object) -> str:
    """``identity.pub``, without its comment."""
    stated = part(secret, "data").get("identity.pub")
    try:
        text = b64decode(stated, validate=True).decode("ascii") if isinstance(stated, str) else ""
    except ValueError:
        return ""
    return " ".join(text.split()[:2])


def paths_of(objects: Sequence[Object]) -> tuple[tuple[str, str], ...]:
    """Name and path of each Kustomization among ``objects``."""
    return tuple(
        (str(part(each, "metadata").get("name")), str(part(each, "spec").get("path", "")))
        for each in objects
        if each.get("kind") == KUSTOMIZATION.name
    )
