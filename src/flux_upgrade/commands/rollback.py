"""``flux-upgrade rollback``."""

from __future__ import annotations

from flux_upgrade.artifacts.report_text import rollback_text
from flux_upgrade.artifacts.rollback import plan_rollback, roll_back
from flux_upgrade.cli.options import RollbackOptions
from flux_upgrade.commands.output import show
from flux_upgrade.commands.wiring import build_registry
from flux_upgrade.config.environment import Environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(options: RollbackOptions, environment: Environment, out: IO[bytes], err: IO[str]) -> int:
    """Have a tag stand for what it stood for before."""
    del err  # what goes wrong is raised
    registry = build_registry(environment, options.artifact, writes=not options.is_dry)
    planned = plan_rollback(options.artifact, options.to, registry)
    roll_back(planned, registry)
    show(out, rollback_text(planned, written=not options.is_dry))
    return 0
