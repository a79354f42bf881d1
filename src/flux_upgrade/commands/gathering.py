"""What plan, upgrade and the Action read before anything is decided."""

# Paths as the user wrote them: os calls, and no pathlib to import.
# ruff: noqa: PTH113, PTH118, PTH120

from __future__ import annotations

import os
from datetime import UTC, datetime

from flux_upgrade.around import Around
from flux_upgrade.build import (
    build_checkout,
    build_regenerator,
    build_releases,
    build_timing,
    build_tree,
    read_text,
)
from flux_upgrade.commands.printing import require_any
from flux_upgrade.config import PATH, Config
from flux_upgrade.edges.checkout import Place, find, head_of, is_sparse
from flux_upgrade.errors import UsageError
from flux_upgrade.groups import assign
from flux_upgrade.kinds import discover
from flux_upgrade.manifests.options import nearest
from flux_upgrade.planning import Asked, Gathered
from flux_upgrade.policy import Bump
from flux_upgrade.settings import Settings
from flux_upgrade.versions import is_tag


def gather(settings: Settings) -> Gathered:
    """Settings, config, installations and releases, in this order: what is wrong is said early.

    Raises UsageError, InvalidConfig, NothingFound, SourceUnavailable.
    """
    approve = tuple(map(_approval, settings.approve))
    writes = settings.command == "upgrade" and not settings.dry_run
    asked = Asked(settings.to, approve, settings.take_release, settings.base, writes)
    place = find(settings.path)
    config = build_config(settings, place)
    tree = build_tree(settings.path)
    source = build_releases(settings)
    regenerator = build_regenerator(settings, source)
    # Listed first: what the list tells of a release has not to be asked for again.
    releases = source.list()
    installations = list(discover(tree, regenerator))
    require_any(installations, settings.path)
    is_file = os.path.isfile(settings.path)
    folder = os.path.dirname(place.prefix) if is_file else place.prefix
    below = f"{folder}/" if folder else ""
    is_whole = not below and not is_file and not is_sparse(place.root)
    return Gathered(
        teams=assign(installations, below, config),
        config=config,
        releases=releases,
        regenerator=regenerator,
        around=Around(tree if is_whole else build_tree(place.root), is_named=is_file),
        asked=asked,
        now=datetime.fromtimestamp(build_timing(settings).now(), UTC),
        head=head_of(place.root),
        found=frozenset(each.path for each in installations) if is_whole else None,
        explain=lambda path, base: build_checkout(settings, place).explain(path, base),
    )


def build_config(settings: Settings, place: Place) -> Config:
    """The config file, under what was asked for explicitly. Raises UsageError, InvalidConfig."""
    path = settings.config or os.path.join(place.root, PATH)
    config = Config()
    if settings.config or os.path.lexists(path):
        shown = settings.config or PATH
        # What reads a config file is imported where there is one: most repositories have none.
        from flux_upgrade.config import load

        config = load(read_text(path, "check --config, or leave it out"), shown)
    return _asked_for(settings, config)


def _asked_for(settings: Settings, config: Config) -> Config:
    """``config`` under policy, range and flags that were given explicitly."""
    if not (settings.policy or settings.range or settings.flags):
        return config
    from flux_upgrade.config import overridden, parse_flags
    from flux_upgrade.constraint import Constraint

    if settings.policy and settings.policy not in set(Bump):
        raise UsageError(
            f"--policy '{settings.policy}' is not one of {', '.join(Bump)}{nearest(settings.policy, Bump)}",
            hint="it is the largest bump that needs no approval",
        )
    return overridden(
        config,
        policy=Bump(settings.policy) if settings.policy else None,
        range=Constraint(settings.range) if settings.range else None,
        flags=parse_flags(settings.flags, "--flags") if settings.flags else {},
    )


def _approval(text: str) -> str:
    """``2.9``, or a tag. Raises UsageError."""
    plain = text.strip().removeprefix("v")
    if is_tag(f"v{plain}"):
        return f"v{plain}"
    if is_tag(f"v{plain}.0"):
        return plain
    raise UsageError(
        f"--approve '{text}' is neither a minor nor a version",
        hint="approve a minor with its later patches (2.9), or one version alone (v2.9.4)",
    )
