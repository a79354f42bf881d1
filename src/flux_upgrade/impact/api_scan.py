"""Which files use API versions that a release does not serve, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from flux_upgrade.config.config import Config, match
from flux_upgrade.impact.api_uses.mentions import groups_of
from flux_upgrade.impact.api_uses.scan import SUFFIXES, find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.linked import settle_linked
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.impact.migrate.schema import Schema
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.model.ports import Spread
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.discover import may_pin

_AT_A_TIME = 4
_Question = tuple[str, str, str] | None
"""Group, kind and version of a schema; None: the releases in between."""


Suited = Callable[[Apis, str], Apis]
"""What the file at a path has to suit besides."""
_READ_AT_A_TIME = 64


class Searched(NamedTuple):
    """Files that are searched for versions of APIs; paths are relative to the repository's root."""

    paths: frozenset[str]
    manifests: frozenset[str] = frozenset()
    """Those that have to be readable. What else cannot be read is too large, or none of ours."""
    ignored: frozenset[str] = frozenset()
    """Files that would be searched, did the config file not want them to be left alone."""


class Suspects(NamedTuple):
    """Files of a prefiltered tree that are worth a closer look; paths in order."""

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
    scans = {group.governance.scan for group in (config.default, *config.groups)}

    def is_wanted(path: str) -> bool:
        if () in scans:
            return True
        return any(match(patterns, path) for patterns in scans)

    # A folder that cannot be listed is a candidate as well, and found to be unreadable.
    manifests = frozenset(path for each in tree.candidates() if is_wanted(path := below + each))
    named = frozenset(path for each in tree.named(SUFFIXES) if is_wanted(path := below + each))
    paths = manifests | named
    ignored = frozenset(filter(config.is_ignored, paths))
    return Searched(paths - ignored, manifests - ignored, ignored)


def suspects(
    tree: Tree, searched: Searched, pinning: Collection[str], target: ReleaseApis, spread: Spread
) -> Suspects:
    """``tree``: the whole repository. ``pinning``: paths of files that may pin Flux by their names."""
    prefilter = _Prefilter(target)

    def look(paths: Sequence[str]) -> Suspects:
        uses, pins, unread, ignored = [], [], [], []
        for path in paths:
            try:
                content = tree.read(path)
            except Unreadable as error:
                if path in searched.manifests:
                    unread.append((path, error))
                if path in pinning and may_pin(path, b""):  # a name may be enough
                    pins.append(path)
                continue
            if path in searched.paths and prefilter.may_use(content):
                uses.append(path)
            if path in searched.ignored and prefilter.may_use(content):
                ignored.append(path)
            if path in pinning and may_pin(path, content):
                pins.append(path)
        return Suspects(tuple(uses), tuple(pins), tuple(unread), tuple(ignored))

    found = list(spread(look, sorted(searched.paths.union(searched.ignored, pinning)), _READ_AT_A_TIME))
    return Suspects(*(tuple(each for some in field for each in some) for field in zip(*found, strict=True)))


class _Prefilter:
    """Passes over files that use nothing but what is served, nearly for nothing."""

    def __init__(self, target: ReleaseApis) -> None:
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


def in_use(  # noqa: PLR0913, PLR0917  (what the answer depends on)
    tree: Tree,
    paths: Sequence[str],
    patches: Collection[str],
    apis: Apis,
    spread: Spread,
    suited: Suited = lambda apis, _: apis,
) -> tuple[Migrated, ...]:
    """Of some files, those that use what the target of ``apis`` does not serve, in the order of their paths.

    ``patches``: paths of files that a kustomization takes for patches. Files are migrated by ``spread``,
    where nothing can be downloaded; what they need of other releases is fetched here, and they come again.
    """
    known = _Known(apis)

    def look(some: Sequence[str]) -> _BatchResult:
        result = _BatchResult([], [], set())
        for path in some:
            try:
                file = find(path, tree.read(path), apis.target.groups, is_patch=path in patches)
                migrated = migrate(file, suited(known.apis, path)) if file is not None else None
            except _Unknown as error:
                result.again.append(path)
                result.asked.add(error.what)
            except Unreadable:  # it was read a moment ago, and is gone
                continue
            else:
                result.files.extend([migrated] if migrated is not None else [])
        return result

    files: list[Migrated] = []
    while paths:
        again: list[str] = []
        for each in spread(look, paths, _AT_A_TIME):
            files += each.files
            again += each.again
            known.learn(each.asked)
        paths = again
    return settle_linked(sorted(files, key=lambda file: file.path), tree)


class _BatchResult(NamedTuple):
    """What a look at some files gave."""

    files: list[Migrated]
    again: list[str]
    """Paths of those that cannot be migrated before something is known."""
    asked: set[_Question]


class _Unknown(Exception):
    """A schema, or the releases in between, has to be fetched first."""

    def __init__(self, what: _Question) -> None:
        super().__init__(what)
        self.what = what


class _Known:
    """What is known of releases, for processes that must not ask."""

    def __init__(self, apis: Apis) -> None:
        self._source = apis
        self._schemas: dict[_Question, Schema | None] = {}
        self.apis = replace(apis, schema=self._schema, between=_NotYet())
        # What all of them need is read before the work is spread, and not by each process again.
        for served in (apis.target, apis.current, *apis.others):
            if served is not None:
                _ = served.kinds

    def learn(self, asked: Iterable[_Question]) -> None:
        """Fetch schemas and releases that were asked for."""
        for what in asked:
            if what is None:
                if isinstance(self.apis.between, _NotYet):
                    self.apis = replace(self.apis, between=tuple(self._source.between))
            elif what not in self._schemas:
                self._schemas[what] = self._source.schema(*what)

    def _schema(self, group: str, kind: str, version: str) -> Schema | None:
        what = group, kind, version
        if what not in self._schemas:
            raise _Unknown(what)
        return self._schemas[what]


class _NotYet(Iterable[ReleaseApis]):
    """The releases in between, which were not asked for yet."""

    def __iter__(self) -> Iterator[ReleaseApis]:
        raise _Unknown(None)
