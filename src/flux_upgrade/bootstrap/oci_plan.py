"""Bootstrap from a registry: look at the tags, plan the artifacts, push them, and hand over the rest.

The flow of RFC "Flux Bootstrap for OCI-compliant Container Registries", as far as registries are
concerned: the artifact that it leaves is one that ``flux-upgrade upgrade oci://…`` takes further.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from io import BytesIO

from flux_upgrade.artifacts.older_crds import require_stored
from flux_upgrade.artifacts.promote import keep, move, note
from flux_upgrade.artifacts.promotion_plan import manifest_with, other_than_its_name
from flux_upgrade.artifacts.pull import ArtifactPorts, pull
from flux_upgrade.bootstrap.components import ManifestPlan, RenderedComponents
from flux_upgrade.bootstrap.kustomization import DEFAULT
from flux_upgrade.bootstrap.oci_artifact import (
    ExistingArtifact,
    PackedArtifact,
    desired_artifact,
    existing_artifact,
    flux_artifact,
    overlay_artifact,
)
from flux_upgrade.bootstrap.oci_sync import ArtifactAddresses, addresses_of, oci_api, render_oci_sync
from flux_upgrade.bootstrap.options import COMPONENTS_FILE, KUSTOMIZATION_FILE, SYNC_FILE, BootstrapOptions
from flux_upgrade.model.errors import AlreadyBootstrapped, FluxUpgradeError, NothingFound, Unreadable
from flux_upgrade.model.oci.manifest import StoredManifest
from flux_upgrade.model.oci.packing import pack
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.values import NamedTuple


class OciPlan(NamedTuple):
    options: BootstrapOptions
    addresses: ArtifactAddresses
    files: Mapping[str, bytes]
    manifest: ManifestPlan
    flux: PackedArtifact | None  # None: the tag stands for it already
    overlay: PackedArtifact | None = None
    """For the cluster's own tag; None: there is something, or no such tag was named."""
    existing: ExistingArtifact | None = None


class PushedArtifact(NamedTuple):
    """An artifact that is in its registry now, and what it can be had by."""

    address: Address  # With the tag that clusters follow
    tag: str
    digest: str


class OciOutcome(NamedTuple):
    """A plan, and what came of it."""

    plan: OciPlan
    flux: PushedArtifact | None = None
    failure: FluxUpgradeError | None = None


def plan_oci(
    options: BootstrapOptions,
    kustomization: Mapping[str, bytes] | None,
    components: RenderedComponents,
    ports: ArtifactPorts,
    cluster: ArtifactRegistry | None,
) -> OciPlan:
    """Reads, and writes nothing.

    ``options``: with ``oci``; where ``install.version`` is empty, what is there stays, and else the newest
    stable release is taken. ``kustomization``: as ``kustomization_of`` gives it; None: none was named, what
    is there stays. ``ports.registry``: of the artifact with Flux; ``cluster``: of the cluster's own, if one
    is named. Raises UsageError, AlreadyBootstrapped, StoredVersionLost, UnsupportedRelease; what
    ``RenderedComponents`` and ``ArtifactRegistry`` raise.
    """
    addresses = addresses_of(options)
    if options.install.version:
        oci_api(options.install.version)
    existing, packed = _existing(addresses.flux, options.namespace, ports), None
    if existing is None:
        manifest = components.made(options.install)
        beside = {KUSTOMIZATION_FILE: DEFAULT} if kustomization is None else kustomization
        content = {**beside, COMPONENTS_FILE: manifest.content}
        files = {posixpath.join(options.namespace, name): text for name, text in content.items()}
        packed = pack(files)
    else:
        manifest, files, packed = desired_artifact(existing, options.install, kustomization, components)
        require_stored(existing.pulled, manifest.content, manifest.version, ports.registry, ports.spool)
    version, flux, overlay = manifest.version, None, None
    if packed is not None:
        flux = flux_artifact(packed, version, ports.commit_of(version), existing, ports.now)
    oci_api(version)
    if addresses.cluster is not None and cluster is not None and cluster.digest(addresses.cluster.tag) is None:
        overlay = overlay_artifact(addresses.cluster, addresses.overlay_file)
    settled = options._replace(install=options.install._replace(version=version))
    return OciPlan(settled, addresses, files, manifest, flux, overlay, existing)


