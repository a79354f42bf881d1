"""What check and migrate have in common: which files and releases they read, and how they end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from flux_upgrade.action import runner
from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.assessment.repository import Question, assess_repository
from flux_upgrade.cli.options import ApiUsesOptions, ReportForm
from flux_upgrade.clusters.also import user_patterns
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read import MANIFEST, build_config
from flux_upgrade.commands.wiring import build_checkout, build_pin_context, build_releases, build_snapshot
from flux_upgrade.commands.wiring_hosts import no_hosts
from flux_upgrade.commands.wiring_repository import build_followed
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import ApiRemoved, FluxUpgradeError, NothingFound, NotLookedAt
from flux_upgrade.model.markdown import counted
from flux_upgrade.planning.manifest_planner import newest_stable
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.report.api_uses import ApiUsesReport, api_uses_json, line_annotations, remedy
from flux_upgrade.report.sarif import sarif
from flux_upgrade.report.wording import Annotation, Level


def read_api_uses(
    options: ApiUsesOptions, environment: Environment, *, changes_behaviour: bool = False
) -> ApiUsesReport:
    """What is there to migrate. ``changes_behaviour``: and whom known changes of behaviour concern.

    Raises UsageError, InvalidConfig, ReleaseNotFound, SourceUnavailable.
    """
    snapshot = build_snapshot(options.path, environment, within=environment.runner_folder)
    repository, location = snapshot.repository, snapshot.location
    config = build_config(environment, snapshot, governing=options.governing)
    context = build_pin_context(environment, repository, build_releases(environment, options.release_source), no_hosts)
    context = replace(context, also=user_patterns(config, repository, "", is_whole=True))
    question = Question(
        options.to or newest_stable(context.regenerator),
        options.running,
        location.part,
        frozenset(location.part + path for path in snapshot.named(("",))) if location.is_file else None,
        changes_behaviour,
    )
    checkout = build_checkout(environment, location.root)
    followed = partial(build_followed, checkout, tuple(repository.named((MANIFEST,))))
    evidence = Evidence(context, config, urls=checkout.urls, followed=followed)
    found = assess_repository(question, evidence)
    return ApiUsesReport(found, options.path, location.part, found.failures)


def finish(options: ApiUsesOptions, found: ApiUsesReport, text: str, console: Console) -> int:
    """Print the report; on stderr annotations, and a line for each failure. The exit code."""
    if options.form is ReportForm.JSON:
        text = api_uses_json(found)
    elif options.form is ReportForm.SARIF:
        text = sarif(found)
    elif options.annotates:
        # Text that may be anybody's commands nothing in a step of GitHub Actions.
        text = runner.stopped(text, os.urandom(16).hex())
    console.show(text)
    if options.annotates:
        lines, others = runner.annotate(line_annotations(found))
        if others:
            more = Annotation(Level.WARNING, f"{counted(len(others), 'more use')}: see the log of this step")
            lines = (*lines, runner.annotation_command(more))
        console.tell("".join(f"{line}\n" for line in lines))
    failures = [
        *((type(error), error.message, error.hint) for error in found.failures.values()),
        *_failures(options, found),
    ]
    for error, message, hint in failures:
        console.fail(error.slug, message, hint)
    return exit_code([error for error, _, _ in failures])


def _failures(options: ApiUsesOptions, report: ApiUsesReport) -> Iterator[tuple[type[FluxUpgradeError], str, str]]:
    """Yield what the report as a whole fails for: the error, its message and its hint."""
    if report.assessed.outside:
        message = f"the clusters read files outside of {options.path}, and those were not looked at"
        yield NotLookedAt, message, "run it at the root of the repository, or in a Git checkout"
    if report.failing:
        uses = counted(len(report.failing), "use")
        message = f"{uses} of API versions that {report.assessed.target} does not serve"
        yield ApiRemoved, message, remedy(report)
    if report.is_empty:
        hint = "run it in the root of the repository, or set a directory or a file with manifests"
        if report.assessed.ignored:
            hint = "remove what excludes the manifests from `ignore` in the config file"
        yield NothingFound, f"no Kubernetes manifest found in {options.path}", hint
