"""``flux-upgrade rollback``."""

from __future__ import annotations

from flux_upgrade.artifacts.promote import plan_rollback, roll_back
from flux_upgrade.artifacts.report_text import rollback_text
from flux_upgrade.cli.options import RollbackOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.wiring import build_registry
from flux_upgrade.config.environment import Environment


def run(options: RollbackOptions, environment: Environment, console: Console) -> int:
    registry = build_registry(environment, options.artifact, writes=not options.is_dry)
    planned = plan_rollback(options.artifact, options.to, registry)
    roll_back(planned, registry)
    console.show(rollback_text(planned, written=not options.is_dry))
    return 0
