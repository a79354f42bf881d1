"""What a run of the Action has to tell, whatever it was about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flux_upgrade.commands.pull_requests import Telling, perform
from flux_upgrade.errors import FluxUpgradeError
from flux_upgrade.report.requests import all_plans, round_errors, round_failures, round_text
from flux_upgrade.report.run import outputs, run_value
from flux_upgrade.report.summary import summary
from flux_upgrade.results import Round
from flux_upgrade.runner import Annotation, Runner
from flux_upgrade.settings import Settings
from flux_upgrade.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.kinds.parts.artifact_reference import Reference


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
    annotations: tuple[Annotation, ...] = ()
    """On lines of the repository's files."""


def act(settings: Settings, where: Runner, warn: Callable[[str], None]) -> Told:
    """Do what the inputs ask for. Raises FluxUpgradeError where nothing could be done."""
    if settings.bootstrap is not None:
        # Late, as all that most runs are not about.
        from flux_upgrade.commands import told_bootstrap

        return told_bootstrap.act(settings, where, warn)
    if settings.artifact is None:
        return by_pull_request(settings, where, warn)
    from flux_upgrade.commands import told_artifact

    return told_artifact.act(settings, settings.artifact, where, warn)


def by_pull_request(
    settings: Settings, where: Runner, warn: Callable[[str], None], references: Sequence[Reference] = ()
) -> Told:
    """``references``: to the artifact, where the run is about one. Raises as ``act``."""
    telling = Telling(where.approve_command(settings.repository), where.run_url)
    done, calls = perform(settings, telling, warn, references)
    written = writes(settings)
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
        _annotations(done),
    )


def _annotations(done: Round) -> tuple[Annotation, ...]:
    plans = all_plans(done.plans)
    if not any(plan.impacts or any(each.impact is not None for each in plan.upgrades) for plan in plans):
        return ()
    from flux_upgrade.report.annotations import on_lines  # late: nearly every run has none

    return tuple(on_lines(done.plans))


def writes(settings: Settings) -> bool:
    """Whether the run does what it tells."""
    return not settings.dry_run and settings.command != "plan"
