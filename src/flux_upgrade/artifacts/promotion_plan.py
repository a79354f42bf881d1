"""What is to become of an artifact: what is pushed, and where its tag goes. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled
from flux_upgrade.artifacts.successor import Successor, checked, successor_of
from flux_upgrade.model.errors import UntrustedArchive
from flux_upgrade.model.oci import reference
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import Feedback, Rejection
from flux_upgrade.policy.hold_reasons import HoldReason


class ArtifactPlan(NamedTuple):
    """One artifact."""

    pulled: Pulled
    plan: Plan
    """Of the manifest in it."""
    successors: tuple[Successor, ...]
    """What is pushed under its immutable tag, unless it is there; the one that goes farthest last."""
    promoted: Successor | None
    """The one of them that the tag goes to."""
    remarks: tuple[str, ...] = ()
    """What else to know, a sentence each."""


class ConsumingClusters(NamedTuple):
    """What is known of those who take the artifact."""

    is_verified: bool = False
    """They take nothing without a signature."""
    takes_what_waits: bool = False
    """They take what is pushed, wherever the tag is: what waits is not pushed."""
    remarks: tuple[str, ...] = ()


def plan_artifact(
    pulled: Pulled, planner: ManifestPlanner, terms: Terms, ports: ArtifactPorts, clusters: ConsumingClusters
) -> ArtifactPlan:
    """What is to become of an artifact.

    Raises what ``ManifestPlanner.plan`` raises, UntrustedArchive, and what ``ArtifactRegistry`` raises.
    """
    # With what the registry remembers: the versions that the tag was rolled back from.
    feedback = Feedback(tuple(_rejections(pulled, ports)), terms.feedback.approved)
    terms = terms._replace(feedback=feedback)
    target = PlannedTarget(pulled.pin, pulled.pin.path, terms)
    plan = planner.plan(target)
    successors, holds = [], []
    for upgrade in plan.upgrades:
        if clusters.takes_what_waits and not upgrade.approved:
            continue
        found = successor_of(pulled, upgrade)
        try:
            successors.append(checked(pulled, found, ports) if upgrade.approved else found)
        except UntrustedArchive as error:
            holds.append(_untrusted(found, error))
    promoted = next((each for each in successors if each.upgrade is plan.approved), None)
    digest = promoted.stored.digest if promoted is not None and promoted.stored is not None else ""
    is_signed = not clusters.is_verified or (bool(digest) and ports.registry.is_signed(digest, pulled.tags))
    if promoted is not None and not is_signed:
        holds.append(_unsigned(promoted, pulled))
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


def _unsigned(wanted: Successor, pulled: Pulled) -> Hold:
    what = f"{pulled.address.repository}:{wanted.tag}"
    return Hold(
        HoldReason.NEEDS_SIGNATURE,
        f"the cluster verifies signatures, and {what} has none",
        "sign it by its digest, as `cosign sign` does, and run again, with the approval if there was one",
        None,
        wanted.upgrade.bump_kind,
        wanted.version,
    )


def _untrusted(wanted: Successor, error: UntrustedArchive) -> Hold:
    bump_kind = wanted.upgrade.bump_kind
    return Hold(
        HoldReason.UNTRUSTED_ARTIFACT, error.message, error.hint, UntrustedArchive, bump_kind, wanted.version
    )
