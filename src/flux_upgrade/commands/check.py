"""``flux-upgrade check``: a gate for changes to a repository with Flux's resources."""

from __future__ import annotations

from flux_upgrade.cli.options import ApiUsesOptions
from flux_upgrade.commands.api_uses import finish, read_api_uses
from flux_upgrade.commands.output import Console
from flux_upgrade.config.environment import Environment
from flux_upgrade.report.api_uses import check_text


def run(options: ApiUsesOptions, environment: Environment, console: Console) -> int:
    """List every use of an API version that the target does not serve, and what will behave differently."""
    found = read_api_uses(options, environment, changes_behaviour=True)
    return finish(options, found, check_text(found), console)
