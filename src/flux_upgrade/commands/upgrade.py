"""``flux-upgrade upgrade``: into the tree, by pull request, or by moving the tag of an artifact."""

from __future__ import annotations

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.sinks import sink_of
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.write_tree import exit_code


def run(options: UpgradeOptions, environment: Environment, console: Console) -> int:
    """Upgrade what the policy lets go on. All is planned before the first byte is written."""
    with sink_of(options, environment, console.warn) as sink:
        inventory = sink.read()
        plans = sink.decide(inventory)
        applied = sink.apply(inventory, plans)
    console.show(applied.text)
    for slug, message, hint in applied.failures:
        console.fail(slug, message, hint)
    return exit_code(applied.errors)
