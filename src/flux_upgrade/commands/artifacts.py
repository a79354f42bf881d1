"""``upgrade``, ``plan`` and ``inspect`` of an artifact whose tag is moved."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.artifacts.promote import carry_out
from flux_upgrade.artifacts.pull import pull
from flux_upgrade.artifacts.report_text import (
    artifact_failures,
    artifact_plan_json,
    artifact_plan_text,
    artifact_text,
)
from flux_upgrade.cli.options import InspectOptions, UpgradeOptions
from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.clusters.ownership.artifact_references import Promotion, promotion_of
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read_artifact import build_means, read_artifact, references_here
from flux_upgrade.commands.wiring import build_releases, build_spool
from flux_upgrade.config.environment import Environment
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.report.inspection import Inspected, inspection_json, inspection_text


def is_by_pull_request(options: UpgradeOptions, found: Sequence[ArtifactReference]) -> bool:
    """Whether what pins the artifact in the checkout is changed, instead of its tag. Raises UsageError.

    ``found``: as ``references_here``.
    """
    return (options.promote or promotion_of(found, options.address)) == Promotion.PULL_REQUEST


def upgrade(options: UpgradeOptions, environment: Environment, console: Console) -> int:
    """Push what the policy lets go on, and move the tag."""
    found = references_here(options.path, options.address)
    if is_by_pull_request(options, found):
        from flux_upgrade.commands.pull_requests import propose

        return propose(options, environment, console, found)
    with build_spool() as spool:
        inventory = read_artifact(options, environment, found, spool)
        outcome = carry_out(inventory.planned, inventory.means)
    console.show(artifact_text(outcome, written=options.request.writes))
    for slug, message, hint in artifact_failures(outcome):
        console.fail(slug, message, hint)
    return exit_code(outcome.errors)


def plan(options: UpgradeOptions, environment: Environment, console: Console) -> int:
    """Show what would happen and why."""
    found = references_here(options.path, options.address)
    if is_by_pull_request(options, found):
        from flux_upgrade.commands.pull_requests import preview

        return preview(options, environment, console, found)
    with build_spool() as spool:
        planned = read_artifact(options, environment, found, spool).planned
    report = artifact_plan_json if options.json else artifact_plan_text
    console.show(report(planned))
    return 0


def inspect(options: InspectOptions, address: Address, environment: Environment, console: Console) -> int:
    """Say what is really in an artifact."""
    with build_spool() as spool:
        releases = build_releases(environment, options.release_source)
        pulled = pull(address, build_means(environment, address, spool, releases))
    installation = pulled.pin
    found = Inspected((installation,), (), clusters_of([Member(installation, installation.path)], None))
    console.show(inspection_json(found) if options.json else inspection_text(found, str(address)))
    if installation.proof.verdict is not Verdict.UNREADABLE:
        return 0
    console.fail(Unreadable.slug, f"{address}: {installation.proof.reason}", installation.proof.hint)
    return Unreadable.exit_code
