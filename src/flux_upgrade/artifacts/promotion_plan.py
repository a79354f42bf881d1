"""What is to become of an artifact: what takes its place, what of it is pushed, and where its tag goes.

A successor has the same layer with one file replaced, under an immutable tag. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO, Self

from flux_upgrade.artifacts.impact import PromotionImpact
from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled
from flux_upgrade.model.errors import UntrustedArchive
from flux_upgrade.model.oci import reference
from flux_upgrade.model.oci.layer import Spliced, deflate, inflate
from flux_upgrade.model.oci.manifest import (
    Descriptor,
    ImageManifest,
    StoredManifest,
    content_type,
    digest_besides_first_layer,
    parse,
    successor,
)
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.oci.tar import temporary_file_errors
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold, Rejection
from flux_upgrade.policy.hold_reasons import HoldReason


class Successor(NamedTuple):
    """An artifact that is to be, or is there already."""

    upgrade: Upgrade
    tag: str
    spliced: Spliced
    is_there: bool  # Whether something has that tag: the same content was pushed before
    stored: StoredManifest | None = None  # What has it, where it was looked at: only what may be promoted is
    layer: Descriptor | None = None  # The layer, where another artifact has the same one already

    @property
    def version(self) -> Version:
        return self.upgrade.target


class MadeArtifact(NamedTuple):
    """A successor, ready to be pushed."""

    stored: StoredManifest
    config: BinaryIO
    config_descriptor: Descriptor
    layer: BinaryIO | None
    layer_descriptor: Descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the temporary file; it cannot be pushed any more."""
        if self.layer is not None:
            self.layer.close()


def successor_of(pulled: Pulled, upgrade: Upgrade) -> Successor:
    """``upgrade``: of the manifest that ``pulled`` holds."""
    assert upgrade.change.manifest is not None  # noqa: S101 it is a manifest
    spliced = pulled.layer.replaced(pulled.entry, upgrade.change.manifest.new)
    tag = reference.immutable(upgrade.target, spliced.diff_id)
    return Successor(upgrade, tag, spliced, tag in pulled.tags)


def checked(pulled: Pulled, wanted: Successor, ports: ArtifactPorts) -> Successor:
    """With what is there already. Raises UntrustedArchive where that is something else.

    Half of a digest stands in the tag, and whoever may push can push under it. The same content beside
    other layers or annotations, as another tag of the repository may have it, is another artifact.
    """
    beside = digest_besides_first_layer(pulled.manifest)
    layer, other = None, reference.another(wanted.tag, beside)
    for tag in (wanted.tag, other):
        stored = ports.registry.manifest(tag) if tag in pulled.tags else None
        if stored is None:
            return wanted._replace(tag=tag, is_there=False, layer=layer)
        manifest = manifest_with(wanted.spliced.diff_id, stored, ports.registry, ports)
        if manifest is None:
            raise other_than_its_name(pulled.address, tag)
        if digest_besides_first_layer(manifest) == beside:
            return wanted._replace(tag=tag, is_there=True, stored=stored)
        layer = manifest.layers[0]
    raise other_than_its_name(pulled.address, other)


def manifest_with(
    diff_id: str, stored: StoredManifest, registry: ArtifactRegistry, ports: ArtifactPorts
) -> ImageManifest | None:
    """The manifest of an artifact, if its first layer has the content ``diff_id``."""
    manifest = parse(stored)
    if manifest.is_index or not manifest.layers:
        return None
    with registry.blob(manifest.layers[0]) as blob, ports.spool() as content, temporary_file_errors():
        return manifest if inflate(blob, content).diff_id == diff_id else None


def other_than_its_name(address: Address, tag: str) -> UntrustedArchive:
    """The error for an immutable tag that stands for another content than it says."""
    return UntrustedArchive(
        f"{address.repository}:{tag} does not match its name",
        hint="check who pushed it, delete the tag, then run flux-upgrade again",
    )


