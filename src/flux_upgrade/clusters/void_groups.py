"""Groups of the config file that match nothing: their policy applies nowhere, and no plan shows it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.config.config import Config, Group, match
from flux_upgrade.model.markdown import visible
from flux_upgrade.model.text import first_few
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.discover import may_pin
from flux_upgrade.pins.pin import Role
from flux_upgrade.snapshot.snapshot import Snapshot

_USUAL = "/flux-system"
_GLOB = re.compile(r"[*?\[\]\\]")
_NEAR = 0.6  # As `difflib.get_close_matches` has it
_FEW = 3
_ANY = ("",)
_MANIFESTS = ("gotk-components.yaml", "gotk-components.yml")
_ARTIFACTS = (b"OCIRepository", b"oci://")


class GroupPaths(NamedTuple):
    """Paths in the repository that a pattern can be about, relative to its root."""

    pinned: tuple[str, ...]  # Of every installation and pin, ignored ones included
    installed: tuple[str, ...]  # Of those that install Flux, without ignored ones


class Void(NamedTuple):
    """A group that matches no installation and no pin."""

    name: str
    paths: tuple[str, ...]
    why: str
    remedy: str

    @property
    def message(self) -> str:
        return f'group "{self.name}" matches nothing: paths {", ".join(self.paths)} ({self.why})'

    @property
    def hint(self) -> str:
        return self.remedy

    @property
    def text(self) -> str:
        return f"{self.message}\n{self.hint}"


def group_paths(config: Config, members: Sequence[Member], manifests: Sequence[str] = ()) -> GroupPaths:
    """``manifests``: paths of further files that install Flux, as their names say."""
    installing = [each.path for each in members if each.pin.role is Role.INSTALLS]
    installed = dict.fromkeys(path for path in (*installing, *manifests) if not config.is_ignored(path))
    pinned = dict.fromkeys((*(each.path for each in members), *manifests))
    return GroupPaths(tuple(pinned), tuple(installed))


def void_groups(config: Config, places: GroupPaths, file: str) -> Iterator[Void]:
    """Every group that matches nothing, in the order of the config file ``file``."""
    taken = {group.name for path in places.pinned if (group := _taker(config, path)) is not None}
    for group in config.groups:
        if group.name not in taken:
            why, remedy = _explained(group, group.paths, config, places)
            paths = tuple(map(visible, group.paths))
            yield Void(group.name, paths, why, remedy.format(file=file))


def groups_without_match(
    config: Config, found: Sequence[Member], tree: Snapshot, file: str, *, is_all: bool
) -> tuple[Void, ...]:
    """Those of ``void_groups`` that no other run may need. Reads files of ``tree``, the whole repository.

    ``found``: what this run knows, ignored ones included. ``is_all`` false: it is only a part of what
    pins Flux there. Then a group with a file that may pin Flux is not counted. A group with a file that
    may refer to an artifact never is: only a run about that artifact can decide. ``file``: the config
    file, as the user knows it.
    """
    places = group_paths(config, found, tuple(tree.named(_MANIFESTS)))
    void = tuple(void_groups(config, places, file))
    if not void:
        return ()
    used = set(_used(config, {each.name for each in void}, tree, is_all=is_all))
    return tuple(each for each in void if each.name not in used)


def _used(config: Config, names: set[str], tree: Snapshot, *, is_all: bool) -> Iterator[str]:
    for path in tree.named(_ANY):
        group = config.group_of(path)
        if group is None or group.name not in names or config.is_ignored(path):
            continue
        content = tree.content(path)
        if content is not None and (
            any(mark in content for mark in _ARTIFACTS) or (not is_all and may_pin(path, content))
        ):
            yield group.name


def void_patterns(group: Group, config: Config, places: GroupPaths) -> Iterator[tuple[str, str]]:
    """Every pattern that is useless in a group that otherwise matches, and why."""
    for pattern in group.paths:
        plain = pattern.removeprefix("!")
        before = config.groups[: config.groups.index(group)]
        is_exception = plain != pattern
        if not any(
            is_exception or not (config.is_ignored(path) or config.group_of(path) in before)
            for path in places.pinned
            if match((plain,), path)
        ):
            yield visible(pattern), _explained(group, (plain,), config, places)[0]


def _taker(config: Config, path: str) -> Group | None:
    return None if config.is_ignored(path) else config.group_of(path)


def _explained(group: Group, patterns: tuple[str, ...], config: Config, places: GroupPaths) -> tuple[str, str]:
    """Why, and what to do; ``{file}`` stands for the config file."""
    matched = [path for path in places.pinned if match(patterns, path)]
    others = {path: taker for path in matched if (taker := _taker(config, path)) not in (None, group)}
    if others:
        first = next(filter(None, others.values()))
        has = _few([path for path, taker in others.items() if taker is first])
        why = f'group "{first.name}" comes first and has {has}'
        return why, f'list it above "{first.name}" in {{file}}, or remove it'
    if matched:
        return f"ignore covers {_few(matched)}", "narrow ignore in {file}, or remove the group"
    nearest = _nearest(patterns, places.installed)
    if nearest:
        return f"nearest directory: {nearest}", "correct the paths in {file}, or remove the group"
    folders = sorted(set(map(_home, places.installed)))
    where = f"directories with Flux: {_few(folders)}" if folders else "no directory has Flux"
    return where, "correct the paths in {file}, or remove the group"


def _nearest(patterns: Sequence[str], installed: Iterable[str]) -> str:
    """The directory with an installation that is most like what a pattern names; empty: none is."""
    homes = [home for home in dict.fromkeys(map(_home, installed)) if home]
    scored = [
        # An abbreviation is nearer than any other spelling: prod, production.
        (directory.startswith(wanted), SequenceMatcher(None, directory, wanted).ratio(), directory)
        for wanted in filter(None, map(_literal, patterns))
        for directory in dict.fromkeys(each for home in homes for each in _like(home, wanted))
    ]
    is_short, score, best = max(scored, default=(False, 0.0, ""), key=lambda each: each[:2])
    return visible(best) if is_short or score >= _NEAR else ""


def _like(home: str, wanted: str) -> Iterator[str]:
    """A directory, and the one above it that is as deep as the pattern."""
    yield "/".join(home.split("/")[: wanted.count("/") + 1])
    yield home


def _literal(pattern: str) -> str:
    """What a pattern says of a directory: ``clusters/prod-`` of ``/clusters/prod-*/**``."""
    if pattern.startswith("!"):
        return ""
    parts = [_GLOB.sub("", part) for part in pattern.strip("/").split("/")]
    if len(parts) > 1 and parts[-1].endswith((".yaml", ".yml")):
        parts.pop()
    return "/".join(filter(None, parts)).removesuffix(_USUAL)


def _home(path: str) -> str:
    """The directory of a cluster, without the one that every bootstrap makes in it."""
    return posixpath.dirname(path).removesuffix(_USUAL)


def _few(paths: Sequence[str]) -> str:
    return first_few([visible(path) or "the root" for path in paths], _FEW)
