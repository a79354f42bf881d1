"""Which report the options ask for: the overview, all details, or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.cli.flags import DEFAULT_SOURCE
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.unmerged import unmerged_in
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.artifacts.promote import ArtifactOutcome
    from flux_upgrade.artifacts.promotion_plan import ArtifactPlan
    from flux_upgrade.planning.proposal import Round
    from flux_upgrade.planning.unseen import Unseen
    from flux_upgrade.planning.write_tree import WriteResult
    from flux_upgrade.report.overview import Overview
    from flux_upgrade.report.overview_text import Commands
    from flux_upgrade.route.pulls import Pulls
    from flux_upgrade.route.rows import State


def plan_report(
    inventory: Inventory,
    plans: Sequence[UpdateGroupPlan],
    options: UpgradeOptions,
    environment: Environment,
    unseen: Unseen | None = None,
) -> str:
    """Of ``plan``. ``unseen``: what it was made without."""
    if options.json or options.output.details:
        from flux_upgrade.report.plans import plans_json, plans_text  # late: the overview needs neither

        if options.json:
            from flux_upgrade.report.route_json import route_value

            found = _found(inventory, plans, options, pulls={} if options.pull_request else None)
            steps = route_value(found.route, _commands(options, environment).typed)
            void = (*inventory.void, *([unseen] if unseen else []))
            return plans_json(plans, inventory.reported_only, void, steps)
        return plans_text(plans, inventory.reported_only)
    return _overview(inventory, plans, options, environment, pulls={} if options.pull_request else None)


def tree_report(
    inventory: Inventory,
    plans: Sequence[UpdateGroupPlan],
    outcomes: Sequence[WriteResult],
    options: UpgradeOptions,
    environment: Environment,
) -> str:
    """Of ``upgrade`` in a tree."""
    path, is_dry, output = options.path, not options.request.writes, options.output
    changed = [each.plan for each in outcomes if each.failure is None and each.plan.approved is not None]
    text = ""
    if output.details:
        from flux_upgrade.report.outcomes import upgrade_text  # late: the overview does not need it
        from flux_upgrade.report.plans import drift_text

        done = upgrade_text(outcomes, path, written=not is_dry, reported=inventory.reported_only)
        text = drift_text(inventory.update_groups) + done
    elif not output.is_quiet:
        lines: list[str] = []
        if changed and not output.diff:
            from flux_upgrade.report.file_changes import stats  # late: nearly every run changes nothing

            lines = stats(changed, path, written=not is_dry)
        text = _overview(inventory, plans, options, environment, states={} if is_dry else _states(outcomes), done=lines)
    shown = [] if output.is_quiet or not text else [text]
    if changed and output.diff:
        from flux_upgrade.report.file_changes import diffs  # late, as above

        shown += ["".join(diffs(changed, path))]
    return "\n".join(shown)


def round_report(
    inventory: Inventory, done: Round, calls: int, options: UpgradeOptions, environment: Environment
) -> str:
    """Of ``upgrade --pull-request``, and the log of the Action."""
    from flux_upgrade.report.pull_requests import (  # late: a tree has no pull requests
        open_pulls,
        results_lines,
        round_text,
    )

    writes = options.request.writes
    if options.output.details:
        return round_text(done, calls=calls, written=writes)
    lines = results_lines(done, written=writes)
    return _overview(inventory, done.plans, options, environment, done=lines, pulls=open_pulls(done, written=writes))


def _overview(  # noqa: PLR0913 what is shown, where, and what came of it
    inventory: Inventory,
    plans: Sequence[UpdateGroupPlan],
    options: UpgradeOptions,
    environment: Environment,
    *,
    states: Mapping[tuple[str, int], State] | None = None,
    done: Sequence[str] = (),
    pulls: Pulls | None = None,
) -> str:
    if options.output.is_quiet:
        return ""
    details = () if states else ("plan",) if states is None else ("upgrade", "--dry-run")
    return _text(_found(inventory, plans, options, states, pulls), options, environment, details, done)


def _found(
    inventory: Inventory,
    plans: Sequence[UpdateGroupPlan],
    options: UpgradeOptions,
    states: Mapping[tuple[str, int], State] | None = None,
    pulls: Pulls | None = None,
) -> Overview:
    from flux_upgrade.report.overview import overview  # late: details are a report of their own

    if pulls is not None:
        return overview(plans, inventory.reported_only, states=states, pulls=pulls)
    unmerged = unmerged_in(inventory, options.path)
    return overview(plans, inventory.reported_only, states=states, unmerged=unmerged)


def _text(
    found: Overview,
    options: UpgradeOptions,
    environment: Environment,
    details: tuple[str, ...],
    done: Sequence[str] = (),
) -> str:
    from flux_upgrade.report.overview_text import overview_text  # late, as above

    return overview_text(found, _commands(options, environment, details), environment.terminal, done)


def _commands(options: UpgradeOptions, environment: Environment, details: tuple[str, ...] = ()) -> Commands:
    from flux_upgrade.report.overview_text import Commands  # late, as above

    flags = (*_access_flags(environment), *_flags_again(options))
    prefix = find(options.path).prefix if options.artifact is None else ""
    return Commands(_target(options), flags, details, prefix)


def artifact_plan_report(plan: ArtifactPlan, options: UpgradeOptions, environment: Environment) -> str:
    from flux_upgrade.artifacts import report_text  # late: most runs are about no artifact

    if options.json:
        return report_text.artifact_plan_json(plan, _commands(options, environment).typed)
    if options.output.details:
        return report_text.artifact_plan_text(plan)
    if options.output.is_quiet:
        return ""
    return _text(report_text.overview_of(plan), options, environment, ("plan",), report_text.artifact_changes(plan))


def artifact_report(outcome: ArtifactOutcome, options: UpgradeOptions, environment: Environment) -> str:
    from flux_upgrade.artifacts import report_text  # late, as above
    from flux_upgrade.route.rows import State

    written = options.request.writes
    if options.output.details:
        return report_text.artifact_text(outcome, written=written)
    if options.output.is_quiet:
        return ""
    state = None
    if written:
        state = State.UPGRADED if outcome.failure is None else State.FAILED
    found = report_text.overview_of(outcome.plan, state)
    details = () if outcome.promoted and written else ("upgrade", "--dry-run")
    return _text(found, options, environment, details, report_text.artifact_results(outcome, written=written))


def _target(options: UpgradeOptions) -> tuple[str, ...]:
    if options.artifact is not None:
        return (str(options.artifact),)
    return () if options.path == "." else (options.path,)


def _access_flags(environment: Environment) -> Iterator[str]:
    registry = environment.registry
    if environment.allow_hosts:
        yield f"--allow-hosts={','.join(environment.allow_hosts)}"
    if registry.plain_http:
        yield "--plain-http"
    if registry.username:
        yield from (f"--username={registry.username}", "--password-stdin")


def _flags_again(options: UpgradeOptions) -> Iterator[str]:
    """Those of this run without which the next one would decide otherwise."""
    request = options.request
    if options.release_source != DEFAULT_SOURCE:
        yield f"--release-source={options.release_source}"
    if options.config:
        yield f"--config={options.config}"
    for name, value in options.governing.items():
        for each in value if isinstance(value, list) else [value]:
            yield f"--{name}={str(each).lower() if isinstance(each, bool) else each}"
    if options.promote:
        yield f"--promote={options.promote}"
    if options.pull_request:
        yield "--pull-request"
    if request.to:
        yield f"--to={request.to}"
    yield from [f"--approve={each}" for each in request.approve]
    # An upgrade that was written is to end the releases at which `flux migrate` ran.
    if request.migrated and not request.writes:
        yield "--flux-migrate-done"
    if request.accept_breaks:
        yield "--accept-breaks"


def _states(outcomes: Sequence[WriteResult]) -> Mapping[tuple[str, int], State]:
    from flux_upgrade.route.rows import State  # late, as above

    return {
        (each.plan.path, each.plan.line): State.FAILED if each.failure is not None else State.UPGRADED
        for each in outcomes
        if each.written or each.failure is not None
    }
