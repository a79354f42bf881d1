"""``flux-upgrade action``: one step of a job, in the runner's dialect."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

from flux_upgrade.action import inputs, runner
from flux_upgrade.action.action_yml import Outcome
from flux_upgrade.action.runner import Runner
from flux_upgrade.cli.options import BootstrapCommand, Invocation, RollbackOptions, UpgradeOptions
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.commands.action_log import RunnerLog
from flux_upgrade.commands.action_result import ActionResult, result_of, rolled_back
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read import build_config, used_keys, void_here
from flux_upgrade.commands.read_action import read_event, read_invocation, reason_to_pass
from flux_upgrade.commands.sinks import sink_of
from flux_upgrade.commands.wiring import build_checkout, build_pin_context, build_releases, build_snapshot, build_timing
from flux_upgrade.commands.wiring_hosts import build_egress
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import NothingFound, known
from flux_upgrade.model.masking import Mask
from flux_upgrade.model.timing import Timing
from flux_upgrade.pins.discover import looked_at
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import RunDetails
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.report.plans import NO_FLUX
from flux_upgrade.report.wording import Annotation, Level


def run(env: Mapping[str, str], console: Console, mask: Mask, timing: Timing | None = None) -> int:
    """Log, annotations, outputs, summary, report file; then the exit code."""
    where = runner.runner_of(env)
    tokens = inputs.secrets(env, where)
    mask.hide(tokens)
    for secret in tokens:
        # The runner has to know what it masks.
        console._replace(mask=str).show("".join(f"{line}\n" for line in runner.mask(secret)))
    log = RunnerLog(console, where)
    for warning in inputs.unknown(env):
        log.annotate(Annotation(Level.WARNING, warning))
    try:
        invocation = read_invocation(env, where, tokens, timing)
        mask.hide(invocation.secrets)
        invocation = invocation._replace(environment=invocation.environment._replace(mask=mask))
        result = _perform(invocation, where, log)
    except Exception as error:
        found = known(error)
        log.failed(found.slug, found.message, found.hint)
        log.finish({"outcome": str(Outcome.FAILED)}, "")
        if found is not error:
            raise  # it is said once more at the end of the log
        return found.exit_code
    log.text(result.text)
    log.report(result)
    return exit_code((*result.errors, *log.errors))


def _perform(invocation: Invocation, where: Runner, log: RunnerLog) -> ActionResult:
    """Do what the inputs ask for. Raises FluxUpgradeError where nothing could be done."""
    options, environment = invocation.options, invocation.environment
    if isinstance(options, BootstrapCommand):
        from flux_upgrade.commands import bootstrap  # late: it is a command of its own

        return bootstrap.act(options, environment, where)
    if isinstance(options, RollbackOptions):
        return rolled_back(options, environment)
    assert isinstance(options, UpgradeOptions)  # noqa: S101 no input asks for another command
    event = read_event(where)
    if event is not None:
        if reason := reason_to_pass(event, options, environment):
            return ActionResult(f"nothing to do: {reason}\n", "", {"outcome": str(Outcome.NONE)})
        options = options._replace(request=options.request._replace(branch=event.branch))
    details = RunDetails(where.approve_command(options.repository), where.run_url)
    began = build_timing(environment).now()
    with sink_of(options, environment, log.warn, details) as sink:
        try:
            inventory = sink.read()
        except NothingFound:
            inventory = _without_flux(options, environment)
            if inventory is None:
                raise
            log.notice(NO_FLUX, "set up Flux with `flux-upgrade bootstrap`, or remove this workflow")
        plans = sink.decide(inventory)
        applied = sink.apply(inventory, plans)
    try:
        return result_of(applied, inventory, options, where, now=began)
    except Exception as error:  # noqa: BLE001 what was done is reported, as far as that goes
        found = known(error)
        failures = (*applied.failures, (found.slug, found.message, found.hint))
        outputs = {"outcome": str(Outcome.FAILED)}
        return ActionResult(applied.text, "", outputs, failures=failures, errors=(*applied.errors, type(found)))


def _without_flux(options: UpgradeOptions, environment: Environment) -> Inventory | None:
    """Return the inventory of a repository in which ``read_inventory`` has found no Flux.

    None if it may have Flux after all: what was read is a part of it, or not all of its files can be read.
    """
    snapshot = build_snapshot(options.path, environment)
    if options.artifact is not None or not snapshot.is_whole or None in map(snapshot.at, looked_at(snapshot)):
        return None
    uses = used_keys(pull_requests=options.pull_request)
    config = build_config(environment, snapshot, options.config, options.governing, uses)
    hosts = partial(build_egress, environment, options, lambda: config)
    source = build_releases(environment, options.release_source)
    context = build_pin_context(environment, snapshot, source, hosts)
    return Inventory(
        update_groups=(),
        config=config,
        releases=(),
        pin_context=context,
        ownership=Ownership(snapshot),
        reported_only=(),
        request=options.request,
        now=datetime.fromtimestamp(build_timing(environment).now(), UTC),
        head=snapshot.location.head,
        # Open pull requests stay: Flux may be missing by mistake.
        all_paths=None,
        checkout=build_checkout(environment, snapshot.location.root),
        void=void_here(options, snapshot, config, (), is_all=True),
        lacks_flux=True,
    )
