"""What check and migrate have in common: which files and releases they read, and how they end."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from flux_upgrade.action import runner
from flux_upgrade.adapters.local.spread import spread
from flux_upgrade.cli.options import ApiUsesOptions, ReportForm
from flux_upgrade.clusters.also import user_patterns
from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.roots import graph_of
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.read import build_config
from flux_upgrade.commands.wiring import (
    build_checkout,
    build_pin_context,
    build_regenerator,
    build_releases,
    build_snapshot,
)
from flux_upgrade.commands.wiring_hosts import no_hosts
from flux_upgrade.config.config import ALL, Config
from flux_upgrade.config.environment import Environment
from flux_upgrade.impact.api_scan import Searched, in_use, searched, suspects
from flux_upgrade.impact.api_uses.scan import files as find_files
from flux_upgrade.impact.behaviour.find import find_breaks, gates_in
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.behaviour.variables import by_variable
from flux_upgrade.impact.impact import Hit, Impact
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.running import manifest_apis
from flux_upgrade.impact.running import running as find_running
from flux_upgrade.impact.served_apis import ServedApis
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import ApiRemoved, ReleaseNotFound, Unreadable
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import is_below
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover, looked_at
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.planning.manifest_planner import newest_stable
from flux_upgrade.planning.transition_ends import lacking_kinds
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.api_uses import (
    ApiUsesReport,
    Between,
    ManifestWithoutRelease,
    api_uses_json,
    line_annotations,
    remedy,
)
from flux_upgrade.report.sarif import sarif
from flux_upgrade.report.wording import Annotation, Level
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.snapshot import Snapshot


def read_api_uses(
    options: ApiUsesOptions, environment: Environment, *, changes_behaviour: bool = False
) -> ApiUsesReport:
    """What is there to migrate. ``changes_behaviour``: and whom known changes of behaviour concern.

    Raises UsageError, InvalidConfig, ReleaseNotFound, SourceUnavailable.
    """
    snapshot = build_snapshot(options.path, environment)
    repository, part = snapshot.repository, snapshot.location.part
    config = build_config(environment, snapshot, governing=options.governing)
    source = build_releases(environment, options.release_source)
    regenerator = build_regenerator(environment, source)
    served = ServedApis(regenerator)
    target = served.at(options.to or newest_stable(regenerator))
    running, unknown = [served.at(each) for each in options.running], []
    pinning = frozenset(() if running else looked_at(repository))
    context = build_pin_context(environment, repository, source, no_hosts)
    context = replace(context, also=user_patterns(config, repository, "", is_whole=True))
    urls = build_checkout(environment, snapshot.location.root).urls
    looked_for = _searched(snapshot, config, context, urls)
    suspected = suspects(repository, looked_for, pinning, target, spread)
    # What is below PATH may run in any cluster, and one whose manifest is left alone runs all the same.
    pins = discover(context, suspected.pins)
    found = find_running(Member(each, each.path) for each in pins)
    for tag in found.releases:
        try:
            running.append(served.at(tag))
        except ReleaseNotFound:
            unknown.append(tag)
    patches = repository.patch_files
    unread = {each for each in found.unverified if manifest_apis(each) is None}  # once, before it is spread
    files = in_use(repository, suspected.uses, patches, _apis(running, target, served), spread, found)
    hits = _behaviour(repository, looked_for, running, target) if changes_behaviour else ()
    patterns: tuple[str, ...] = ()
    if (files or hits) and not part and not snapshot.location.is_file and config.default.governance.include != ALL:
        clusters = clusters_of(_members(discover(context) if options.running else pins), repository)
        graph = graph_of(clusters, repository, urls)
        lacking = _LackingKinds(clusters, graph, target)
        not_read = graph.not_read([file.path for file in files])
        kept = (file.without(lacking.at(file.path)) for file in files)
        files = tuple(file.unread() if file.path in not_read else file for file in kept if file.uses)
        read = [hit for hit in hits if not graph.not_read([hit.path]) and not lacking.has(hit)]
        hits = by_variable(read, graph.clusters, repository)
        patterns = tuple(graph.ignore_patterns(not_read))
    between = Between(
        target.tag,
        tuple(each.tag for each in running),
        bool(options.running),
        tuple(unknown),
        tuple(ManifestWithoutRelease(each.path, each.version, each not in unread) for each in found.unverified),
        tuple(each.place(each.path) for each in pins if each.held and each.held.reason is HoldReason.HOST_NOT_ALLOWED),
    )
    return ApiUsesReport(
        between,
        Impact(files=files, breaks=hits),
        options.path,
        part,
        failures=dict(suspected.unread),
        ignored=len(suspected.ignored),
        unread=patterns,
    )


def _searched(snapshot: Snapshot, config: Config, context: PinContext, urls: Sequence[str]) -> Searched:
    """A file that was named itself is, whatever it is called, and whatever is left alone.

    With a directory, all is that the clusters in it read, wherever it lies.
    """
    repository, part = snapshot.repository, snapshot.location.part
    if snapshot.location.is_file:
        named = frozenset(part + each for each in snapshot.named(("",)))
        return Searched(named, named)
    if not part:
        return searched(snapshot, "", config)
    folder = part.rstrip("/")
    below = frozenset(each for each in looked_at(repository) if is_below(each, folder))
    clusters = clusters_of(_members(discover(replace(context, also=()), below)), repository)
    graph = graph_of(clusters, repository, urls, folder)
    read = frozenset[str]().union(*(each.files for each in graph.clusters))
    return searched(repository, "", config).only(lambda path: path.startswith(part) or path in read)


class _LackingKinds:
    """API group and kind of what no cluster that reads a file has: what uses them is none of their concern."""

    def __init__(self, clusters: Sequence[Cluster], graph: ClusterGraph, target: ReleaseApis) -> None:
        self._graph = graph
        self._by_cluster = {each.name: lacking_kinds("", each, (), target) for each in clusters if not each.is_tools}

    def at(self, path: str) -> frozenset[tuple[str, str]]:
        found = [self._by_cluster.get(name, frozenset()) for name in self._graph.readers(path)]
        return found[0].intersection(*found) if found else frozenset()

    def has(self, hit: Hit) -> bool:
        return any(kind == hit.kind for _, kind in self.at(hit.path))


def _behaviour(
    tree: Snapshot, searched: Searched, running: Sequence[ReleaseApis], target: ReleaseApis
) -> tuple[Hit, ...]:
    """Whom changes concern that no schema shows, on the way from the oldest release that runs."""
    oldest = min((Version(each.tag) for each in running), default="")
    if not oldest or not any(rule.entered(oldest, target.tag) for rule in BREAK_RULES):
        return ()
    paths = sorted(searched.manifests)
    gates = gates_in(_contents(tree, (each for each in paths if posixpath.basename(each) in NAMES)))
    return find_breaks(find_files(tree, target.groups, paths), oldest, target.tag, gates)


def _contents(tree: Snapshot, paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        with suppress(Unreadable):  # it is among the failures
            yield tree.read(path)


def _members(pins: Iterable[Pin]) -> list[Member]:
    return [Member(each, each.path) for each in pins if each.role is not Role.REPORTED]


def _apis(running: Sequence[ReleaseApis], target: ReleaseApis, served: ServedApis) -> Apis:
    if not running:
        return Apis(None, target, (), served.schema)
    oldest, *others = sorted(running, key=lambda each: Version(each.tag))
    return Apis(oldest, target, others, served.schema, lambda: served.between(oldest.tag, target.tag))


def finish(options: ApiUsesOptions, found: ApiUsesReport, text: str, console: Console) -> int:
    """Print the report; on stderr annotations, and a line for each failure. The exit code."""
    if options.form is ReportForm.JSON:
        text = api_uses_json(found)
    elif options.form is ReportForm.SARIF:
        text = sarif(found)
    elif options.annotates:
        # Text that may be anybody's commands nothing in a step of GitHub Actions.
        text = runner.stopped(text, os.urandom(16).hex())
    console.show(text)
    if options.annotates:
        lines, others = runner.annotate(line_annotations(found))
        if others:
            more = Annotation(Level.WARNING, f"{counted(len(others), 'more use')}: see the log of this step")
            lines = (*lines, runner.annotation_command(more))
        console.tell("".join(f"{line}\n" for line in lines))
    for error in found.failures.values():
        console.fail(error.slug, error.message, error.hint)
    errors = [type(error) for error in found.failures.values()]
    if found.breaking:
        target = found.between.target
        console.fail(
            ApiRemoved.slug,
            f"{counted(len(found.breaking), 'use')} of API versions that {target} does not serve",
            remedy(found),
        )
        errors.append(ApiRemoved)
    return exit_code(errors)
