"""``flux-upgrade inspect``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from flux_upgrade.cli.options import InspectOptions
from flux_upgrade.clusters.also import user_patterns
from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.clusters.operator_limits import with_operators
from flux_upgrade.clusters.roots import graph_of
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read import build_config, require_any
from flux_upgrade.commands.wiring import build_checkout, build_pin_context, build_releases, build_snapshot
from flux_upgrade.commands.wiring_hosts import build_egress
from flux_upgrade.config.config import Config
from flux_upgrade.config.environment import Environment
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model.errors import InvalidConfig, Unreadable, UsageError
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Role
from flux_upgrade.report.graph import graph_text
from flux_upgrade.report.inspection import Inspected, inspection_json, inspection_text
from flux_upgrade.report.wording import located, whole_path
from flux_upgrade.snapshot.snapshot import Snapshot


def run(options: InspectOptions, environment: Environment, console: Console) -> int:
    if options.artifact is not None:
        if options.graph:
            raise UsageError("--graph is about a repository, not an artifact", hint="name a directory")
        return _artifact(options, options.artifact, environment, console)
    snapshot = build_snapshot(options.path, environment)
    repository, part = snapshot.repository, snapshot.location.part
    hosts = partial(build_egress, environment, options, partial(build_config, environment, snapshot))
    context = build_pin_context(environment, snapshot, build_releases(environment, options.release_source), hosts)
    config = _config(environment, snapshot, console)
    also = user_patterns(config, snapshot, snapshot.location.part, is_whole=snapshot.is_whole)
    context = replace(context, also=also)
    everything = with_operators(discover(context), repository, context, part, lambda _: False)
    installations = tuple(each for each in everything if each.is_manifest)
    pins = tuple(each for each in everything if not each.is_manifest)
    members = (Member(each, part + each.path) for each in everything if each.role is not Role.REPORTED)
    clusters = clusters_of(members, repository)
    graph = None
    if options.graph:
        urls = build_checkout(environment, snapshot.location.root).urls
        graph = graph_of(clusters, repository, urls, part.rstrip("/"), config.known, is_all=snapshot.is_whole)
    found = Inspected(installations, pins, clusters, graph)
    if options.json:
        console.show(inspection_json(found))
    else:
        console.show(graph_text(found.graph) if found.graph else inspection_text(found, options.path))
    require_any(everything, snapshot, options.path)
    broken = [each for each in installations if each.proof.verdict is Verdict.UNREADABLE]
    for each in broken:
        where = whole_path(located(options.path, each.path))
        console.fail(Unreadable.slug, f"{where}: {each.proof.reason}", each.proof.hint)
    return Unreadable.exit_code if broken else 0


def _config(environment: Environment, snapshot: Snapshot, console: Console) -> Config:
    """Read the config file; without it, if it is not valid."""
    try:
        return build_config(environment, snapshot)
    except (InvalidConfig, UsageError) as error:
        first = error.message.partition("\n")[0]
        console.warn(f"the config file is not used: {first}\nrun `flux-upgrade config check`")
        return Config()


def _artifact(options: InspectOptions, address: Address, environment: Environment, console: Console) -> int:
    # Late: of a checkout it is not needed.
    from flux_upgrade.adapters.local.worktree import Spool
    from flux_upgrade.artifacts.pull import pull
    from flux_upgrade.commands.read_artifact import build_means

    with Spool() as spool:
        releases = build_releases(environment, options.release_source)
        installation = pull(address, build_means(environment, address, spool, releases)).pin
    found = Inspected((installation,), (), clusters_of([Member(installation, installation.path)], None))
    console.show(inspection_json(found) if options.json else inspection_text(found, str(address)))
    if installation.proof.verdict is not Verdict.UNREADABLE:
        return 0
    console.fail(Unreadable.slug, f"{address}: {installation.proof.reason}", installation.proof.hint)
    return Unreadable.exit_code
