"""Which groups of the config file match nothing in the repository."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.adapters.git.checkout import find, is_sparse
from flux_upgrade.cli.options import Settings
from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.void_groups import Void, places_of, void_groups
from flux_upgrade.config.values import PATH, Config
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.ports import Tree
from flux_upgrade.pins.discover import may_pin

_ANY = ("",)
_MANIFESTS = ("gotk-components.yaml", "gotk-components.yml")
_ARTIFACTS = (b"OCIRepository", b"oci://")


def void_here(
    settings: Settings, tree: Tree, config: Config, found: Sequence[Member], *, is_all: bool
) -> tuple[Void, ...]:
    """As ``groups_without_match``; a sparse checkout tells nothing about its groups."""
    if not config.groups or is_sparse(find(settings.path).root):
        return ()
    return groups_without_match(config, found, tree, settings.config or PATH, is_all=is_all)


def groups_without_match(
    config: Config, found: Sequence[Member], tree: Tree, file: str, *, is_all: bool
) -> tuple[Void, ...]:
    """``found``: what this run knows, ignored ones included. ``tree``: the whole repository.

    ``is_all`` false: it is only a part of what pins Flux there. Then a group with a file that may pin
    Flux is not counted. A group with a file that may refer to an artifact never is: only a run about
    that artifact can tell. ``file``: the config file, as the user knows it.
    """
    places = places_of(config, found, tuple(tree.named(_MANIFESTS)))
    void = tuple(void_groups(config, places, file))
    if not void:
        return ()
    used = set(_used(config, {each.name for each in void}, tree, is_all=is_all))
    return tuple(each for each in void if each.name not in used)


def _used(config: Config, names: set[str], tree: Tree, *, is_all: bool) -> Iterator[str]:
    """Those of the groups that other runs may need."""
    for path in tree.named(_ANY):
        group = config.group_of(path)
        if group is None or group.name not in names or config.is_ignored(path):
            continue
        try:
            content = tree.read(path)
        except Unreadable:
            continue
        if any(mark in content for mark in _ARTIFACTS) or (not is_all and may_pin(path, content)):
            yield group.name
