"""What a run of the Action has to tell, whatever it was about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flux_upgrade.artifact.address import Address
from flux_upgrade.build import build_registry, build_spool
from flux_upgrade.commands.artifacts import is_by_pull_request
from flux_upgrade.commands.gathering_artifact import gather_artifact, references_here
from flux_upgrade.commands.pull_requests import Telling, perform
from flux_upgrade.errors import FluxUpgradeError
from flux_upgrade.kinds.parts.artifact_reference import Reference
from flux_upgrade.promotion.carry_out import carry_out
from flux_upgrade.promotion.rollback import plan_rollback, roll_back
from flux_upgrade.report.artifact_run import (
    artifact_outputs,
    artifact_run_value,
    artifact_summary,
    rollback_outputs,
)
from flux_upgrade.report.artifacts import artifact_failures, artifact_text, rollback_text
from flux_upgrade.report.requests import round_errors, round_failures, round_text
from flux_upgrade.report.run import outputs, run_value
from flux_upgrade.report.summary import summary
from flux_upgrade.runner import Runner
from flux_upgrade.settings import Settings
from flux_upgrade.values import NamedTuple


class Told(NamedTuple):
    """All that is printed or written at the end."""

    text: str
    summary: str
    outputs: Callable[[str], Mapping[str, str]]
    """Made with the report."""
    value: Mapping[str, Any] | None = None
    """The report; None: there is none."""
    failures: tuple[tuple[str, str, str], ...] = ()
    """Slug, what is wrong and what to do."""
    warnings: tuple[str, ...] = ()
    errors: tuple[type[FluxUpgradeError], ...] = ()


def act(settings: Settings, where: Runner, warn: Callable[[str], None]) -> Told:
    """Do what the inputs ask for. Raises FluxUpgradeError where nothing could be done."""
    if settings.artifact is None:
        return _by_pull_request(settings, where, warn)
    if settings.command == "rollback":
        return _rolled_back(settings, settings.artifact)
    found = references_here(settings, settings.artifact)
    if is_by_pull_request(settings, settings.artifact, found):
        return _by_pull_request(settings, where, warn)
    return _promoted(settings, settings.artifact, found, where)


def _by_pull_request(settings: Settings, where: Runner, warn: Callable[[str], None]) -> Told:
    telling = Telling(where.approve_command(settings.repository), where.run_url)
    done, calls = perform(settings, telling, warn)
    written = _writes(settings)
    return Told(
        round_text(done, calls=calls, written=written),
        summary(
            done,
            calls=calls,
            written=written,
            approve_command=where.approve_command(),
            workflow_url=where.workflow_url,
        ),
        lambda report: outputs(done, report, written=written),
        run_value(done, calls=calls, written=written),
        tuple(round_failures(done)),
        tuple(each for result in done.results for each in result.warnings),
        tuple(round_errors(done)),
    )


def _promoted(settings: Settings, address: Address, found: Sequence[Reference], where: Runner) -> Told:
    written = _writes(settings)
    with build_spool() as spool:
        gathered = gather_artifact(settings, address, found, spool)
        outcome = carry_out(gathered.planned, gathered.means)
    command, page = where.approve_command(), where.workflow_url
    return Told(
        artifact_text(outcome, written=written),
        artifact_summary(outcome, written=written, approve_command=command, workflow_url=page),
        lambda report: artifact_outputs(outcome, report, written=written),
        artifact_run_value(outcome, written=written),
        tuple(artifact_failures(outcome)),
        errors=outcome.errors,
    )


def _rolled_back(settings: Settings, address: Address) -> Told:
    registry = build_registry(settings, address)
    planned = plan_rollback(address, settings.back_to, registry)
    roll_back(planned, registry)
    written = _writes(settings)
    text = rollback_text(planned, written=written)
    return Told(text, f"## Flux\n\n```\n{text}```\n", lambda _: rollback_outputs(planned, written=written))


def _writes(settings: Settings) -> bool:
    return not settings.dry_run and settings.command != "plan"
