"""What is read before anything is decided about an artifact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from flux_upgrade.adapters.git.checkout import find, head_of, is_sparse
from flux_upgrade.adapters.local.worktree import Spool
from flux_upgrade.artifacts.pinned_artifacts import PinnedArtifacts
from flux_upgrade.artifacts.promotion_plan import ArtifactPlan, ConsumingClusters, plan_artifact
from flux_upgrade.artifacts.pull import ArtifactPorts, pull
from flux_upgrade.cli.options import Settings
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import assign, of_artifact
from flux_upgrade.clusters.ownership.artifact_references import (
    is_verified,
    references,
    remarks_of,
    takes_what_waits,
)
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.commands.read import (
    Scope,
    build_config,
    build_impact_analyzer,
    upgrade_request,
    void_here,
)
from flux_upgrade.commands.wiring import (
    build_artifacts,
    build_checkout,
    build_pin_context,
    build_regenerator,
    build_registry,
    build_releases,
    build_timing,
    build_tree,
)
from flux_upgrade.config.config import Config, Group
from flux_upgrade.model.errors import NothingFound, UsageError
from flux_upgrade.model.oci import reference
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.ports import Releases
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.own_artifact import pin
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.plan import Terms, terms_of
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import Proposal
from flux_upgrade.policy.feedback import Feedback
from flux_upgrade.policy.policy import Pending


class ArtifactToMove(NamedTuple):
    """What is to become of an artifact, and what it is made with."""

    planned: ArtifactPlan
    means: ArtifactPorts


def read_artifact(
    settings: Settings, address: Address, found: Sequence[ArtifactReference], spool: Spool
) -> ArtifactToMove:
    """Settings, config, releases, artifact: what is wrong is said early. ``found``: as ``references_here``.

    Raises UsageError, InvalidConfig, SourceUnavailable, and what ``pull`` and ``plan_artifact`` raise.
    """
    if not address.tag or reference.is_ours(address.tag):
        raise UsageError(
            f"{address} names no tag that could be moved",
            hint="give the tag that the cluster's OCIRepository follows, like :production",
        )
    reference.require_short(address.tag)
    request = upgrade_request(settings)
    group = build_config(settings, find(settings.path)).default
    source = build_releases(settings)
    # Listed first: what the list says of a release has not to be asked for again.
    releases = source.list()
    means = build_means(settings, address, spool, source)
    planner = ManifestPlanner(means.regenerator, build_artifacts(settings), releases, means.now)
    pulled, terms = pull(address, means), terms_of(group, Feedback(approved=request.approve), request)
    clusters = ConsumingClusters(
        is_verified(found, address), takes_what_waits(found), remarks_of(found, address)
    )
    return ArtifactToMove(plan_artifact(pulled, planner, terms, means, clusters), means)


def build_means(
    settings: Settings, address: Address, spool: Spool, source: Releases | None = None
) -> ArtifactPorts:
    """``source``: of releases, should it have been built already."""
    source = source or build_releases(settings)
    return ArtifactPorts(
        build_registry(settings, address),
        build_regenerator(settings, source),
        spool,
        source.commit,
        datetime.fromtimestamp(build_timing(settings).now(), UTC),
    )


def references_here(settings: Settings, address: Address) -> tuple[ArtifactReference, ...]:
    """What refers to the artifact in the checkout around the working folder; without one, nothing."""
    place = find(settings.path)
    return references(build_tree(place.root), address) if place.is_checkout else ()


class ArtifactPins(NamedTuple):
    """What is to become of them, and what pushes what they are to name."""

    inventory: Inventory
    own: PinnedArtifacts

    def prepare(self, proposal: Proposal) -> None:
        """Push what is about to be proposed. Raises what ``PinnedArtifacts.push`` raises."""
        for plan, upgrade in proposal.upgrades:
            if plan.installation.kind == pin.NAME:
                reference = pin.reference_of(plan.installation)
                self.own.push(reference, upgrade.target, plan.installation.path)


def _without_drafts(config: Config) -> Config:
    """The same, but for what waits for approval: it is shown in the summary."""

    def quiet(group: Group) -> Group:
        return group._replace(policy=group.policy._replace(pending=Pending.SUMMARY))

    return config._replace(default=quiet(config.default), groups=tuple(map(quiet, config.groups)))


def read_artifact_pins(
    settings: Settings, address: Address, references: Sequence[ArtifactReference], spool: Spool
) -> ArtifactPins:
    """As ``read_inventory``, for what pins the artifact only. ``references``: as ``references_here``.

    Raises UsageError, InvalidConfig, NothingFound, SourceUnavailable.
    """
    request, place = upgrade_request(settings), find(settings.path)
    config, source = build_config(settings, place), build_releases(settings)
    if takes_what_waits(references):
        # A draft would be of what is pushed, and what is pushed would run: it is named in the summary alone.
        config = _without_drafts(config)
    releases = source.list()
    means = build_means(settings, address, spool, source)
    planner = ManifestPlanner(means.regenerator, build_artifacts(settings), releases, means.now)

    def terms(path: str) -> Terms:
        return terms_of(config.group_of(path) or config.default, Feedback(), request)

    own = PinnedArtifacts(address, planner, terms, means)
    tree = build_tree(place.root)
    found = tuple(pin.pins_of(references, own))
    if not found:
        raise NothingFound(
            f"nothing in the checkout refers to {address.repository}",
            hint="run it in a checkout with the OCIRepository or FluxInstance that does, or move the tag "
            "with --promote tag",
        )
    update_groups = assign(found, "", config, tree)
    inventory = Inventory(
        update_groups=tuple(of_artifact(group, address.repository) for group in update_groups),
        config=config,
        releases=releases,
        pin_context=build_pin_context(settings, tree, source, own=own),
        ownership=Ownership(tree),
        reported_only=(),
        request=request,
        now=datetime.fromtimestamp(build_timing(settings).now(), UTC),
        head=head_of(place.root),
        all_paths=None if is_sparse(place.root) else frozenset(each.path for each in found),
        checkout=build_checkout(settings, place),
        analyzer=build_impact_analyzer(
            settings, config, Scope(place, tree, tree, "", is_file=False, is_whole=True), means.regenerator
        ),
        void=void_here(settings, tree, config, [Member(each, each.path) for each in found], is_all=False),
    )
    return ArtifactPins(inventory, own)
