"""``flux-upgrade check``: a gate for changes to a repository with Flux's resources."""

from __future__ import annotations

from flux_upgrade.cli.options import ApiUsesOptions
from flux_upgrade.commands.api_uses import finish, read_api_uses, show_report
from flux_upgrade.config.environment import Environment
from flux_upgrade.report.api_uses import check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(options: ApiUsesOptions, environment: Environment, out: IO[bytes], err: IO[str]) -> int:
    """Name every use of an API version that the target does not serve."""
    found = read_api_uses(options, environment)
    show_report(options, found, check_text(found), out)
    return finish(options, found, err)
