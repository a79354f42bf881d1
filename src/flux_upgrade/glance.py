"""Which of very many files are worth a closer look: all are read here, and nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from flux_upgrade.config.values import Config
from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds import may_pin
from flux_upgrade.manifests.crds import Served
from flux_upgrade.ports import Spread, Tree
from flux_upgrade.resources.mentions import groups_of
from flux_upgrade.resources.scan import SUFFIXES
from flux_upgrade.values import NamedTuple

_AT_A_TIME = 64


class Searched(NamedTuple):
    """Files that are searched for versions of APIs; paths are relative to the repository's root."""

    paths: frozenset[str]
    manifests: frozenset[str] = frozenset()
    """Those that have to be readable. What else cannot be read is too large, or none of ours."""
    ignored: frozenset[str] = frozenset()
    """Files that would be searched, did the config file not want them to be left alone."""


class Suspects(NamedTuple):
    """What is worth a closer look; paths in order."""

    uses: tuple[str, ...] = ()
    """Files that may use what is not served."""
    pins: tuple[str, ...] = ()
    """Files that may pin Flux."""
    unread: tuple[tuple[str, Unreadable], ...] = ()
    """Manifests that cannot be read, and why."""
    ignored: tuple[str, ...] = ()
    """Files that are left alone, and would be worth a closer look."""


def searched(tree: Tree, below: str, config: Config) -> Searched:
    """What the config file wants to be searched. ``below``: where the tree begins in the repository."""
    scans = {group.scan for group in (config.default, *config.groups)}

    def is_wanted(path: str) -> bool:
        if () in scans:
            return True
        from flux_upgrade.config.patterns import match

        return any(match(patterns, path) for patterns in scans)

    # A folder that cannot be listed is a candidate as well, and found to be unreadable.
    manifests = frozenset(path for each in tree.candidates() if is_wanted(path := below + each))
    named = frozenset(path for each in tree.named(SUFFIXES) if is_wanted(path := below + each))
    paths = manifests | named
    ignored = frozenset(filter(config.is_ignored, paths))
    return Searched(paths - ignored, manifests - ignored, ignored)


def suspects(
    tree: Tree, searched: Searched, pinning: Collection[str], target: Served, spread: Spread
) -> Suspects:
    """``tree``: the whole repository. ``pinning``: paths of files that may pin Flux by their names."""
    glance = _Glance(target)

    def look(paths: Sequence[str]) -> Suspects:
        uses, pins, unread, ignored = [], [], [], []
        for path in paths:
            try:
                content = tree.read(path)
            except Unreadable as error:
                if path in searched.manifests:
                    unread.append((path, error))
                if path in pinning and may_pin(path, b""):  # a name may tell enough
                    pins.append(path)
                continue
            if path in searched.paths and glance.may_use(content):
                uses.append(path)
            if path in searched.ignored and glance.may_use(content):
                ignored.append(path)
            if path in pinning and may_pin(path, content):
                pins.append(path)
        return Suspects(tuple(uses), tuple(pins), tuple(unread), tuple(ignored))

    found = list(spread(look, sorted(searched.paths.union(searched.ignored, pinning)), _AT_A_TIME))
    return Suspects(*(tuple(each for some in field for each in some) for field in zip(*found, strict=True)))


class _Glance:
    """Passes over files that use nothing but what is served, nearly for nothing."""

    def __init__(self, target: Served) -> None:
        self._target = target
        self._groups = groups_of(target.groups)
        names = b"|".join(re.escape(name.encode()) for name in sorted(target.groups))
        resource = rb"/(?P<version>v\d\w*)[ \r]*\n(?P<indent> *)kind: (?P<kind>[A-Za-z]+)[ \r]*$"
        label = rb"/(?!v\d)[a-z-]+: "
        self._mention = re.compile(
            rb"(?P<group>%b)(?:%b|(?P<label>%b))?" % (names, resource, label), re.MULTILINE
        )

    def may_use(self, content: bytes) -> bool:
        """Whether a file may use what is not served: it names a group otherwise than nearly all files do."""
        return self._groups.are_in(content) and not all(
            match["label"] or self._is_served(match, content) for match in self._mention.finditer(content)
        )

    def _is_served(self, match: re.Match[bytes], content: bytes) -> bool:
        """Whether it is in the first of the two lines that a resource begins with, of one that is served."""
        if match["version"] is None:
            return False
        begin = content.rfind(b"\n", 0, match.start()) + 1
        if content[begin : match.start()] != match["indent"] + b"apiVersion: ":
            return False
        group, version, kind = (match[name].decode() for name in ("group", "version", "kind"))
        return self._target.serves(group, version, kind)
