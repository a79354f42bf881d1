"""The result of a run of the Action, whatever it is about; and a run by pull request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flux_upgrade.action.job_summary import summary
from flux_upgrade.action.report import outputs, run_value
from flux_upgrade.action.runner import Runner
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.pull_requests import RunDetails, perform
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.proposal import Round
from flux_upgrade.report.pull_requests import all_plans, round_errors, round_failures, round_text
from flux_upgrade.report.wording import Annotation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference


class ActionResult(NamedTuple):
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
    annotations: tuple[Annotation, ...] = ()
    """On lines of the repository's files."""


def by_pull_request(
    options: UpgradeOptions,
    environment: Environment,
    where: Runner,
    warn: Callable[[str], None],
    references: Sequence[ArtifactReference] = (),
) -> ActionResult:
    """``references``: to the artifact, where the run is about one. Raises as ``act``."""
    details = RunDetails(where.approve_command(options.repository), where.run_url)
    done, calls = perform(options, environment, details, warn, references)
    written = options.request.writes
    return ActionResult(
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
        _annotations(done),
    )


def _annotations(done: Round) -> tuple[Annotation, ...]:
    plans = all_plans(done.plans)
    if not any(plan.impacts or any(each.impact is not None for each in plan.upgrades) for plan in plans):
        return ()
    from flux_upgrade.report.annotations import on_lines  # late: nearly every run has none

    return tuple(on_lines(done.plans))
