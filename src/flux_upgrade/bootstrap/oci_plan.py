"""Bootstrap from a registry: look at the tags, plan the artifacts, push them.

The flow of RFC "Flux Bootstrap for OCI-compliant Container Registries", as far as registries are
concerned: the artifact that it leaves is one that ``flux-upgrade upgrade oci://…`` takes further.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

from flux_upgrade.artifacts.promote import keep, move, note
from flux_upgrade.artifacts.pull import Means, pull
from flux_upgrade.bootstrap import oci_artifact
from flux_upgrade.bootstrap.changes import ManifestPlan
from flux_upgrade.bootstrap.files import Components
from flux_upgrade.bootstrap.oci_artifact import Artifact
from flux_upgrade.bootstrap.oci_existing import Existing, Wanted, existing, wanted
from flux_upgrade.bootstrap.oci_kustomization import DEFAULT, local_files
from flux_upgrade.bootstrap.oci_names import KUSTOMIZATION_FILE, Places, places
from flux_upgrade.bootstrap.oci_sync import oci_api
from flux_upgrade.bootstrap.options import BootstrapOptions
from flux_upgrade.model.errors import (
    AlreadyBootstrapped,
    FluxUpgradeError,
    NothingFound,
    Unreadable,
    UntrustedArchive,
    UsageError,
)
from flux_upgrade.model.oci.layer import inflate
from flux_upgrade.model.oci.manifest import StoredManifest, parse
from flux_upgrade.model.oci.packing import pack
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.oci.tar import room
from flux_upgrade.model.ports import ArtifactRegistry, Tree
from flux_upgrade.model.values import NamedTuple


class OciPlan(NamedTuple):
    """What is to be pushed."""

    options: BootstrapOptions
    """With the version that it comes to."""
    places: Places
    files: Mapping[str, bytes]
    """Of the artifact with Flux, path in it → content."""
    manifest: ManifestPlan
    """Of ``gotk-components.yaml``, with the flags that change where there was one."""
    flux: Artifact | None
    """None: the tag stands for it already."""
    overlay: Artifact | None = None
    """For the cluster's own tag; None: there is something, or no such tag was named."""
    existing: Existing | None = None
    """What the tag stands for so far."""


class Pushed(NamedTuple):
    """An artifact that is in its registry now, and what it can be had by."""

    address: Address
    """With the tag that clusters follow."""
    tag: str
    """The one that is not moved."""
    digest: str
    is_new: bool
    """False: a run before this one had pushed it, and not moved the tag."""


class OciOutcome(NamedTuple):
    """A plan, and what came of it."""

    plan: OciPlan
    overlay: Pushed | None = None
    flux: Pushed | None = None
    failure: FluxUpgradeError | None = None


def kustomization_of(tree: Tree, name: str) -> dict[str, bytes]:
    """A user's kustomization and the files that it names: ``name`` in ``tree``, its folder.

    Raises UsageError for all that cannot be had in an artifact, at once; Unreadable.
    """
    content = tree.read(name)
    files, problems = {KUSTOMIZATION_FILE: content}, []
    for each in local_files(content):
        try:
            files[each] = tree.read(each)
        except Unreadable as error:
            problems.append(f"'{each}': {error.message}")
    if problems:
        raise UsageError(
            f"--kustomization names what cannot be put into an artifact: {'; '.join(problems)}",
            hint="name files, not folders, and have them beside or below it",
        )
    return files


def plan_oci(
    options: BootstrapOptions,
    kustomization: Mapping[str, bytes] | None,
    components: Components,
    means: Means,
    cluster: ArtifactRegistry | None,
) -> OciPlan:
    """Reads, and writes nothing.

    ``options``: with ``oci``; where ``install.version`` is empty, what is there stays, and else the newest
    stable release is taken. ``kustomization``: as ``kustomization_of`` gives it; None: none was named, what
    is there stays. ``means.registry``: of the artifact with Flux; ``cluster``: of the cluster's own, if one
    is named. Raises UsageError, AlreadyBootstrapped, UnsupportedRelease; what ``Components`` and
    ``ArtifactRegistry`` raise.
    """
    found = places(options)
    if options.install.version:
        oci_api(options.install.version)
    there = _existing(found.flux, options.namespace, means)
    if there is None:
        plan = _new(options, kustomization, components, means)
    else:
        plan = _again(options, wanted(there, options.install, kustomization, components), there, means)
    oci_api(plan.manifest.version)
    return plan._replace(overlay=_overlay(found, cluster))


