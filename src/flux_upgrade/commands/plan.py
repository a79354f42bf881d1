"""``flux-upgrade plan``."""

from __future__ import annotations

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.sink import Sink
from flux_upgrade.commands.sinks import sink_of
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByForge, ForgeUnavailable
from flux_upgrade.planning.planner import Inventory


def run(options: UpgradeOptions, environment: Environment, console: Console) -> int:
    """Show what would happen and why. Ends with 0 whatever is held: nothing was asked to be done.

    Without the Git host, it is the plan of the checkout, with a warning that says what was not considered.
    """
    with sink_of(options, environment, console.warn, previews=True) as sink:
        inventory = sink.read()
        try:
            shown, plans = sink, sink.decide(inventory)
        except (ForgeUnavailable, ForbiddenByForge) as error:
            if isinstance(error, ForbiddenByForge) and environment.tokens.is_known:
                raise  # You gave a token, and it has to be replaced.
            shown = _of_checkout(inventory, error, options, environment, console)
            plans = shown.decide(inventory)
        console.show(shown.show(inventory, plans))
    return 0


def _of_checkout(
    inventory: Inventory, error: FluxUpgradeError, options: UpgradeOptions, environment: Environment, console: Console
) -> Sink:
    # Late: nearly always, the Git host answers.
    from flux_upgrade.commands.tree_sink import TreeSink
    from flux_upgrade.planning.unseen import unseen_of

    remedy = "run it again when your Git host can be reached, or without --pull-request"
    if isinstance(error, ForbiddenByForge):
        remedy = "set GITHUB_TOKEN, or FLUX_UPGRADE_TOKEN for another Git host; or run it without --pull-request"
    return TreeSink(options, environment, console.warn, lambda: inventory, unseen_of(inventory, error, remedy))
