"""Flux into a cluster, in the order of ``flux bootstrap``: look, components, secret, sync, wait.

Source: fluxcd/flux2 ``pkg/bootstrap/bootstrap.go``. Every step can be repeated and looks at the cluster
alone, so that a run that was broken off anywhere is gone on with by running it again.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from flux_upgrade.bootstrap.cluster.preflight import (
    ClusterRequirements,
    ClusterState,
    check_cluster,
    paths_of,
)
from flux_upgrade.bootstrap.cluster.wait import POLL, Awaited, Run, is_true, revisions, wait_for
from flux_upgrade.bootstrap.secrets import DOCKER
from flux_upgrade.model.errors import NotReady
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.kubernetes_objects import (
    CRD,
    DEPLOYMENT,
    KUSTOMIZATION,
    NAMESPACE,
    SOURCES,
    KubernetesApi,
    Object,
    part,
    reference,
)
from flux_upgrade.model.values import NamedTuple

MANAGER = "kubectl"
"""Who owns the fields that are applied.

kustomize-controller takes over what is applied by this name, as by ``kubectl apply --server-side``
(fluxcd/kustomize-controller ``internal/controller/kustomization_controller.go``, the field managers that
it undoes): a field that is removed in Git later is removed in the cluster. Fields that ``flux bootstrap``
applied as ``flux`` stay there for good.
"""


def apply_components(
    cluster: KubernetesApi, objects: Sequence[Object], secrets: Sequence[Secret], run: Run
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


def apply_all(cluster: KubernetesApi, objects: Sequence[Object], run: Run) -> None:
    """In their order. Raises ClusterUnavailable, NotReady."""
    for each in objects:
        _apply(cluster, each, run)


def apply_secrets(cluster: KubernetesApi, secrets: Sequence[Secret], run: Run) -> None:
    """Create them, or put these values in the place of those that they have. Raises ClusterUnavailable."""
    for each in secrets:
        run.tell(f"applying Secret {each.namespace}/{each.name}")
        # As ``data``: of ``stringData`` the cluster does not remember who owns which key.
        data = {key: b64encode(text.encode()).decode() for key, text in each.string_data.items()}
        metadata = {"name": each.name, "namespace": each.namespace}
        wanted = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": each.type, "data": data}
        _apply(cluster, wanted, run)


def is_for_pulling(secret: Secret) -> bool:
    """Whether it is for a registry of images."""
    return secret.type == DOCKER


def _apply(cluster: KubernetesApi, wanted: Object, run: Run) -> None:
    """An established CRD is not served by each of the cluster's API servers at once."""
    while cluster.apply(wanted, MANAGER) is None:
        if not run.left:
            raise NotReady(
                f"the cluster '{cluster.name}' does not serve the kind of {reference(wanted)}",
                hint="let the CRD of that kind stand among the resources, or install it first",
            )
        run.timing.sleep(min(POLL, run.left))


REQUESTER = "flux-upgrade"
"""Who owns the annotation that asks Flux to look again."""
_REQUESTED = "reconcile.fluxcd.io/requestedAt"
_REFS = {"GitRepository": "branch", "OCIRepository": "tag"}


class Desired(NamedTuple):
    """What is to be in the cluster. ``folder.manifests_of`` makes the objects."""

    version: str
    """Of Flux: ``v2.9.4``."""
    namespace: str
    components: tuple[Object, ...]
    sync: tuple[Object, ...]
    """Sources and Kustomizations; of the Kustomizations, Flux's own is the first."""
    revisions: Mapping[str, str]
    """Name of a source → what it has to come to, ``main@sha1:…``; others may come to anything."""
    secrets: tuple[Secret, ...] = ()
    """Those that were made in this run; what is in the cluster otherwise is left untouched."""
    secret_name: str = ""
    force: bool = False

    @property
    def wanted(self) -> ClusterRequirements:
        """What the cluster is asked for before anything is done."""
        return ClusterRequirements(
            self.version, self.namespace, paths_of(self.sync), self.secret_name, force=self.force
        )


class BootstrappedCluster(NamedTuple):
    """A cluster that is ready."""

    found: ClusterState
    """As it was before."""
    was_applied: bool
    """False: Flux reconciles its components itself, and was left to do so."""
    ready: tuple[Awaited, ...]
    """Sources and Kustomizations, with the revisions that they are ready at."""


def bootstrap_cluster(cluster: KubernetesApi, desired: Desired, run: Run) -> BootstrappedCluster:
    """Bootstrap, and wait until Flux is ready at the revisions that are desired.

    Raises what ``check_cluster`` raises, before the first write; ClusterUnavailable; NotReady.
    """
    found = check_cluster(cluster, desired.wanted)
    run = run._replace(tell=_once(run.tell))
    for warning in found.warnings:
        run.tell(f"warning: {warning}")
    deployments = [Awaited(reference(e)) for e in desired.components if reference(e).kind == DEPLOYMENT]
    if not found.reconciles_itself:
        apply_components(cluster, desired.components, desired.secrets, run)
        wait_for(cluster, deployments, run)
    apply_secrets(cluster, [each for each in desired.secrets if not is_for_pulling(each)], run)
    run.tell(f"applying the sync of {desired.namespace}")
    apply_all(cluster, desired.sync, run)
    ready = tuple(_awaited(desired))
    for each in ready:
        _hurry(cluster, each, run)
    wait_for(cluster, [*ready, *deployments], run)
    return BootstrappedCluster(found, not found.reconciles_itself, ready)


def _once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """What was ready before is not said again at the end."""
    said: set[str] = set()

    def tell_news(line: str) -> None:
        if line not in said:
            said.add(line)
            tell(line)

    return tell_news


def _awaited(desired: Desired) -> Iterator[Awaited]:
    """Sources first: Kustomizations wait for them."""
    sources = [each for each in desired.sync if reference(each).kind.group == SOURCES]
    revisions = {reference(each): _revision(each, desired.revisions) for each in sources}
    yield from (Awaited(what, revision) for what, revision in revisions.items())
    for each in desired.sync:
        what, ref = reference(each), part(each, "spec", "sourceRef")
        if what.kind == KUSTOMIZATION:
            at = {(source.kind.name, source.name): revision for source, revision in revisions.items()}
            yield Awaited(what, at.get((str(ref.get("kind")), str(ref.get("name"))), ""))


def _revision(source: Object, revisions: Mapping[str, str]) -> str:
    """What a source has to come to.

    A patch of the kustomization may have given it another branch or a range: then it is not known.
    """
    what = reference(source)
    revision = revisions.get(what.name, "")
    ref = part(source, "spec", "ref")
    followed = str(ref.get(_REFS.get(what.kind.name, ""), ""))
    is_followed = len(ref) == 1 and revision.rpartition("@")[0] == followed
    return revision if is_followed else ""


def _hurry(cluster: KubernetesApi, awaited: Awaited, run: Run) -> None:
    """Have Flux look again now: by itself it does at the next interval, and after a failure ever later."""
    there = cluster.get(awaited.what)
    status = part(there or {}, "status")
    if there is None or "observedGeneration" not in status:
        return
    at = {*revisions(awaited.what, status)}
    if is_true(there, "Ready") and (not awaited.revision or at == {awaited.revision}):
        return
    now = datetime.fromtimestamp(run.timing.now(), UTC).isoformat()
    what = awaited.what
    metadata = {"name": what.name, "namespace": what.namespace, "annotations": {_REQUESTED: now}}
    annotated = {"apiVersion": there.get("apiVersion"), "kind": what.kind.name, "metadata": metadata}
    cluster.apply(annotated, REQUESTER)
