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
from flux_upgrade.cli.options import Settings
from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.clusters.ownership.artifact_references import Promotion, promotion_of
from flux_upgrade.commands.output import fail, show
from flux_upgrade.commands.read_artifact import build_means, read_artifact, references_here
from flux_upgrade.commands.wiring import build_spool
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.report.inspection import Inspected, inspection_json, inspection_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def is_by_pull_request(settings: Settings, address: Address, found: Sequence[ArtifactReference]) -> bool:
    """Whether what pins the artifact in the checkout is changed, instead of its tag. Raises UsageError.

    ``found``: as ``references_here``.
    """
    return (settings.promote or promotion_of(found, address)) == Promotion.PULL_REQUEST


def upgrade(settings: Settings, address: Address, out: IO[bytes], err: IO[str]) -> int:
    """Push what the policy lets go on, and move the tag."""
    found = references_here(settings, address)
    if is_by_pull_request(settings, address, found):
        from flux_upgrade.commands.pull_requests import propose

        return propose(settings, out, err, found)
    with build_spool() as spool:
        inventory = read_artifact(settings, address, found, spool)
        outcome = carry_out(inventory.planned, inventory.means)
    show(out, artifact_text(outcome, written=not settings.dry_run))
    for slug, message, hint in artifact_failures(outcome):
        fail(err, slug, message, hint)
    return exit_code(outcome.errors)


def plan(settings: Settings, address: Address, out: IO[bytes], err: IO[str]) -> int:
    """Show what would happen and why."""
    found = references_here(settings, address)
    if is_by_pull_request(settings, address, found):
        from flux_upgrade.commands.pull_requests import preview, show_pins

        return (preview if settings.pull_request else show_pins)(settings, out, err, found)
    with build_spool() as spool:
        planned = read_artifact(settings, address, found, spool).planned
    report = artifact_plan_json if settings.json else artifact_plan_text
    show(out, report(planned))
    return 0


def inspect(settings: Settings, address: Address, out: IO[bytes], err: IO[str]) -> int:
    """Say what is really in an artifact."""
    with build_spool() as spool:
        pulled = pull(address, build_means(settings, address, spool))
    installation = pulled.installation
    found = Inspected((installation,), (), clusters_of([Member(installation, installation.path)], None))
    show(out, inspection_json(found) if settings.json else inspection_text(found, str(address)))
    if installation.proof.verdict is not Verdict.UNREADABLE:
        return 0
    fail(err, Unreadable.slug, f"{address}: {installation.proof.reason}", installation.proof.hint)
    return Unreadable.exit_code
