"""Flux into a cluster, in the order of ``flux bootstrap``: look, components, secret, sync, wait.

Source: fluxcd/flux2 ``pkg/bootstrap/bootstrap.go``. Every step can be repeated and looks at the cluster
alone, so that a run that was broken off anywhere is gone on with by running it again.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from flux_upgrade.bootstrap.cluster.preflight import Desired, check_cluster
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

MANAGER = "kubectl"
"""Who owns the fields that are applied.

kustomize-controller takes over what is applied by this name, as by ``kubectl apply --server-side``
(fluxcd/kustomize-controller ``internal/controller/kustomization_controller.go``, the field managers that
it undoes): a field that is removed in Git later is removed in the cluster. Fields that ``flux bootstrap``
applied as ``flux`` stay there for good.
"""
REQUESTER = "flux-upgrade"  # Who owns the annotation that asks Flux to look again
_REQUESTED = "reconcile.fluxcd.io/requestedAt"
_REFS = {"GitRepository": "branch", "OCIRepository": "tag"}


def bootstrap_cluster(cluster: KubernetesApi, desired: Desired, run: Run) -> tuple[Awaited, ...]:
    """Bootstrap, and wait until Flux is ready at the revisions that are desired.

    The sources and Kustomizations, with the revisions that they are ready at. Raises what ``check_cluster``
    raises, before the first write; ClusterUnavailable; NotReady.
    """
    found = check_cluster(cluster, desired)
    said: set[str] = set()
    tell = run.tell

    def tell_news(line: str) -> None:
        # What was ready before is not said again at the end.
        if line not in said:
            said.add(line)
            tell(line)

    run = run._replace(tell=tell_news)
    for warning in found.warnings:
        run.tell(f"warning: {warning}")
    deployments = [Awaited(reference(e)) for e in desired.components if reference(e).kind == DEPLOYMENT]
    if not found.reconciles_itself:
        _apply_components(cluster, desired, run)
    _apply_secrets(cluster, [each for each in desired.secrets if each.type != DOCKER], run)
    run.tell(f"applying the sync of {desired.namespace}")
    apply_all(cluster, desired.sync, run)
    awaited = tuple(_awaited(desired))
    for each in awaited:
        _hurry(cluster, each, run)
    # Not before: a controller that starts late, or whose image waits for the Secret, finds all that it needs.
    wait_for(cluster, [*deployments, *awaited], run)
    if found.reconciles_itself:
        run.tell("Flux already reconciles its components, which are unchanged")
    return awaited


def _apply_components(cluster: KubernetesApi, desired: Desired, run: Run) -> None:
    """Namespaces and CRDs, then, once these are established, the rest.

    Secrets for pulling images go before what pulls them, others are left alone.
    """
    objects = desired.components
    first = [each for each in objects if reference(each).kind in (NAMESPACE, CRD)]
    run.tell(f"applying {len(objects)} objects")
    apply_all(cluster, sorted(first, key=lambda obj: reference(obj).kind != NAMESPACE), run)
    wait_for(cluster, [Awaited(reference(each)) for each in first if reference(each).kind == CRD], run)
    _apply_secrets(cluster, [each for each in desired.secrets if each.type == DOCKER], run)
    apply_all(cluster, [each for each in objects if each not in first], run)


def _apply_secrets(cluster: KubernetesApi, secrets: Sequence[Secret], run: Run) -> None:
    """Create them, or put these values in the place of those that they have."""
    for each in secrets:
        run.tell(f"applying Secret {each.namespace}/{each.name}")
        # As ``data``: of ``stringData`` the cluster does not remember who owns which key.
        data = {key: b64encode(text.encode()).decode() for key, text in each.string_data.items()}
        metadata = {"name": each.name, "namespace": each.namespace}
        wanted = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": each.type, "data": data}
        apply_all(cluster, [wanted], run)


def apply_all(cluster: KubernetesApi, objects: Sequence[Object], run: Run) -> None:
    """In their order. Raises ClusterUnavailable, NotReady."""
    for each in objects:
        # An established CRD is not served by each of the cluster's API servers at once.
        while cluster.apply(each, MANAGER) is None:
            if not run.left:
                raise NotReady(
                    f"the cluster '{cluster.name}' does not serve the kind of {reference(each)}",
                    hint="add the CRD to the resources, or install it first",
                )
            run.timing.sleep(min(POLL, run.left))


def _awaited(desired: Desired) -> Iterator[Awaited]:
    """Sources first: Kustomizations wait for them."""
    at: dict[tuple[str, str], str] = {}
    for each in desired.sync:
        what = reference(each)
        if what.kind.group == SOURCES:
            revision = desired.revisions.get(what.name, "")
            # A patch of the kustomization may have given it another branch or a range: then the revision
            # that it has to come to is not known.
            ref = part(each, "spec", "ref")
            followed = str(ref.get(_REFS.get(what.kind.name, ""), ""))
            is_followed = len(ref) == 1 and revision.rpartition("@")[0] == followed
            at[what.kind.name, what.name] = revision if is_followed else ""
            yield Awaited(what, at[what.kind.name, what.name])
    for each in desired.sync:
        if reference(each).kind == KUSTOMIZATION:
            ref = part(each, "spec", "sourceRef")
            yield Awaited(reference(each), at.get((str(ref.get("kind")), str(ref.get("name"))), ""))


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
