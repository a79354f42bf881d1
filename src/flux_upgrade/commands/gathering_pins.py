"""What is read where pins of an artifact in the checkout are changed by pull request."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from flux_upgrade.around import Around
from flux_upgrade.artifact.address import Address
from flux_upgrade.build import (
    build_artifacts,
    build_checkout,
    build_releases,
    build_timing,
    build_tree,
    build_world,
)
from flux_upgrade.clusters import Member
from flux_upgrade.commands.gathering import asked_of, build_config, build_contents
from flux_upgrade.commands.gathering_artifact import build_means
from flux_upgrade.commands.gathering_groups import void_here
from flux_upgrade.config import Config, Group
from flux_upgrade.edges.checkout import find, head_of, is_sparse
from flux_upgrade.edges.spool import Spool
from flux_upgrade.errors import NothingFound
from flux_upgrade.groups import assign, of_artifact
from flux_upgrade.kinds import Pin, artifact
from flux_upgrade.kinds.parts.artifact_reference import Reference
from flux_upgrade.plan import Terms
from flux_upgrade.planning import Gathered, terms_of
from flux_upgrade.policy import Answers, Pending
from flux_upgrade.promotion.own import PinnedArtifacts
from flux_upgrade.proposal import Proposal
from flux_upgrade.settings import Settings
from flux_upgrade.surroundings.artifact_references import takes_what_waits
from flux_upgrade.surroundings.syncs import syncs
from flux_upgrade.upgrade import ManifestPlanner
from flux_upgrade.values import NamedTuple


class GatheredPins(NamedTuple):
    """What is to become of them, and what pushes what they are to name."""

    gathered: Gathered
    own: PinnedArtifacts

    def prepare(self, proposal: Proposal) -> None:
        """Push what is about to be proposed. Raises what ``PinnedArtifacts.push`` raises."""
        for plan, upgrade in proposal.upgrades:
            if isinstance(plan.installation, Pin):
                reference = artifact.reference_of(plan.installation)
                self.own.push(reference, upgrade.target, plan.installation.path)


def _without_drafts(config: Config) -> Config:
    """The same, but for what waits for approval: it is shown in the summary."""

    def quiet(group: Group) -> Group:
        return group._replace(policy=group.policy._replace(pending=Pending.SUMMARY))

    return config._replace(default=quiet(config.default), groups=tuple(map(quiet, config.groups)))


def gather_pins(
    settings: Settings, address: Address, references: Sequence[Reference], spool: Spool
) -> GatheredPins:
    """As ``gather``, for what pins the artifact and nothing else. ``references``: as ``references_here``.

    Raises UsageError, InvalidConfig, NothingFound, SourceUnavailable.
    """
    asked, place = asked_of(settings), find(settings.path)
    config, source = build_config(settings, place), build_releases(settings)
    if takes_what_waits(references):
        # A draft would be of what is pushed, and what is pushed would run: it is named in the summary alone.
        config = _without_drafts(config)
    releases = source.list()
    means = build_means(settings, address, spool, source)
    planner = ManifestPlanner(means.regenerator, build_artifacts(settings), releases, means.now)

    def terms(path: str) -> Terms:
        return terms_of(config.group_of(path) or config.default, Answers(), asked)

    own = PinnedArtifacts(address, planner, terms, means)
    tree = build_tree(place.root)
    found = tuple(artifact.pins_of(references, own))
    if not found:
        raise NothingFound(
            f"nothing in the checkout refers to {address.repository}",
            hint="run it in a checkout with the OCIRepository or FluxInstance that does, or move the tag "
            "with --promote tag",
        )
    teams = assign(found, "", config, lambda: syncs(tree))
    gathered = Gathered(
        teams=tuple(of_artifact(team, address.repository) for team in teams),
        config=config,
        releases=releases,
        world=build_world(settings, tree, source, own=own),
        around=Around(tree),
        named=(),
        asked=asked,
        now=datetime.fromtimestamp(build_timing(settings).now(), UTC),
        head=head_of(place.root),
        found=None if is_sparse(place.root) else frozenset(each.path for each in found),
        explain=lambda path, base: build_checkout(settings, place).explain(path, base),
        contents=build_contents(settings, tree, means.regenerator, config),
        void=void_here(settings, tree, config, [Member(each, each.path) for each in found], is_all=False),
    )
    return GatheredPins(gathered, own)
