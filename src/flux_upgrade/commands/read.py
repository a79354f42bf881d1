"""What plan, upgrade and the Action read before anything is decided."""

# Paths as the user wrote them: os calls, and no pathlib to import.
# ruff: noqa: PTH113, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from flux_upgrade.adapters.git.checkout import CheckoutLocation, find, head_of, is_sparse
from flux_upgrade.cli.options import Settings
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import assign
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.clusters.void_groups import Void, groups_without_match
from flux_upgrade.commands.output import require_any
from flux_upgrade.commands.wiring import (
    KEY_READERS,
    build_checkout,
    build_kustomize,
    build_pin_context,
    build_releases,
    build_timing,
    build_tree,
    read_text,
)
from flux_upgrade.config.config import PATH, Config, Migrate, Overrides, overridden
from flux_upgrade.manifests.options import nearest
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.files import Tree
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import is_tag
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Pin
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.policy.policy import MaxBump
from flux_upgrade.policy.semver_range import Constraint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.manifests.regenerate import Regenerator
    from flux_upgrade.model.files import FileHistory
    from flux_upgrade.model.ports import Builder
    from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer


def read_inventory(settings: Settings) -> Inventory:
    """Settings, config, installations and releases, in this order: what is wrong is said early.

    Raises UsageError, InvalidConfig, NothingFound, SourceUnavailable.
    """
    request = upgrade_request(settings)
    scope = scope_of(settings)
    place, below = scope.place, scope.below
    config = build_config(settings, place)
    source = build_releases(settings)
    context = build_pin_context(settings, scope.tree, source, moves_operator=config.moves_operator)
    # Listed first: what the list says of a release has not to be asked for again.
    releases = source.list()
    found = discover(context)
    require_any(found, settings.path)
    return Inventory(
        update_groups=assign(found, below, config, scope.whole),
        config=config,
        releases=releases,
        pin_context=context,
        ownership=Ownership(scope.whole, is_named=scope.is_file),
        reported_only=tuple(
            Member(each, below + each.path)
            for each in found
            if each.is_reported_only and not config.is_ignored(below + each.path)
        ),
        request=request,
        now=datetime.fromtimestamp(build_timing(settings).now(), UTC),
        head=head_of(place.root),
        all_paths=frozenset(each.path for each in found) if scope.is_whole else None,
        checkout=build_checkout(settings, place),
        analyzer=build_impact_analyzer(settings, config, scope, context.regenerator, found),
        void=void_here(
            settings,
            scope.whole,
            config,
            [Member(each, below + each.path) for each in found],
            is_all=scope.is_whole,
        ),
    )


def void_here(
    settings: Settings, tree: Tree, config: Config, found: Sequence[Member], *, is_all: bool
) -> tuple[Void, ...]:
    """As ``groups_without_match``; a sparse checkout does not show what its groups match."""
    if not config.groups or is_sparse(find(settings.path).root):
        return ()
    return groups_without_match(config, found, tree, settings.config or PATH, is_all=is_all)


class _LateReads(NamedTuple):
    """The port LateReads over the checkout. ``found``: the pins of what the user named."""

    settings: Settings
    config: Config
    scope: Scope
    found: Sequence[Pin]

    def history(self) -> FileHistory:
        from flux_upgrade.commands.wiring_repository import build_history

        return build_history(
            self.settings, self.config, [self.scope.below + each.path for each in self.found]
        )

    def builder(self) -> Builder | None:
        return build_kustomize(self.settings)

    def unplanned(self) -> Sequence[Member]:
        scope, config = self.scope, self.config
        paths = [scope.below + each.path for each in self.found]
        planned = {path for path in paths if not config.is_ignored(path)}
        found = self.found if scope.is_whole else discover(build_pin_context(self.settings, scope.whole))
        return [Member(each, each.path) for each in found if each.path not in planned]


def build_impact_analyzer(
    settings: Settings, config: Config, scope: Scope, regenerator: Regenerator, found: Sequence[Pin] = ()
) -> ImpactAnalyzer:
    """What upgrades mean for a repository. ``found``: what may be upgraded in it."""
    from flux_upgrade.planning.api_uses import Sources
    from flux_upgrade.planning.impact_analyzer import ImpactAnalyzer

    return ImpactAnalyzer(
        Sources(scope.whole, regenerator, config, _LateReads(settings, config, scope, found))
    )


def upgrade_request(settings: Settings) -> UpgradeRequest:
    """What the flags ask of this run. Raises UsageError."""
    approve = tuple(map(_approval, settings.approve))
    writes = settings.command == "upgrade" and not settings.dry_run
    return UpgradeRequest(
        settings.to, approve, settings.take_release, settings.base, writes, settings.migrated
    )


class Scope(NamedTuple):
    """What is looked at, and the repository that it is a part of."""

    place: CheckoutLocation
    tree: Tree
    """What the user named."""
    whole: Tree
    """The whole repository, as far as it is checked out."""
    below: str
    """Where paths of ``tree`` begin in the repository: ``deploy/``; empty for its root."""
    is_file: bool
    is_whole: bool


def scope_of(settings: Settings) -> Scope:
    """Raises UsageError where there is nothing at the path."""
    place, tree = find(settings.path), build_tree(settings.path)
    is_file = os.path.isfile(settings.path)
    folder = os.path.dirname(place.prefix) if is_file else place.prefix
    is_whole = not folder and not is_file and not is_sparse(place.root)
    whole = tree if is_whole else build_tree(place.root)
    return Scope(place, tree, whole, f"{folder}/" if folder else "", is_file, is_whole)


def build_config(settings: Settings, place: CheckoutLocation) -> Config:
    """The config file, under what was asked for explicitly. Raises UsageError, InvalidConfig."""
    path = settings.config or os.path.join(place.root, PATH)
    config = Config()
    if settings.config or os.path.lexists(path):
        shown = settings.config or PATH
        # Late: most repositories have no config file.
        from flux_upgrade.config.reader import load

        config = load(read_text(path, "check --config, or leave it out"), shown, KEY_READERS)
    return _asked_for(settings, config)


def _asked_for(settings: Settings, config: Config) -> Config:
    """``config`` under what was given explicitly."""
    asked = Overrides(
        policy=_bump(settings.policy) if settings.policy else None,
        check_images=settings.check_images,
        migrate=Migrate(settings.migrate) if settings.migrate else None,
        ladder=settings.ladder,
    )
    if settings.range:
        asked = asked._replace(range=Constraint(settings.range))
    if settings.flags:
        from flux_upgrade.config.reader import parse_flags

        asked = asked._replace(flags=parse_flags(settings.flags, "--flags"))
    if settings.scan:
        from flux_upgrade.config.reader import parse_key

        asked = asked._replace(scan=parse_key("scan", settings.scan))
    if settings.kubernetes_version:
        from flux_upgrade.config.reader import parse_key

        asked = asked._replace(kubernetes=parse_key("kubernetes-version", settings.kubernetes_version))
    return overridden(config, asked)


def _bump(text: str) -> MaxBump:
    if text not in set(MaxBump):
        raise UsageError(
            f"--policy '{text}' is not one of {', '.join(MaxBump)}{nearest(text, MaxBump)}",
            hint="it is the largest bump that needs no approval",
        )
    return MaxBump(text)


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
