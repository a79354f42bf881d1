"""``flux-upgrade migrate``: manifests to the API versions that a release serves."""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.cli.flags import DEFAULT_SOURCE
from flux_upgrade.cli.options import ApiUsesOptions
from flux_upgrade.commands.api_uses import finish, read_api_uses
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.wiring import build_worktree
from flux_upgrade.config.environment import Environment
from flux_upgrade.impact.migrate.result import Left, Migrated
from flux_upgrade.model.errors import FluxUpgradeError, known
from flux_upgrade.report.api_uses import ApiUsesReport, migrate_text
from flux_upgrade.report.file_changes import diff, diff_hunks


def run(options: ApiUsesOptions, environment: Environment, console: Console) -> int:
    # All is known before the first byte is written.
    found = read_api_uses(options, environment)
    moving = [file for file in found.uses.files if file.moves]
    found = _written(options, found, moving)
    shown = moving if options.is_dry else ()
    diffs = (f"{diff(found.place(each.path), diff_hunks(each.content, each.new))}\n" for each in shown)
    text = "".join((*diffs, migrate_text(found)))
    if found.moved and not options.is_dry:
        text += f"\n{_next_steps(options, found, environment)}"
    return finish(options, found, text, console)


def _next_steps(options: ApiUsesOptions, found: ApiUsesReport, environment: Environment) -> str:
    from flux_upgrade.report.overview_text import Commands, steps_text
    from flux_upgrade.route.migration_steps import after_migration  # late: only what was migrated has steps

    moves = [each for each in found.uses.moves if each.use.path in found.moved]
    lefts = [use for use in found.breaking if isinstance(use, Left)]
    assessed = found.assessed
    has_flux = bool(assessed.running or assessed.unknown or assessed.unverified or assessed.unasked)
    steps = tuple(after_migration(assessed.target, moves, lefts, assessed.running, has_flux=has_flux))
    source, root = options.release_source, found.repository
    flags = (f"--release-source={source}",) if source != DEFAULT_SOURCE else ()
    commands = Commands(() if root == "." else (root,), flags)
    return steps_text(steps, commands, environment.terminal)


def _written(options: ApiUsesOptions, found: ApiUsesReport, moving: Iterable[Migrated]) -> ApiUsesReport:
    """With each file written whole or not at all; one that fails does not stop the others."""
    writes = not options.is_dry
    worktree = build_worktree(options.path, writes=writes)
    # What the clusters in a directory read need not be in it.
    whole = build_worktree(found.repository, writes=writes) if found.below else worktree
    failures: dict[str, FluxUpgradeError] = dict(found.failures)
    moved = set()
    for file in moving:
        try:
            if file.path.startswith(found.below):
                worktree.write(file.path.removeprefix(found.below), file.new, file.content)
            else:
                whole.write(file.path, file.new, file.content)
        except Exception as error:  # noqa: BLE001 as above, whatever it is
            failures[file.path] = known(error)
        else:
            moved.add(file.path)
    return found._replace(failures=failures, moved=frozenset(moved), is_dry=options.is_dry)
