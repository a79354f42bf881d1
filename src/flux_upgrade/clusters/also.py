"""The key ``also`` of the config file: which files of a tree it names."""

from __future__ import annotations

from flux_upgrade.config.config import PATH, Config, match
from flux_upgrade.model.text import is_below
from flux_upgrade.pins.context import UserPattern
from flux_upgrade.snapshot.snapshot import Snapshot

_ANY = ("",)


def user_patterns(config: Config, tree: Snapshot, below: str, *, is_whole: bool) -> tuple[UserPattern, ...]:
    """``below``: where paths of ``tree`` begin in the repository, as ``deploy/``; ``is_whole``: it is all of it.

    Links are not followed. What ``ignore`` covers is left out, and so is the config file, which quotes the versions
    that it looks for.
    """
    if not config.also:
        return ()
    file = config.name or PATH
    paths = [path for path in tree.named(_ANY) if below + path != file and not config.is_ignored(below + path)]
    return tuple(
        UserPattern(
            each.match,
            tuple(path for path in paths if match(each.files, below + path)),
            each.is_cli,
            each.cluster,
            file,
            each.line,
            is_whole,
            is_astray=not any(is_below(path, each.cluster or "") for path in paths),
        )
        for each in config.also
    )
