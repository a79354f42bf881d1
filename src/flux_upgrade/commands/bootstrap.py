"""``flux-upgrade bootstrap``."""

from __future__ import annotations

import json

from flux_upgrade.action.bootstrap_report import bootstrap_value
from flux_upgrade.bootstrap.apply import BootstrapResult
from flux_upgrade.bootstrap.options import Source
from flux_upgrade.bootstrap.report_text import bootstrap_text
from flux_upgrade.cli.options import BootstrapCommand
from flux_upgrade.commands.bootstrap_git import bootstrap_git
from flux_upgrade.commands.bootstrap_preflight import BootstrapCaller
from flux_upgrade.commands.output import fail, show
from flux_upgrade.commands.read_bootstrap import read_bootstrap
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.write_tree import exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(command: BootstrapCommand, environment: Environment, out: IO[bytes], err: IO[str]) -> int:
    """Bootstrap, and say what is left to do."""

    def progress(line: str) -> None:
        err.write(f"{line}\n")
        err.flush()

    ran = perform(command, environment, BootstrapCaller(progress))
    if command.request.json:
        show(out, json.dumps(bootstrap_value(ran), indent=2, ensure_ascii=False) + "\n")
    else:
        show(out, bootstrap_text(ran))
    for error in ran.errors:
        fail(err, error.slug, error.message, error.hint)
    return exit_code(type(error) for error in ran.errors)


def perform(command: BootstrapCommand, environment: Environment, caller: BootstrapCaller) -> BootstrapResult:
    """One whole run. Raises FluxUpgradeError for what is refused before the first write."""
    inventory = read_bootstrap(command, environment)
    if inventory.first.source is Source.GIT:
        return bootstrap_git(inventory, caller)
    from flux_upgrade.commands.bootstrap_oci import bootstrap_oci

    return bootstrap_oci(inventory, caller)
