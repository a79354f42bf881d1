"""``flux-upgrade config check``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.adapters.recording import NoArtifacts, NoCharts, NoReleases
from flux_upgrade.clusters.also import user_patterns
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import assign
from flux_upgrade.clusters.known import WithoutEffect, void_entries
from flux_upgrade.clusters.void_groups import Void, group_paths, groups_without_match
from flux_upgrade.clusters.workflow_runs import never_inside
from flux_upgrade.commands.config_trust import doubt
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.wiring import KEY_READERS, build_flux, build_snapshot, build_timing, read_text
from flux_upgrade.commands.wiring_repository import shared_configs
from flux_upgrade.config.config import PATH, Config
from flux_upgrade.config.environment import Environment
from flux_upgrade.config.reader import lines_of_groups, load
from flux_upgrade.model.errors import InvalidConfig
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Role
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.report.config_check import check_report, matches
from flux_upgrade.snapshot.snapshot import Snapshot

_NO_FLUX = "the checkout has no Flux installation{}\nrun `flux-upgrade config check` again after the bootstrap"
_NO_MATCHES = ", so no group matches a file yet"
_SPARSE = "the checkout is sparse, so the matches are unknown\nrun `git sparse-checkout disable`"
_NOT_USED = "a run here does not use {keys}: {why}\nrun it on the default branch, or add --trust-config"
_HINT = f"check the path, or omit it to read {PATH}"


class _Compared(NamedTuple):
    matches: Mapping[str, Sequence[str]] = {}
    void: tuple[Void, ...] = ()
    without_effect: tuple[WithoutEffect, ...] = ()
    warning: str = ""
    used: frozenset[str] | None = None  # Names of the groups with installations; None: unknown


def run(path: str, environment: Environment, console: Console) -> int:
    """``path``: empty for the usual file of the checkout, which need not exist."""
    file = path or os.path.relpath(f"{find('.').root}/{PATH}")
    is_there = bool(path) or os.path.lexists(file)
    root = find(file if is_there else ".").root
    if not os.path.lexists(root):
        read_text(file, _HINT)  # raises
    snapshot = build_snapshot(root)
    text = read_text(file, _HINT, snapshot=snapshot) if is_there else ""
    withheld = load(text, file, KEY_READERS, doubt=partial(doubt, environment, file, text)).withheld
    # Their values are shown, too.
    config = load(text, file, KEY_READERS, None, None if withheld.keys else shared_configs(environment))
    now = datetime.fromtimestamp(build_timing(environment).now(), UTC)
    config = config.counting_on(now.date(), file)
    compared = _compared(file, environment, config, snapshot, is_there=is_there)
    void = compared.void
    verdict = f"{counted(len(void), 'group')} without a match" if void else "no problem"
    title = f"{file}: {verdict}" if is_there else f"{file} does not exist, so these defaults apply:"
    console.show(check_report(config, title, compared.matches))
    if withheld.keys:
        console.warn(_NOT_USED.format(keys=enumeration(withheld.keys), why=withheld.why))
    for entry in (*compared.without_effect, *never_inside(config, snapshot, now, compared.used)):
        console.warn(entry.text)
    if compared.warning:
        console.warn(compared.warning)
    if void:
        lines = lines_of_groups(text)
        problems = [f"{file}:{lines[each.name]}: {each.message}" for each in void]
        hints = dict.fromkeys(each.hint for each in void)
        raise InvalidConfig("\n".join(problems), hint="\n  ".join(hints))
    return 0


def _compared(path: str, environment: Environment, config: Config, tree: Snapshot, *, is_there: bool) -> _Compared:
    # Whoever has no file yet wants to see what a run would act on; a file without groups says so itself.
    if not tree.location.is_checkout or (
        is_there and not (config.groups or config.also or config.known or config.lapsed)
    ):
        return _Compared()
    if tree.location.is_sparse:
        return _Compared(warning=_SPARSE)
    # Which groups there are does not depend on releases: the command needs no network.
    regenerator = Regenerator(NoReleases(), build_flux(environment))
    also = user_patterns(config, tree, "", is_whole=True)
    found = discover(PinContext(tree, regenerator, NoArtifacts(), NoCharts(), config.moves_operator, also=also))
    members = [Member(each, each.path) for each in found]
    if not any(each.role is Role.INSTALLS for each in found):
        return _Compared(warning=_NO_FLUX.format(_NO_MATCHES if config.groups else ""))
    void = groups_without_match(config, members, tree, path, is_all=True)
    update_groups = assign(found, "", config, tree)
    reported = [each for each in members if each.pin.role is Role.REPORTED and not config.is_ignored(each.path)]
    matched = matches(config, update_groups, reported, group_paths(config, members), void)
    used = frozenset(each.group.name for each in update_groups)
    return _Compared(matched, void, tuple(void_entries(config, members)), used=used)
