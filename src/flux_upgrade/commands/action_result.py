"""What came of a run of the Action → all that it prints and writes at the end."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from flux_upgrade.action.job_summary import summary
from flux_upgrade.action.report import RunFacts, outputs, run_value
from flux_upgrade.action.runner import Runner
from flux_upgrade.cli.options import RollbackOptions, UpgradeOptions
from flux_upgrade.commands.sink import Applied
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import Round
from flux_upgrade.report.pull_requests import all_plans
from flux_upgrade.report.wording import Annotation

_MOST_FILES = 2_000  # YAML files of a repository whose graph is drawn


class ActionResult(NamedTuple):
    text: str
    summary: str
    outputs: Mapping[str, str]  # But for those about the report
    value: Mapping[str, Any] | None = None  # The report; None: there is none
    failures: tuple[tuple[str, str, str], ...] = ()  # Slug, what is wrong and what to do
    warnings: tuple[str, ...] = ()
    errors: tuple[type[FluxUpgradeError], ...] = ()
    annotations: tuple[Annotation, ...] = ()  # On lines of the repository's files


def result_of(applied: Applied, inventory: Any, options: UpgradeOptions, where: Runner, *, now: float) -> ActionResult:
    """``inventory``: as the sink read it. ``now``: epoch seconds."""
    run = RunFacts(now, where.run_url)
    command, page = where.approve_command(), where.workflow_url
    written, done, calls = options.request.writes, applied.done, applied.calls
    if isinstance(done, Round):
        return ActionResult(
            applied.text,
            summary(done, written=written, approve_command=command, workflow_url=page) + _chart(inventory, done),
            outputs(done, written=written),
            run_value(done, calls=calls, written=written, run=run._replace(releases=inventory.releases)),
            applied.failures,
            tuple(each for result in done.results for each in result.warnings),
            applied.errors,
            _annotations(done),
        )
    # Late: most runs are about a checkout.
    from flux_upgrade.action.artifact_report import artifact_outputs, artifact_run_value, artifact_summary

    return ActionResult(
        applied.text,
        artifact_summary(done, written=written, approve_command=command, workflow_url=page),
        artifact_outputs(done, written=written),
        artifact_run_value(done, written=written, run=run._replace(releases=tuple(inventory.planner.releases))),
        applied.failures,
        errors=applied.errors,
    )


def _has_impact(done: Round) -> bool:
    plans = all_plans(done.plans)
    return any(plan.impacts or any(each.impact is not None for each in plan.upgrades) for plan in plans)


def _chart(inventory: Inventory, done: Round) -> str:
    """What each cluster reads, where an upgrade was looked at and the repository is small; Markdown."""
    evidence = inventory.evidence
    if evidence is None or not _has_impact(done) or next(islice(evidence.tree.candidates(), _MOST_FILES, None), None):
        return ""
    # Late: nearly every run has nothing to upgrade.
    from flux_upgrade.clusters.roots import graph_of
    from flux_upgrade.report.graph import graph_chart

    clusters = [cluster for group in done.plans for cluster in group.update_group.clusters]
    chart = graph_chart(graph_of(clusters, evidence.tree, evidence.urls, known=evidence.config.known, is_all=False))
    head = "<details>\n<summary>What each cluster reads</summary>"
    return f"\n{head}\n\n```mermaid\n{chart}\n```\n\n</details>\n" if chart else ""


def _annotations(done: Round) -> tuple[Annotation, ...]:
    if not _has_impact(done):
        return ()
    from flux_upgrade.report.impact_json import on_lines  # late: nearly every run has none

    return tuple(on_lines(done.plans))


def rolled_back(options: RollbackOptions, environment: Environment) -> ActionResult:
    """A rollback. Raises FluxUpgradeError where nothing could be done."""
    # Late: as above.
    from flux_upgrade.action.artifact_report import rollback_outputs
    from flux_upgrade.artifacts.report_text import rollback_text
    from flux_upgrade.commands import rollback

    planned, written = rollback.perform(options, environment), not options.is_dry
    text = rollback_text(planned, written=written)
    return ActionResult(text, f"## Flux\n\n```\n{text}```\n", rollback_outputs(planned, written=written))
