"""``flux-upgrade rollback``."""

from __future__ import annotations

from flux_upgrade.adapters.local.worktree import Spool
from flux_upgrade.artifacts.older_crds import require_way_back
from flux_upgrade.artifacts.promote import Rollback, plan_rollback, roll_back
from flux_upgrade.artifacts.report_text import rollback_text
from flux_upgrade.cli.options import RollbackOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.wiring import build_registry
from flux_upgrade.config.environment import Environment


def run(options: RollbackOptions, environment: Environment, console: Console) -> int:
    console.show(rollback_text(perform(options, environment), written=not options.is_dry))
    return 0


def perform(options: RollbackOptions, environment: Environment) -> Rollback:
    """Raises FluxUpgradeError where nothing could be done."""
    registry = build_registry(environment, options.artifact, writes=not options.is_dry)
    planned = plan_rollback(options.artifact, options.to, registry)
    if not options.accepts_breaks:
        with Spool() as spool:
            require_way_back(planned, registry, spool)
    roll_back(planned, registry)
    return planned
