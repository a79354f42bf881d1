"""``flux-upgrade fleet``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from flux_upgrade.action.runner import SUMMARY_LIMIT
from flux_upgrade.adapters.local.files import Directory
from flux_upgrade.adapters.local.worktree import write
from flux_upgrade.cli.options import FleetOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.wiring import build_timing, read_text
from flux_upgrade.config.environment import Environment
from flux_upgrade.fleet.fleet import Fleet, Source, fleet_of
from flux_upgrade.fleet.html_page import html_page
from flux_upgrade.fleet.json_page import json_page
from flux_upgrade.fleet.markdown_page import markdown_page
from flux_upgrade.model.errors import FluxUpgradeError, NoReport, UsageError
from flux_upgrade.model.text import first_few
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.snapshot import Snapshot

_HINT = "see docs/how-to/many-repositories.md for how reports are made and uploaded"
_MOST_NAMED = 5  # In an error about all reports


def run(options: FleetOptions, environment: Environment, console: Console) -> int:
    now = datetime.fromtimestamp(build_timing(environment).now(), UTC)
    fleet = fleet_of(_sources(options, environment), now=now, max_age=options.max_age, expected=options.expected)
    if options.html:
        write(options.html, console.mask(html_page(fleet)))
    console.show(json_page(fleet) if options.json else markdown_page(fleet, SUMMARY_LIMIT))
    if fleet.is_empty:
        raise _no_report(fleet)
    for each in fleet.problems:
        console.fail(NoReport.slug, f"{each.name}: {each.problem}", each.hint or _HINT)
    return NoReport.exit_code if fleet.problems else 0


def _no_report(fleet: Fleet) -> NoReport:
    """One error for all: the page has each."""
    found = first_few([f"{each.name}: {each.problem}" for each in fleet.problems], _MOST_NAMED)
    hint = next((each.hint for each in fleet.problems if each.hint), _HINT)
    return NoReport(": ".join(filter(None, ("no report could be read", found))), hint=hint)


def _sources(options: FleetOptions, environment: Environment) -> Iterator[Source]:
    """One after the other: the content of one is gone before the next is read. Raises UsageError."""
    repositories = [*options.repositories, *_listed(options.repositories_file)]
    yield from _files(options.reports)
    if repositories:
        yield from _uploaded(repositories, options.artifact, environment)


def _listed(path: str) -> Iterator[str]:
    if path:
        lines = read_text(path, "check the path of --repositories").splitlines()
        yield from (name for line in lines if (name := line.partition("#")[0].strip()))


class _File(NamedTuple):
    directory: Directory  # Read without a snapshot, which would keep every report
    name: str  # In the directory
    short: str  # For the page
    path: str


def _files(paths: Sequence[str]) -> Iterator[Source]:
    """Each file once, by its name in the directory that is given, or by its path if two would have the same name."""
    found: dict[str, _File] = {}
    for path in paths:
        directory = Directory(path)
        is_file = directory.is_file
        for name in Snapshot(directory).named(("",) if is_file else (".json",)):
            full = path if is_file else f"{path.rstrip('/')}/{name}"
            found.setdefault(os.path.realpath(full), _File(directory, name, path if is_file else name, full))
    is_clear = len({each.short for each in found.values()}) == len(found)
    for each in found.values():
        shown = each.short if is_clear else each.path
        try:
            yield Source(shown, each.directory.read(each.name))
        except FluxUpgradeError as error:
            yield Source(shown, problem=error.message, hint=error.hint)


def _uploaded(repositories: Sequence[str], artifact: str, environment: Environment) -> Iterator[Source]:
    # Late: most pages are made of files.
    from flux_upgrade.adapters.github.run_artifacts import RunArtifacts
    from flux_upgrade.commands.wiring_repository import build_github

    if not environment.tokens.repository:
        raise UsageError("--repository needs a token", hint="set GITHUB_TOKEN to one with 'Actions: read'")
    source = RunArtifacts(build_github(environment), artifact)
    for name in dict.fromkeys(repositories):
        environment.say(f"reading the report of {name}")
        try:
            yield Source(name, source.newest(name))
        except FluxUpgradeError as error:
            url = f"{environment.github.server_url}/{name}/actions"
            yield Source(name, problem=error.message, url=url, hint=error.hint)
