"""A run of the Action about an artifact → its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flux_upgrade.action.artifact_report import (
    artifact_outputs,
    artifact_run_value,
    artifact_summary,
    rollback_outputs,
)
from flux_upgrade.action.runner import Runner
from flux_upgrade.artifacts.promote import carry_out
from flux_upgrade.artifacts.report_text import artifact_failures, artifact_text, rollback_text
from flux_upgrade.artifacts.rollback import plan_rollback, roll_back
from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.action_result import ActionResult, by_pull_request, writes
from flux_upgrade.commands.artifacts import is_by_pull_request
from flux_upgrade.commands.read_artifact import read_artifact, references_here
from flux_upgrade.commands.wiring import build_registry, build_spool
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference


def act(settings: Settings, address: Address, where: Runner, warn: Callable[[str], None]) -> ActionResult:
    """As ``action``: a run about an artifact."""
    if settings.command == "rollback":
        return _rolled_back(settings, address)
    found = references_here(settings, address)
    if is_by_pull_request(settings, address, found):
        return by_pull_request(settings, where, warn, found)
    return _promoted(settings, address, found, where)


def _promoted(
    settings: Settings, address: Address, found: Sequence[ArtifactReference], where: Runner
) -> ActionResult:
    written = writes(settings)
    with build_spool() as spool:
        inventory = read_artifact(settings, address, found, spool)
        outcome = carry_out(inventory.planned, inventory.means)
    command, page = where.approve_command(), where.workflow_url
    return ActionResult(
        artifact_text(outcome, written=written),
        artifact_summary(outcome, written=written, approve_command=command, workflow_url=page),
        lambda report: artifact_outputs(outcome, report, written=written),
        artifact_run_value(outcome, written=written),
        tuple(artifact_failures(outcome)),
        errors=outcome.errors,
    )


def _rolled_back(settings: Settings, address: Address) -> ActionResult:
    registry = build_registry(settings, address)
    planned = plan_rollback(address, settings.back_to, registry)
    roll_back(planned, registry)
    written = writes(settings)
    text = rollback_text(planned, written=written)
    return ActionResult(
        text, f"## Flux\n\n```\n{text}```\n", lambda _: rollback_outputs(planned, written=written)
    )
