"""What plan, upgrade and the Action read before anything is decided."""

# Paths as the user wrote them: os calls, and no pathlib to import.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import assign
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.commands.wiring import (
    KEY_READERS,
    build_checkout,
    build_kustomize,
    build_pin_context,
    build_releases,
    build_snapshot,
    build_timing,
    read_text,
)
from flux_upgrade.commands.wiring_hosts import build_egress
from flux_upgrade.commands.wiring_repository import RepositorySource, build_followed, build_history, shared_configs
from flux_upgrade.config.config import PATH, Config
from flux_upgrade.config.environment import Environment
from flux_upgrade.config.keys import PROTECTED
from flux_upgrade.model.errors import NothingFound
from flux_upgrade.pins.context import UserPattern
from flux_upgrade.pins.discover import discover, looked_at, may_pin_at
from flux_upgrade.pins.pin import Role
from flux_upgrade.planning.approvals import resolved
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.snapshot.snapshot import Snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.clusters.groups import UpdateGroup
    from flux_upgrade.clusters.known import WithoutEffect
    from flux_upgrade.clusters.void_groups import Void

_OF_PULL_REQUESTS = ("accounts",)


def used_keys(*, pull_requests: bool) -> tuple[str, ...]:
    """Protected keys without which no upgrade is decided.

    A host that is not allowed is held by itself, and what is not known makes decisions more careful.
    """
    others = ("allow-hosts", "bootstrap", "known", *(() if pull_requests else _OF_PULL_REQUESTS))
    return tuple(name for name in PROTECTED if name not in others)


def read_inventory(options: UpgradeOptions, environment: Environment) -> Inventory:
    """Config, installations and releases, in this order: what is wrong is said early.

    Raises UsageError, InvalidConfig, NothingFound, SourceUnavailable.
    """
    snapshot = build_snapshot(options.path, environment)
    repository, below = snapshot.repository, snapshot.location.part
    uses = used_keys(pull_requests=options.pull_request)
    config = build_config(environment, snapshot, options.config, options.governing, uses)
    environment.say(f"reading {options.path}")
    also: tuple[UserPattern, ...] = ()
    if config.also:
        from flux_upgrade.clusters.also import user_patterns  # late: few config files have the key

        also = user_patterns(config, snapshot, below, is_whole=snapshot.is_whole)
    else:
        require_marks(snapshot, options.path)
    source = build_releases(environment, options.release_source)
    hosts = partial(build_egress, environment, options, lambda: config)
    context = build_pin_context(environment, snapshot, source, hosts, moves_operator=config.moves_operator)
    context = replace(context, also=also)
    # Listed first: what the list says of a release has not to be asked for again.
    releases = source.list()
    found = discover(context)
    if "flux-instance" in {each.kind for each in found}:
        from flux_upgrade.clusters.operator_limits import with_operators  # late: few repositories have one

        found = with_operators(found, repository, context, below, config.is_ignored)
    require_any(found, snapshot, options.path)
    checkout = build_checkout(environment, snapshot.location.root)
    server = RepositorySource(options.path, options.repository, config.forge)
    update_groups = assign(found, below, config, repository)
    members = [Member(each, below + each.path) for each in found]
    governed = [each for each in members if not config.is_ignored(each.path)]
    reported_only = [each for each in governed if each.pin.role is Role.REPORTED]
    paths = [each.path for each in members]
    files = [part.path for each in members for part in each.pin.files(each.path)]
    request = options.request
    if request.approve:
        request = request._replace(approve=resolved(request.approve, update_groups))
    now = datetime.fromtimestamp(build_timing(environment).now(), UTC)
    return Inventory(
        update_groups=update_groups,
        config=config,
        releases=releases,
        pin_context=context,
        ownership=Ownership(repository, is_named=snapshot.location.is_file),
        reported_only=tuple(reported_only),
        request=request,
        now=now,
        head=snapshot.location.head,
        all_paths=frozenset(paths) if snapshot.is_whole else None,
        checkout=checkout,
        evidence=Evidence(
            context if snapshot.is_whole else replace(context, tree=repository),
            config,
            [cluster for group in update_groups for cluster in group.clusters],
            build_history(environment, server, checkout, files, is_checkout=snapshot.location.is_checkout),
            build_kustomize(environment),
            frozenset([each.path for each in governed]),
            members if snapshot.is_whole else None,
            urls=checkout.urls,
            followed=partial(build_followed, checkout, files),
        ),
        void=(
            *_void(options, repository, config, members, is_all=snapshot.is_whole),
            *_without_run(repository, config, now, update_groups, is_all=snapshot.is_whole),
        ),
    )


