"""``flux-upgrade action``: one step of a job, in the runner's dialect."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.action import inputs, runner
from flux_upgrade.action.action_yml import Outcome
from flux_upgrade.action.event import ISSUES, PULL_REQUEST_TARGET, Event, event_of
from flux_upgrade.action.runner import Runner
from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.cli.options import BootstrapCommand, Invocation, OutputOptions, RollbackOptions, UpgradeOptions
from flux_upgrade.cli.parse import parse_command
from flux_upgrade.commands.action_log import RunnerLog
from flux_upgrade.commands.action_result import ActionResult, result_of, rolled_back
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read import build_config
from flux_upgrade.commands.sinks import sink_of
from flux_upgrade.commands.wiring import build_timing, read_text
from flux_upgrade.config.environment import secrets_of
from flux_upgrade.model.errors import known
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.planning.proposal import RunDetails
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.report.wording import Annotation, Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Timing

_MAX_PAYLOAD = 32 << 20  # Bytes; GitHub sends at most 25 MB


def run(env: Mapping[str, str], console: Console, timing: Timing | None = None) -> int:
    """Log, annotations, outputs, summary, report file; then the exit code."""
    where = runner.runner_of(env)
    tokens = inputs.secrets(env, where)
    for secret in tokens:
        console.show("".join(f"{line}\n" for line in runner.mask(secret)))
    log = RunnerLog(console, where, secrets_of(env))
    for warning in inputs.unknown(env):
        log.annotate(Annotation(Level.WARNING, warning))
    try:
        invocation = _invocation(env, where, tokens, timing)
        log.hide(invocation.secrets)
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
    event = _event(where)
    if event is not None:
        if reason := _reason_to_pass(event, options):
            return ActionResult(f"nothing to do: {reason}\n", "", {"outcome": str(Outcome.NONE)})
        options = options._replace(request=options.request._replace(branch=event.branch))
    details = RunDetails(where.approve_command(options.repository), where.run_url)
    began = build_timing(environment).now()
    with sink_of(options, environment, log.warn, details) as sink:
        inventory = sink.read()
        plans = sink.decide(inventory)
        applied = sink.apply(inventory, plans)
    try:
        return result_of(applied, inventory, options, where, now=began)
    except Exception as error:  # noqa: BLE001 what was done is reported, as far as that goes
        found = known(error)
        failures = (*applied.failures, (found.slug, found.message, found.hint))
        outputs = {"outcome": str(Outcome.FAILED)}
        return ActionResult(applied.text, "", outputs, failures=failures, errors=(*applied.errors, type(found)))


def _invocation(env: Mapping[str, str], where: Runner, tokens: inputs.Secrets, timing: Timing | None) -> Invocation:
    """Raises UsageError for inputs that cannot be."""
    argv = inputs.arguments(env)
    inputs.check(env, where, has_checkout=_has_checkout(where, argv[1]))
    given = {
        "GITHUB_TOKEN": tokens.token,
        "FLUX_UPGRADE_RELEASE_TOKEN": tokens.release_token,
        "FLUX_UPGRADE_REGISTRY_PASSWORD": tokens.registry_password,
        "FLUX_UPGRADE_WORKSPACE": where.workspace,
    }
    found = parse_command(argv, {**env, **given}, timing)
    options = found.options
    if isinstance(options, UpgradeOptions):
        # The summary is the overview; the log has the rest.
        options = options._replace(output=OutputOptions(details=True))
    if isinstance(options, (UpgradeOptions, BootstrapCommand)) and not options.repository:
        options = options._replace(repository=where.repository)
    return found._replace(options=options)


def _event(where: Runner) -> Event | None:
    """The pull request or the dashboard that started this run; None: neither. Raises UsageError."""
    if where.event not in (PULL_REQUEST_TARGET, ISSUES):
        return None
    hint = "mount the runner's file into the container, as GitHub Actions does"
    return event_of(read_text(where.event_path, hint, _MAX_PAYLOAD), where.event)


def _reason_to_pass(event: Event, options: UpgradeOptions) -> str:
    """Why nothing is to be done about it, before any server is asked; empty: it is to be looked at."""
    config = build_config(find(options.path), options.config, options.governing)
    return event.left_alone(options.repository, config.branch_prefix)


def _has_checkout(where: Runner, path: str) -> bool:
    """Whether ``path`` is in a checkout in the workspace, also once links are followed."""
    if not where.workspace:
        return False
    place = find(inputs.inside(where.workspace, "." if path.startswith(SCHEME) else path))
    workspace = find(where.workspace)
    inputs.inside(f"{workspace.root}/{workspace.prefix}".rstrip("/"), f"{place.root}/{place.prefix}")
    return place.is_checkout
