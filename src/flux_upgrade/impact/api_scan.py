"""Which files use API versions that a release does not serve, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from flux_upgrade.errors import Unreadable
from flux_upgrade.manifests.crds import Served
from flux_upgrade.migration.apis import Apis
from flux_upgrade.migration.migrate import migrate
from flux_upgrade.migration.schema import Schema
from flux_upgrade.migration.together import together
from flux_upgrade.migration.values import Migrated
from flux_upgrade.ports import Spread, Tree
from flux_upgrade.resources.scan import find
from flux_upgrade.values import NamedTuple

_AT_A_TIME = 4
_Question = tuple[str, str, str] | None
"""Group, kind and version of a schema; None: the releases in between."""


Suited = Callable[[Apis, str], Apis]
"""What the file at a path has to suit besides."""


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

    def look(some: Sequence[str]) -> _Looked:
        looked = _Looked([], [], set())
        for path in some:
            try:
                file = find(path, tree.read(path), apis.target.groups, is_patch=path in patches)
                migrated = migrate(file, suited(known.apis, path)) if file is not None else None
            except _Unknown as error:
                looked.again.append(path)
                looked.asked.add(error.what)
            except Unreadable:  # it was read a moment ago: somebody has taken it away
                continue
            else:
                looked.files.extend([migrated] if migrated is not None else [])
        return looked

    files: list[Migrated] = []
    while paths:
        again: list[str] = []
        for each in spread(look, paths, _AT_A_TIME):
            files += each.files
            again += each.again
            known.learn(each.asked)
        paths = again
    return together(sorted(files, key=lambda file: file.path), tree)


class _Looked(NamedTuple):
    """At some files."""

    files: list[Migrated]
    again: list[str]
    """Paths of those that cannot be migrated before something is known."""
    asked: set[_Question]


class _Unknown(Exception):
    """The answer has to be fetched first."""

    def __init__(self, what: _Question) -> None:
        super().__init__(what)
        self.what = what


class _Known:
    """What is known of releases, for processes that must not ask."""

    def __init__(self, apis: Apis) -> None:
        self._source = apis
        self._schemas: dict[_Question, Schema | None] = {}
        self.apis = replace(apis, schema=self._schema, between=_NotYet())
        # What all of them need is read before the work is spread, and not by each process anew.
        for served in (apis.target, apis.current, *apis.others):
            if served is not None:
                _ = served.kinds

    def learn(self, asked: Iterable[_Question]) -> None:
        """Fetch the answers."""
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


class _NotYet(Iterable[Served]):
    """The releases in between, of which nobody has asked yet."""

    def __iter__(self) -> Iterator[Served]:
        raise _Unknown(None)