MANIFEST = "gotk-components.yaml"  # As `flux bootstrap` names it


def require_marks(tree: Snapshot, path: str) -> None:
    """Raises NothingFound where it is plain from the files alone, before any server is asked."""
    if next(tree.named((MANIFEST,)), None) is not None:
        return
    if not any(may_pin_at(tree, each) for each in looked_at(tree)):
        require_any((), tree, path)


def require_any(installations: Sequence[object], snapshot: Snapshot, path: str) -> None:
    """Raises NothingFound where there is no installation."""
    if not installations:
        hint = "run it in the root of the repository, or set up Flux with `flux-upgrade bootstrap`"
        if snapshot.location.is_sparse:
            hint = "the checkout is sparse: run `git sparse-checkout add` with the directory that has Flux"
        raise NothingFound(f"no Flux found in {path}", hint=hint)


def _void(
    options: UpgradeOptions, tree: Snapshot, config: Config, members: Sequence[Member], *, is_all: bool
) -> Iterator[Void | WithoutEffect]:
    """Yield parts of the config file that have no effect."""
    yield from void_here(options, tree, config, members, is_all=is_all)
    if (config.known or config.lapsed) and is_all and not tree.location.is_sparse:
        from flux_upgrade.clusters.known import void_entries, with_other_releases  # late: few files have the key

        yield from void_entries(config, members)
        yield from with_other_releases(config, members)


def _without_run(
    tree: Snapshot, config: Config, now: datetime, update_groups: Sequence[UpdateGroup], *, is_all: bool
) -> Iterator[WithoutEffect]:
    """Yield the schedules during which no workflow runs."""
    if is_all and any(group.governance.window.cron for group in (*config.groups, config.default)):
        from flux_upgrade.clusters.workflow_runs import never_inside  # late: few config files have a schedule

        yield from never_inside(config, tree, now, {each.group.name for each in update_groups})


def void_here(
    options: UpgradeOptions, tree: Snapshot, config: Config, found: Sequence[Member], *, is_all: bool
) -> tuple[Void, ...]:
    """As ``groups_without_match``; a sparse checkout does not show what its groups match."""
    if not config.groups or tree.location.is_sparse:
        return ()
    from flux_upgrade.clusters.void_groups import groups_without_match  # late: it imports difflib

    return groups_without_match(config, found, tree, options.config or PATH, is_all=is_all)


def build_config(
    environment: Environment,
    snapshot: Snapshot,
    named: str = "",
    governing: Mapping[str, object] | None = None,
    uses: Collection[str] = (),
) -> Config:
    """The config file, under what was asked for explicitly.

    ``named``: as ``--config``. ``governing``: as ``UpgradeOptions`` has it. ``uses``: protected keys that the
    command uses. Without `extends` among them, no request is sent for a shared file.
    Raises UsageError, InvalidConfig, UntrustedConfig, SharedConfigUnusable.
    """
    path = named or os.path.join(snapshot.location.root, PATH)
    is_there = bool(named) or os.path.lexists(path)
    if not is_there and not governing:
        return Config()
    # Late: most repositories have no config file.
    from flux_upgrade.commands.config_trust import doubt
    from flux_upgrade.config.reader import load

    text = read_text(path, "check --config, or omit it", snapshot=snapshot) if is_there else ""
    name = os.path.relpath(path, snapshot.location.root).replace(os.sep, "/")
    name = name.rpartition("/")[2] if name.startswith("../") else name
    read_shared = shared_configs(environment) if "extends" in uses else None
    config = load(
        text, named or PATH, KEY_READERS, governing, read_shared, doubt=partial(doubt, environment, path, text)
    )
    config = config._replace(name="" if name == PATH else name)
    if config.known:
        config = config.counting_on(
            datetime.fromtimestamp(build_timing(environment).now(), UTC).date(), config.name or PATH
        )
    config.require_trusted(uses)
    return config
