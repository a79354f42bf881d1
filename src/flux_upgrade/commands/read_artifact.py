"""What is read before anything is decided about an artifact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.adapters.local.worktree import Spool
from flux_upgrade.artifacts.impact import PromotionImpact
from flux_upgrade.artifacts.pinned_artifacts import PinnedArtifacts
from flux_upgrade.artifacts.promotion_plan import ConsumingClusters
from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled, pull
from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.clusters.groups import assign, of_artifact
from flux_upgrade.clusters.ownership.artifact_references import (
    following,
    is_verified,
    references,
    remarks_of,
    takes_what_waits,
)
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.commands.read import build_config, used_keys, void_here
from flux_upgrade.commands.wiring import (
    build_artifacts,
    build_checkout,
    build_kustomize,
    build_pin_context,
    build_regenerator,
    build_registry,
    build_releases,
    build_snapshot,
    build_timing,
)
from flux_upgrade.commands.wiring_hosts import build_egress
from flux_upgrade.commands.wiring_repository import RepositorySource, build_history
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import NothingFound, UsageError
from flux_upgrade.model.oci import reference
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.ports import Releases
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.own_artifact import pin
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference
from flux_upgrade.planning.approvals import for_tag, resolved
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import OnBreak, Terms, UpgradeRequest
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.policy.policy import Pending


class ArtifactInventory(NamedTuple):
    """What ``plan_artifact`` takes."""

    pulled: Pulled
    planner: ManifestPlanner
    terms: Terms
    ports: ArtifactPorts
    clusters: ConsumingClusters


def read_artifact(
    options: UpgradeOptions, environment: Environment, found: Sequence[ArtifactReference], spool: Spool
) -> ArtifactInventory:
    """Config, releases, artifact: what is wrong is said early. ``found``: as ``references_here``.

    Raises UsageError, InvalidConfig, SourceUnavailable, and what ``pull`` raises.
    """
    address = options.address
    if not address.tag or reference.is_ours(address.tag):
        raise UsageError(
            f"{address} has no tag that can be moved",
            hint="use the tag that the cluster's OCIRepository follows, such as :production",
        )
    reference.require_short(address.tag)
    tree = build_snapshot(find(options.path).root)
    config = build_config(environment, tree, options.config, options.governing, used_keys(pull_requests=False))
    source = build_releases(environment, options.release_source)
    # Listed first: what the list says of a release has not to be asked for again.
    releases = source.list()
    means = build_means(environment, address, spool, source, writes=options.request.writes)
    hosts = partial(build_egress, environment, options, lambda: config)
    planner = ManifestPlanner(means.regenerator, build_artifacts(environment, hosts), releases, means.now)
    # A tag is one for all clusters that follow it.
    feedback = for_tag(options.request.approve, address.repository, address.tag)
    on_break = _on_break(options.request)
    pulled = pull(address, means)
    terms = Terms(config.default.governance, feedback, options.request.to, on_break)
    context = replace(build_pin_context(environment, tree, source, hosts), regenerator=means.regenerator)
    own = PinnedArtifacts(address, planner, lambda _: terms, means)
    pins = [Member(each, each.path) for each in pin.pins_of(following(found, address), own)]
    urls = build_checkout(environment, tree.location.root).urls
    builder, consuming = build_kustomize(environment), clusters_of(pins, tree)
    evidence = Evidence(context, config, consuming, builder=builder, members=None, urls=urls)
    impact = PromotionImpact(planner, PinPlanner(context, releases, means.now), evidence)
    remarks = remarks_of(found, address)
    clusters = ConsumingClusters(is_verified(found, address), takes_what_waits(found), remarks, impact)
    return ArtifactInventory(pulled, planner, terms, means, clusters)


def _on_break(request: UpgradeRequest) -> OnBreak:
    return OnBreak.ACCEPT if request.accept_breaks else OnBreak.HOLD


def build_means(
    environment: Environment, address: Address, spool: Spool, source: Releases, *, writes: bool = True
) -> ArtifactPorts:
    return ArtifactPorts(
        build_registry(environment, address, writes=writes),
        build_regenerator(environment, source),
        spool,
        source.commit,
        datetime.fromtimestamp(build_timing(environment).now(), UTC),
    )


def references_here(path: str, address: Address) -> tuple[ArtifactReference, ...]:
    """What refers to the artifact in the checkout around the working folder; without one, nothing."""
    place = find(path)
    return references(build_snapshot(place.root), address) if place.is_checkout else ()


def read_artifact_pins(
    options: UpgradeOptions, environment: Environment, references: Sequence[ArtifactReference], spool: Spool
) -> Inventory:
    """As ``read_inventory``, for what pins the artifact only. ``references``: as ``references_here``.

    Raises UsageError, InvalidConfig, NothingFound, SourceUnavailable.
    """
    request, address = options.request, options.address
    tree = build_snapshot(find(options.path).root)
    # A draft would be of what is pushed, and what is pushed may run: it is named in the summary alone then.
    quiet = {"pending": str(Pending.SUMMARY)} if takes_what_waits(references) else {}
    governing = {**options.governing, **quiet}
    config = build_config(environment, tree, options.config, governing, used_keys(pull_requests=True))
    source = build_releases(environment, options.release_source)
    releases = source.list()
    means = build_means(environment, address, spool, source, writes=options.request.writes)
    hosts = partial(build_egress, environment, options, lambda: config)
    planner = ManifestPlanner(means.regenerator, build_artifacts(environment, hosts), releases, means.now)

    def terms(path: str) -> Terms:
        governance = (config.group_of(path) or config.default).governance
        return Terms(governance, to=request.to, on_break=_on_break(request))

    context = replace(build_pin_context(environment, tree, source, hosts), regenerator=means.regenerator)
    impact = PromotionImpact(planner, PinPlanner(context, releases, means.now), Evidence(context, config))
    own = PinnedArtifacts(address, planner, terms, means, impact)
    found = tuple(pin.pins_of(references, own))
    if not found:
        raise NothingFound(
            f"nothing in the checkout refers to {address.repository}",
            hint="run it in a checkout with the OCIRepository or FluxInstance that does, or move the tag "
            "with --promote tag",
        )
    update_groups, checkout = assign(found, "", config, tree), build_checkout(environment, tree.location.root)
    repository = RepositorySource(options.path, options.repository, config.forge)
    history = build_history(environment, repository, checkout, is_checkout=tree.location.is_checkout)
    context = replace(context, own=own)
    groups = tuple(of_artifact(group, address.repository) for group in update_groups)
    clusters = [cluster for group in groups for cluster in group.clusters]
    return Inventory(
        update_groups=groups,
        config=config,
        releases=releases,
        pin_context=context,
        ownership=Ownership(tree),
        reported_only=(),
        request=request._replace(approve=resolved(request.approve, update_groups)),
        now=datetime.fromtimestamp(build_timing(environment).now(), UTC),
        head=tree.location.head,
        all_paths=None if tree.location.is_sparse else frozenset(each.path for each in found),
        checkout=checkout,
        evidence=Evidence(context, config, clusters, history, build_kustomize(environment)),
        void=void_here(options, tree, config, [Member(each, each.path) for each in found], is_all=False),
    )
