"""``flux-upgrade plan``."""

from __future__ import annotations

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.sinks import sink_of
from flux_upgrade.config.environment import Environment


def run(options: UpgradeOptions, environment: Environment, console: Console) -> int:
    """Show what would happen and why. Ends with 0 whatever is held: nothing was asked to be done."""
    with sink_of(options, environment, console.warn, previews=True) as sink:
        inventory = sink.read()
        plans = sink.decide(inventory)
        console.show(sink.show(inventory, plans))
    return 0
