"""A bootstrap by the Action → its result."""

from __future__ import annotations

from flux_upgrade.action.bootstrap_report import bootstrap_outputs, bootstrap_summary, bootstrap_value
from flux_upgrade.action.runner import Runner
from flux_upgrade.bootstrap.report_text import bootstrap_text, warnings_of
from flux_upgrade.bootstrap.workflow_file import action_of
from flux_upgrade.cli.options import BootstrapCommand
from flux_upgrade.commands.action_result import ActionResult
from flux_upgrade.commands.bootstrap import perform
from flux_upgrade.commands.bootstrap_preflight import BootstrapCaller
from flux_upgrade.config.environment import Environment

_BY_ITSELF = ("push", "schedule")
"""Events that no person asks for a bootstrap with: what was answered to the last pull request stands."""


def act(command: BootstrapCommand, environment: Environment, where: Runner) -> ActionResult:
    """As ``action``."""
    caller = BootstrapCaller(
        _unheard,
        where.run_url,
        action_of(where.action_repository, where.action_ref),
        is_asked=where.event not in _BY_ITSELF,
    )
    ran = perform(command, environment, caller)
    return ActionResult(
        bootstrap_text(ran),
        bootstrap_summary(ran),
        lambda report: bootstrap_outputs(ran, report),
        bootstrap_value(ran),
        tuple((error.slug, error.message, error.hint) for error in ran.errors),
        tuple(warnings_of(ran)),
        tuple(type(error) for error in ran.errors),
    )


def _unheard(line: str) -> None:
    """The Action has no cluster whose progress could be shown."""