def push_oci(plan: OciPlan, ports: ArtifactPorts, cluster: ArtifactRegistry | None) -> OciOutcome:
    """Push what is missing, then move the tags. A failure ends it; run again, it goes on from there.

    The outcome has the failure and what was done before.

    The order makes each tag right after any failure: what it is to stand for is there before it is moved.
    """
    outcome, addresses = OciOutcome(plan), plan.addresses
    try:
        if plan.overlay is not None and addresses.cluster is not None and cluster is not None:
            stored = _put(plan.overlay, addresses.cluster, cluster, ports)
            move(addresses.cluster, None, stored, cluster)
        if plan.flux is not None:
            outcome = outcome._replace(flux=_promoted(plan, plan.flux, ports))
    except FluxUpgradeError as error:
        return outcome._replace(failure=error)
    return outcome


def handover(plan: OciPlan) -> dict[str, bytes]:
    """Path → content: the artifact's own files, which ``kubectl apply -k`` takes, and the sync beside them.

    The kustomization does not name the sync: it is applied once Flux runs. Raises UsageError,
    UnsupportedRelease.
    """
    sync = render_oci_sync(plan.options).encode()
    return {**plan.files, f"{plan.options.namespace}/{SYNC_FILE}": sync}


def commands(plan: OciPlan) -> tuple[str, ...]:
    """From the folder that ``handover`` was written to; before the last one, the Secret has to be there."""
    namespace = plan.options.namespace
    return (
        f"kubectl apply --server-side -k ./{namespace}",
        f"kubectl --namespace={namespace} wait deployment --all --for=condition=Available --timeout=5m",
        f"kubectl apply -f ./{namespace}/{SYNC_FILE}",
    )


def with_shared_overlays(plans: Sequence[OciPlan]) -> tuple[OciPlan, ...]:
    """To be carried out in this order: the first that names an artifact pushes it, for all of them."""
    files: dict[str, set[str]] = {}
    for plan in plans:
        if plan.overlay is not None:
            files.setdefault(str(plan.addresses.cluster), set()).add(plan.addresses.overlay_file)
    shared = []
    for plan in plans:
        address = plan.addresses.cluster
        # What no plan before this one pushes.
        own = files.pop(str(address), set[str]())
        overlay = overlay_artifact(address, *sorted(own)) if own and address else None
        shared.append(plan._replace(overlay=overlay))
    return tuple(shared)


def _existing(address: Address, namespace: str, ports: ArtifactPorts) -> ExistingArtifact | None:
    if ports.registry.digest(address.tag) is None:
        return None
    try:
        return existing_artifact(pull(address, ports), namespace)
    except (NothingFound, Unreadable) as error:
        raise AlreadyBootstrapped(
            f"{address} exists, and its content is not that of a bootstrap: {error.message}",
            hint="use another tag, or another repository",
        ) from error


def _promoted(plan: OciPlan, artifact: PackedArtifact, ports: ArtifactPorts) -> PushedArtifact:
    address, registry = plan.addresses.flux, ports.registry
    before = plan.existing.pulled if plan.existing is not None else None
    if before is not None:
        keep(before, registry)
    stored = _put(artifact, address, registry, ports)
    if before is not None:
        note(before, stored, registry)
    move(address, before.stored.digest if before is not None else None, stored, registry)
    return PushedArtifact(address, artifact.tag, stored.digest)


def _put(
    artifact: PackedArtifact, address: Address, registry: ArtifactRegistry, ports: ArtifactPorts
) -> StoredManifest:
    """Under its immutable tag, blobs first, unless it is there; what is there then."""
    there = registry.manifest(artifact.tag)
    if there is None:
        for blob in (artifact.config, artifact.layer):
            registry.put_blob(BytesIO(blob.content), blob.descriptor)
        registry.put_manifest(artifact.stored, artifact.tag)
        return artifact.stored
    if there.digest != artifact.stored.digest:
        # It has the same content, if it was pushed as something else's successor.
        found = manifest_with(artifact.diff_id, there, registry, ports)
        if found is None or len(found.layers) != 1:
            raise other_than_its_name(address, artifact.tag)
    return there
