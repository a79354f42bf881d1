"""The entry point: argv + environment → settings → edges → run → report → exit code.

The only catch-all, and the only place that prints. A command's own modules are
imported when it runs: imports are most of a short run's time.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from flux_upgrade.errors import FluxUpgradeError, NothingFound, Unreadable, UsageError
from flux_upgrade.settings import DEFAULT_SOURCE, Settings, parse_settings, token_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from flux_upgrade.kinds import Installation
    from flux_upgrade.manifests.regenerate import Regenerator
    from flux_upgrade.ports import FluxCli, Releases, Tree, Worktree
    from flux_upgrade.upgrade import Plan

INTERRUPTED = 130
_UNEXPECTED = 1


def main() -> int:
    """The console script."""
    # A run is short and makes hardly a cycle, but very many objects: looking for cycles among
    # them takes a tenth of the time.
    gc.disable()
    environment = dict(os.environ)  # noqa: TID251 the one place
    try:
        code = run(sys.argv[1:], environment, sys.stdout.buffer, sys.stderr)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`); Python would complain about it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def run(argv: Sequence[str], env: Mapping[str, str], out: IO[bytes], err: IO[str]) -> int:
    """One run. Returns the exit code; output goes to ``out``, errors to ``err``."""
    token = token_of(env)
    try:
        settings = parse_settings(argv, env)
        return _COMMANDS[settings.command](settings, out, err)
    except FluxUpgradeError as error:
        err.write(_masked(_explain(error), token))
        return error.exit_code
    except KeyboardInterrupt:
        err.write("flux-upgrade: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 the one catch-all
        err.write(_masked(_defect(error, debug="FLUX_UPGRADE_DEBUG" in env), token))
        return _UNEXPECTED


def _explain(error: FluxUpgradeError) -> str:
    hint = f"  {error.hint}\n" if error.hint else ""
    return f"flux-upgrade: {error.slug}: {error.message}\n{hint}"


def _defect(error: Exception, *, debug: bool) -> str:
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    told = "".join(traceback.format_exception(error)) if debug else ""
    return (
        f"{told}flux-upgrade: unexpected: {type(error).__name__} at {where}: {error}\n"
        "  This is a defect of flux-upgrade. Please report it with the file that it was run on, and the "
        "output of the same command with FLUX_UPGRADE_DEBUG=1.\n"
    )


def _encoded(text: str) -> bytes:
    """File names may hold bytes that are no text (PEP 383); they are shown as escapes."""
    return text.encode("utf-8", "backslashreplace")


def _masked(text: str, token: str) -> str:
    return text.replace(token, "***") if token else text


def _render(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    from flux_upgrade.manifests.evidence import rules_for
    from flux_upgrade.manifests.options import validate

    releases, options = build_releases(settings), settings.options
    if not options.version:
        from flux_upgrade.manifests.regenerate import Regenerator
        from flux_upgrade.upgrade import newest_stable

        options = options._replace(version=newest_stable(Regenerator(releases, build_flux(settings))))
    # What is wrong with the flags is said before anything is downloaded.
    validate(options)
    manifests = releases.manifests(options.version)
    validate(options, manifests.components)
    rules = rules_for(manifests, releases, build_flux(settings))
    text = rules.render(options)
    if rules.evidence:
        err.write(f"flux-upgrade: {options.version} is newer than the rules, but {rules.evidence}\n")
    if rules.not_covered and options.changed():
        err.write(f"  it speaks for default flags only; not covered: {', '.join(options.changed())}\n")
    if not manifests.verified:
        err.write(f"flux-upgrade: unverified: there is no checksum for the manifests of {options.version}\n")
    out.write(_encoded(text))
    return 0


def _inspect(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    from flux_upgrade import report
    from flux_upgrade.kinds import discover
    from flux_upgrade.manifests.proof import Verdict

    installations = list(discover(build_tree(settings), _regenerator(settings)))
    text = (
        report.inspection_json(installations)
        if settings.json
        else report.inspection_text(installations, settings.path)
    )
    out.write(_encoded(text))
    out.flush()
    _require_any(installations, settings)
    broken = [each for each in installations if each.proof.verdict is Verdict.UNREADABLE]
    for each in broken:
        err.write(
            _explain(
                Unreadable(
                    f"{report.located(settings.path, each.path)}: {each.proof.reason}", hint=each.proof.hint
                )
            )
        )
    return Unreadable.exit_code if broken else 0


def _upgrade(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    from flux_upgrade import report
    from flux_upgrade.kinds import discover
    from flux_upgrade.publish import exit_code, publish
    from flux_upgrade.upgrade import plan_upgrade

    regenerator = _regenerator(settings)
    installations = list(discover(build_tree(settings), regenerator))
    _require_any(installations, settings)
    # All is planned before the first byte is written.
    plans = list(plan_upgrade(installations, regenerator, to=settings.to, take_release=settings.take_release))
    outcomes = list(publish(plans, build_worktree(settings)))
    if settings.dry_run:
        _show_diffs(plans, settings.path, out)
    out.write(_encoded(report.upgrade_text(outcomes, settings.path, written=not settings.dry_run)))
    out.flush()
    for outcome in outcomes:
        if outcome.error is not None:
            err.write(report.failure(outcome, settings.path))
    return exit_code(outcomes)


def _show_diffs(plans: Sequence[Plan], root: str, out: IO[bytes]) -> None:
    from flux_upgrade import report
    from flux_upgrade.upgrade import Upgrade

    # Identical installations have one change, and its diff is made once.
    hunks: dict[int, str] = {}
    for plan in plans:
        if isinstance(plan.decision, Upgrade):
            change, found = plan.decision.change, plan.installation
            if id(change) not in hunks:
                hunks[id(change)] = report.diff_hunks(found.content, change.new)
            out.write(_encoded(report.diff(report.located(root, found.path), hunks[id(change)]) + "\n"))


_COMMANDS = {"render": _render, "inspect": _inspect, "upgrade": _upgrade}


def _require_any(installations: Sequence[Installation], settings: Settings) -> None:
    if installations:
        return
    raise NothingFound(
        f"there is no Flux manifest in {settings.path}",
        hint="give the file or the folder in which gotk-components.yaml stands; "
        "a new one is made with `flux-upgrade render`",
    )


def _regenerator(settings: Settings) -> Regenerator:
    from flux_upgrade.manifests.regenerate import Regenerator

    return Regenerator(build_releases(settings), build_flux(settings))


def build_releases(settings: Settings) -> Releases:
    """The release source that was asked for. Raises UsageError, SourceUnavailable."""
    source = settings.release_source
    if source == DEFAULT_SOURCE or source.startswith(("http://", "https://")):
        return _build_remote(settings)
    if "://" in source:
        raise UsageError(
            f"--release-source '{source}' is neither github, a folder, nor an http(s) address",
            hint="see `flux-upgrade render --help`",
        )
    from flux_upgrade.edges.directory import DirectoryReleases

    return DirectoryReleases(source)


def _build_remote(settings: Settings) -> Releases:
    import random
    import time

    from flux_upgrade.edges.cache import DownloadCache, EtagCache
    from flux_upgrade.edges.http import Client, Credential, Timing

    folder = settings.cache_dir or None
    timing = Timing(now=time.time, sleep=time.sleep, jitter=random.random)
    etags, cache = EtagCache(folder), DownloadCache(folder)
    if settings.release_source != DEFAULT_SOURCE:
        from flux_upgrade.edges.mirror import HttpReleases

        return HttpReleases(settings.release_source, Client(timing, etags=etags), cache)
    from flux_upgrade.edges.github import GitHubReleases
    from flux_upgrade.edges.registry import FluxManifestsRegistry

    credential = Credential("https://api.github.com", settings.token) if settings.token else None
    return GitHubReleases(
        Client(timing, credential=credential, etags=etags), cache, FluxManifestsRegistry(Client(timing))
    )


def build_flux(settings: Settings) -> FluxCli:
    """The Flux CLI of this machine, should there be one."""
    from flux_upgrade.edges.flux_cli import FluxCli

    return FluxCli(settings.search_path, {"HOME": settings.home, "PATH": settings.search_path})


def build_tree(settings: Settings) -> Tree:
    """The tree to look in. Raises UsageError where there is none."""
    from flux_upgrade.edges.files import DirectoryTree

    return DirectoryTree(settings.path)


def build_worktree(settings: Settings) -> Worktree:
    """Where changes go: the tree, or, for a dry run, a record of them."""
    from flux_upgrade.edges.files import DirectoryWorktree, RecordingWorktree

    return RecordingWorktree() if settings.dry_run else DirectoryWorktree(settings.path)
