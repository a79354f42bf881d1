"""``flux-upgrade bootstrap``."""

from __future__ import annotations

import json
from functools import partial

from flux_upgrade.action.bootstrap_report import bootstrap_outputs, bootstrap_summary, bootstrap_value
from flux_upgrade.action.runner import Runner
from flux_upgrade.bootstrap.apply import BootstrapResult
from flux_upgrade.bootstrap.options import Source
from flux_upgrade.bootstrap.report_text import bootstrap_text, warnings_of
from flux_upgrade.bootstrap.workflow_file import action_of
from flux_upgrade.cli.options import BootstrapCommand
from flux_upgrade.commands.action_result import ActionResult
from flux_upgrade.commands.bootstrap_git import bootstrap_git
from flux_upgrade.commands.bootstrap_preflight import BootstrapCaller
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read_bootstrap import read_bootstrap
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.write_tree import exit_code

_BY_ITSELF = ("push", "schedule")
"""Events that no person asks for a bootstrap with: what was answered to the last pull request stands."""


def run(command: BootstrapCommand, environment: Environment, console: Console) -> int:
    ran = perform(command, environment, BootstrapCaller(partial(print, file=console.err, flush=True)))
    if command.request.json:
        console.show(json.dumps(bootstrap_value(ran), indent=2, ensure_ascii=False) + "\n")
    else:
        console.show(bootstrap_text(ran))
    for error in ran.errors:
        console.fail(error.slug, error.message, error.hint)
    return exit_code(type(error) for error in ran.errors)


def perform(command: BootstrapCommand, environment: Environment, caller: BootstrapCaller) -> BootstrapResult:
    """One whole run. Raises FluxUpgradeError for what is refused before the first write."""
    inventory = read_bootstrap(command, environment)
    if inventory.first.source is Source.GIT:
        return bootstrap_git(inventory, caller)
    from flux_upgrade.commands.bootstrap_oci import bootstrap_oci

    return bootstrap_oci(inventory, caller)


def act(command: BootstrapCommand, environment: Environment, where: Runner) -> ActionResult:
    """A bootstrap by the Action. Raises as ``action``."""
    caller = BootstrapCaller(
        lambda _: None,  # there is no cluster whose progress could be shown
        where.run_url,
        action_of(where.action_repository, where.action_ref, where.action_release),
        is_asked=where.event not in _BY_ITSELF,
    )
    ran = perform(command, environment, caller)
    return ActionResult(
        bootstrap_text(ran),
        bootstrap_summary(ran),
        bootstrap_outputs(ran),
        bootstrap_value(ran),
        tuple((error.slug, error.message, error.hint) for error in ran.errors),
        tuple(warnings_of(ran)),
        tuple(type(error) for error in ran.errors),
    )