def make(pulled: Pulled, wanted: Successor, ports: ArtifactPorts) -> MadeArtifact:
    media_type = content_type(pulled.manifest.layers[0].media_type)
    layer, descriptor = None, wanted.layer
    if descriptor is None:
        layer = ports.spool()
        with temporary_file_errors():
            descriptor = deflate(wanted.spliced.chunks(), layer, media_type)
        layer.seek(0)
    commit = ports.commit_of(wanted.version)
    stored, config, config_descriptor = successor(
        pulled.manifest,
        descriptor._replace(media_type=media_type),
        created=ports.now,
        revision=f"{wanted.version}@sha1:{commit}" if commit else wanted.version,
        previous=pulled.stored.digest,
    )
    return MadeArtifact(stored, BytesIO(config), config_descriptor, layer, descriptor)


class ArtifactPlan(NamedTuple):
    pulled: Pulled
    plan: Plan
    successors: tuple[Successor, ...]
    """What is pushed under its immutable tag, unless it is there; the one that goes farthest last."""
    promoted: Successor | None
    remarks: tuple[str, ...] = ()  # What else to know, a sentence each


class ConsumingClusters(NamedTuple):
    is_verified: bool = False
    takes_what_waits: bool = False  # They take what is pushed, wherever the tag is: what waits is not pushed
    remarks: tuple[str, ...] = ()
    impact: PromotionImpact | None = None  # Looks for what would break; None: nothing does


def plan_artifact(
    pulled: Pulled, planner: ManifestPlanner, terms: Terms, ports: ArtifactPorts, clusters: ConsumingClusters
) -> ArtifactPlan:
    """What is to become of an artifact.

    Raises what ``ManifestPlanner.plan`` raises, UntrustedArchive, and what ``ArtifactRegistry`` raises.
    """
    # With what the registry remembers: the versions that the tag was rolled back from.
    feedback = terms.feedback._replace(rejections=tuple(_rejections(pulled, ports)))
    terms = terms._replace(feedback=feedback)
    target = PlannedTarget(pulled.pin, pulled.pin.path, terms)
    plan = planner.plan(target)
    if clusters.impact is not None:
        plan = clusters.impact.checked(plan, target, pulled, ports)
    successors, holds = [], []
    for upgrade in plan.upgrades:
        if clusters.takes_what_waits and not upgrade.approved:
            continue
        found = successor_of(pulled, upgrade)
        try:
            successors.append(checked(pulled, found, ports) if upgrade.approved else found)
        except UntrustedArchive as error:
            hold = Hold(HoldReason.UNTRUSTED_ARTIFACT, error.message, error.hint, UntrustedArchive)
            holds.append(hold.of(upgrade.bump))
    promoted = next((each for each in successors if each.upgrade is plan.approved), None)
    digest = promoted.stored.digest if promoted is not None and promoted.stored is not None else ""
    is_signed = not clusters.is_verified or (bool(digest) and ports.registry.is_signed(digest, pulled.tags))
    if promoted is not None and not is_signed:
        what = f"{pulled.address.repository}:{promoted.tag}"
        hold = Hold(
            HoldReason.NEEDS_SIGNATURE,
            f"the cluster verifies signatures, and {what} has none",
            "sign its digest with `cosign sign`, then run flux-upgrade again with the same approval",
        )
        holds.append(hold.of(promoted.upgrade.bump))
        promoted = None
    decided = plan._replace(decisions=(*plan.decisions, *holds))
    return ArtifactPlan(pulled, decided, tuple(successors), promoted, clusters.remarks)


def _rejections(pulled: Pulled, ports: ArtifactPorts) -> Iterator[Rejection]:
    current = pulled.pin.version
    for version in map(Version, reference.rejected_versions(pulled.tags, pulled.address.tag)):
        noted = reference.rejected(pulled.address.tag, version)
        # Who had it after all, by an approval, has taken back what was said of it.
        if version == current and ports.registry.digest(noted) == pulled.stored.digest:
            continue
        bump_kind = BumpKind.between(current, version) if current else BumpKind.PATCH
        where = f"{pulled.address.repository}:{noted}"
        yield Rejection(bump_kind, version, HoldReason.ROLLED_BACK, "", where)
