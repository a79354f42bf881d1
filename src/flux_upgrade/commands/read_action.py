"""The environment of a step of a job → what is to be done."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.action import inputs
from flux_upgrade.action.event import ISSUES, PULL_REQUEST_TARGET, Event, event_of
from flux_upgrade.action.runner import Runner
from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.cli.options import BootstrapCommand, Invocation, OutputOptions, UpgradeOptions
from flux_upgrade.cli.parse import parse_command
from flux_upgrade.commands.read import build_config
from flux_upgrade.commands.wiring import build_snapshot, read_text
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.timing import Timing

_MAX_PAYLOAD = 32 << 20  # Bytes; GitHub sends at most 25 MB


def read_invocation(env: Mapping[str, str], where: Runner, tokens: inputs.Secrets, timing: Timing | None) -> Invocation:
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


def read_event(where: Runner) -> Event | None:
    """The pull request or the dashboard that started this run; None: neither. Raises UsageError."""
    if where.event not in (PULL_REQUEST_TARGET, ISSUES):
        return None
    hint = "mount the runner's file into the container, as GitHub Actions does"
    return event_of(read_text(where.event_path, hint, _MAX_PAYLOAD), where.event)


def reason_to_pass(event: Event, options: UpgradeOptions, environment: Environment) -> str:
    """Why nothing is to be done about it, before any server is asked; empty: it is to be looked at."""
    config = build_config(environment, build_snapshot(find(options.path).root), options.config, options.governing)
    return event.left_alone(options.repository, config.branch_prefix)


def _has_checkout(where: Runner, path: str) -> bool:
    """Whether ``path`` is in a checkout in the workspace, also once links are followed."""
    if not where.workspace:
        return False
    place = find(inputs.inside(where.workspace, "." if path.startswith(SCHEME) else path))
    workspace = find(where.workspace)
    inputs.inside(f"{workspace.root}/{workspace.prefix}".rstrip("/"), f"{place.root}/{place.prefix}")
    return place.is_checkout