def push_oci(plan: OciPlan, means: Means, cluster: ArtifactRegistry | None) -> OciOutcome:
    """A failure ends it, and is told with what was done before. Run again, it goes on from there.

    The order makes each tag right after any failure: what it is to stand for is there before it is moved.
    """
    outcome, found = OciOutcome(plan), plan.places
    try:
        if plan.overlay is not None and found.cluster is not None and cluster is not None:
            stored, is_new = _put(plan.overlay, found.cluster, cluster, means)
            move(found.cluster, None, stored, cluster)
            outcome = outcome._replace(overlay=Pushed(found.cluster, plan.overlay.tag, stored.digest, is_new))
        if plan.flux is not None:
            outcome = outcome._replace(flux=_promoted(plan, plan.flux, means))
    except FluxUpgradeError as error:
        return outcome._replace(failure=error)
    return outcome


def _overlay(found: Places, cluster: ArtifactRegistry | None) -> Artifact | None:
    if found.cluster is None or cluster is None or cluster.digest(found.cluster.tag) is not None:
        return None
    return oci_artifact.overlay_artifact(found.cluster, found.overlay_file)


def _existing(address: Address, namespace: str, means: Means) -> Existing | None:
    if means.registry.digest(address.tag) is None:
        return None
    try:
        return existing(pull(address, means), namespace)
    except (NothingFound, Unreadable) as error:
        raise AlreadyBootstrapped(
            f"{address} is there, and is no artifact that Flux could be bootstrapped into: {error.message}",
            hint="name another tag, or another repository",
        ) from error


def _new(
    options: BootstrapOptions, kustomization: Mapping[str, bytes] | None, components: Components, means: Means
) -> OciPlan:
    manifest = components.made(options.install)
    beside = {KUSTOMIZATION_FILE: DEFAULT} if kustomization is None else kustomization
    files = oci_artifact.flux_files(options.namespace, manifest.content, beside)
    commit = means.commit_of(manifest.version)
    made = oci_artifact.flux_artifact(pack(files), manifest.version, commit)
    return OciPlan(_at(options, manifest), places(options), files, manifest, made)


def _again(options: BootstrapOptions, settled: Wanted, there: Existing, means: Means) -> OciPlan:
    manifest, made = settled.manifest, None
    if settled.packed is not None:
        made = oci_artifact.flux_successor(
            settled.packed,
            manifest.version,
            means.commit_of(manifest.version),
            before=(there.pulled.stored, there.pulled.manifest),
            now=means.now,
        )
    return OciPlan(_at(options, manifest), places(options), settled.files, manifest, made, existing=there)


def _at(options: BootstrapOptions, manifest: ManifestPlan) -> BootstrapOptions:
    return options._replace(install=options.install._replace(version=manifest.version))


def _promoted(plan: OciPlan, made: Artifact, means: Means) -> Pushed:
    address, registry = plan.places.flux, means.registry
    before = plan.existing.pulled if plan.existing is not None else None
    if before is not None:
        keep(before, registry)
    stored, is_new = _put(made, address, registry, means)
    if before is not None:
        note(before, stored, registry)
    move(address, before.stored.digest if before is not None else None, stored, registry)
    return Pushed(address, made.tag, stored.digest, is_new)


def _put(
    made: Artifact, address: Address, registry: ArtifactRegistry, means: Means
) -> tuple[StoredManifest, bool]:
    """Under its immutable tag, blobs first, unless it is there; what is there then, and whether it is new."""
    there = registry.manifest(made.tag)
    if there is None:
        for blob in (made.config, made.layer):
            registry.put_blob(BytesIO(blob.content), blob.descriptor)
        registry.put_manifest(made.stored, made.tag)
        return made.stored, True
    if there.digest != made.stored.digest and not _holds(there, made, registry, means):
        raise UntrustedArchive(
            f"{address.repository}:{made.tag} does not hold what its name says",
            hint="find out who pushed it; remove the tag, and run again",
        )
    return there, False


def _holds(there: StoredManifest, made: Artifact, registry: ArtifactRegistry, means: Means) -> bool:
    """Whether it has the same content: it may have been pushed as something else's successor."""
    manifest = parse(there)
    if manifest.is_index or len(manifest.layers) != 1:
        return False
    with registry.blob(manifest.layers[0]) as blob, means.spool() as content, room():
        return inflate(blob, content).diff_id == made.diff_id
