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
from flux_upgrade.cli.options import RollbackOptions, UpgradeOptions
from flux_upgrade.commands.action_result import ActionResult, by_pull_request
from flux_upgrade.commands.artifacts import is_by_pull_request
from flux_upgrade.commands.read_artifact import read_artifact, references_here
from flux_upgrade.commands.wiring import build_registry, build_spool
from flux_upgrade.config.environment import Environment
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference


def promote(
    options: UpgradeOptions,
    environment: Environment,
    where: Runner,
    warn: Callable[[str], None],
) -> ActionResult:
    """An upgrade of an artifact. Raises as ``action``."""
    found = references_here(options.path, options.address)
    if is_by_pull_request(options, found):
        return by_pull_request(options, environment, where, warn, found)
    return _promoted(options, environment, found, where)


def _promoted(
    options: UpgradeOptions,
    environment: Environment,
    found: Sequence[ArtifactReference],
    where: Runner,
) -> ActionResult:
    written = options.request.writes
    with build_spool() as spool:
        inventory = read_artifact(options, environment, found, spool)
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


def rolled_back(options: RollbackOptions, environment: Environment) -> ActionResult:
    """A rollback. Raises as ``action``."""
    written = not options.is_dry
    registry = build_registry(environment, options.artifact, writes=written)
    planned = plan_rollback(options.artifact, options.to, registry)
    roll_back(planned, registry)
    text = rollback_text(planned, written=written)
    return ActionResult(
        text, f"## Flux\n\n```\n{text}```\n", lambda _: rollback_outputs(planned, written=written)
    )
