"""What is read before anything is decided about an artifact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from flux_upgrade.artifact import names
from flux_upgrade.artifact.address import Address
from flux_upgrade.build import (
    build_artifacts,
    build_regenerator,
    build_registry,
    build_releases,
    build_timing,
    build_tree,
)
from flux_upgrade.commands.gathering import asked_of, build_config
from flux_upgrade.edges.checkout import find
from flux_upgrade.edges.spool import Spool
from flux_upgrade.errors import UsageError
from flux_upgrade.kinds.parts.artifact_reference import Reference
from flux_upgrade.planning import terms_of
from flux_upgrade.policy import Answers
from flux_upgrade.ports import Releases
from flux_upgrade.promotion.plan import ArtifactPlan, Clusters, plan_artifact
from flux_upgrade.promotion.pulled import Means, pull
from flux_upgrade.settings import Settings
from flux_upgrade.surroundings.artifact_references import (
    is_verified,
    references,
    remarks_of,
    takes_what_waits,
)
from flux_upgrade.upgrade import ManifestPlanner
from flux_upgrade.values import NamedTuple


class GatheredArtifact(NamedTuple):
    """What is to become of an artifact, and what it is made with."""

    planned: ArtifactPlan
    means: Means


def gather_artifact(
    settings: Settings, address: Address, found: Sequence[Reference], spool: Spool
) -> GatheredArtifact:
    """Settings, config, releases, artifact: what is wrong is said early. ``found``: as ``references_here``.

    Raises UsageError, InvalidConfig, SourceUnavailable, and what ``pull`` and ``plan_artifact`` raise.
    """
    if not address.tag or names.is_ours(address.tag):
        raise UsageError(
            f"{address} names no tag that could be moved",
            hint="give the tag that the cluster's OCIRepository follows, like :production",
        )
    names.require_short(address.tag)
    asked = asked_of(settings)
    group = build_config(settings, find(settings.path)).default
    source = build_releases(settings)
    # Listed first: what the list tells of a release has not to be asked for again.
    releases = source.list()
    means = build_means(settings, address, spool, source)
    planner = ManifestPlanner(means.regenerator, build_artifacts(settings), releases, means.now)
    pulled, terms = pull(address, means), terms_of(group, Answers(approved=asked.approve), asked)
    clusters = Clusters(is_verified(found, address), takes_what_waits(found), remarks_of(found, address))
    return GatheredArtifact(plan_artifact(pulled, planner, terms, means, clusters), means)


def build_means(settings: Settings, address: Address, spool: Spool, source: Releases | None = None) -> Means:
    """``source``: of releases, should it have been built already."""
    source = source or build_releases(settings)
    return Means(
        build_registry(settings, address),
        build_regenerator(settings, source),
        spool,
        source.commit,
        datetime.fromtimestamp(build_timing(settings).now(), UTC),
    )


def references_here(settings: Settings, address: Address) -> tuple[Reference, ...]:
    """What refers to the artifact in the checkout around the working folder; without one, nothing."""
    place = find(settings.path)
    return references(build_tree(place.root), address) if place.is_checkout else ()
