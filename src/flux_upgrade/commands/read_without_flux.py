"""What the Action reads of a repository without Flux, whose run is no failure."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.commands.read import build_config, used_keys, void_here
from flux_upgrade.commands.wiring import build_checkout, build_pin_context, build_releases, build_snapshot, build_timing
from flux_upgrade.commands.wiring_hosts import build_egress
from flux_upgrade.config.environment import Environment
from flux_upgrade.pins.discover import looked_at
from flux_upgrade.planning.planner import Inventory


def read_without_flux(options: UpgradeOptions, environment: Environment) -> Inventory | None:
    """The inventory of a repository in which ``read_inventory`` has found no Flux.

    None if it may have Flux after all: what was read is a part of it, or not all of its files can be read.
    """
    snapshot = build_snapshot(options.path, environment)
    if options.artifact is not None or not snapshot.is_whole or None in map(snapshot.at, looked_at(snapshot)):
        return None
    uses = used_keys(pull_requests=options.pull_request)
    config = build_config(environment, snapshot, options.config, options.governing, uses)
    hosts = partial(build_egress, environment, options, lambda: config)
    source = build_releases(environment, options.release_source)
    context = build_pin_context(environment, snapshot, source, hosts)
    return Inventory(
        update_groups=(),
        config=config,
        releases=(),
        pin_context=context,
        ownership=Ownership(snapshot),
        reported_only=(),
        request=options.request,
        now=datetime.fromtimestamp(build_timing(environment).now(), UTC),
        head=snapshot.location.head,
        # Open pull requests stay: Flux may be missing by mistake.
        all_paths=None,
        checkout=build_checkout(environment, snapshot.location.root),
        void=void_here(options, snapshot, config, (), is_all=True),
        lacks_flux=True,
    )
