"""Which files use API versions that a release does not serve, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from flux_upgrade.assessment.running import NOTHING_RUNS, Running, suited
from flux_upgrade.config.config import ALL, Config, match
from flux_upgrade.impact.api_uses.prefilter import Prefilter
from flux_upgrade.impact.api_uses.scan import SUFFIXES, find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.linked import Reach, settle_linked
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.ports import Spread
from flux_upgrade.pins.discover import PinHints, pin_hints, pinning_files
from flux_upgrade.snapshot.snapshot import Snapshot

_AT_A_TIME = 4
_READ_AT_A_TIME = 64
_Question = tuple[str, str, str] | None  # group, kind and version of a schema; None: releases in between


class Searched(NamedTuple):
    """Files that are searched for versions of APIs; paths are relative to the repository's root."""

    paths: frozenset[str]
    manifests: frozenset[str] = frozenset()
    """Those that have to be readable. What else cannot be read is too large, or none of ours."""
    ignored: frozenset[str] = frozenset()
    """Files that would be searched, did the config file not want them to be left alone."""

    def only(self, wanted: Callable[[str], bool]) -> Searched:
        return Searched(*(frozenset(filter(wanted, each)) for each in self))


class Suspects(NamedTuple):
    """Files of a prefiltered tree that are worth a closer look; paths in order."""

    uses: tuple[str, ...] = ()  # files that may use what is not served
    pins: tuple[str, ...] = ()  # files that may pin Flux
    unread: tuple[tuple[str, Unreadable], ...] = ()  # manifests that cannot be read, and why
    ignored: tuple[str, ...] = ()  # files that are left alone, and would be worth a closer look


def searched(tree: Snapshot, below: str, config: Config) -> Searched:
    """Return what the config file wants to be searched. ``below``: where the tree begins in the repository."""
    scans = {group.governance.include for group in (config.default, *config.groups)}

    def wanted(paths: Iterable[str]) -> frozenset[str]:
        found = (below + each for each in paths)
        if () in scans or ALL in scans:
            return frozenset(found)
        return frozenset(path for path in found if any(match(patterns, path) for patterns in scans))

    # A folder that cannot be listed is a candidate as well, and found to be unreadable.
    manifests = wanted(tree.candidates())
    paths = manifests | wanted(tree.named(SUFFIXES))
    ignored = frozenset(filter(config.is_ignored, paths) if config.ignore else ())
    return Searched(paths - ignored, manifests - ignored, ignored)


def suspects(
    tree: Snapshot, searched: Searched, pinning: Collection[str], target: ReleaseApis, spread: Spread
) -> Suspects:
    """Return what is worth a closer look.

    ``tree``: the whole repository. ``pinning``: paths of files that may pin Flux by their names.
    """
    prefilter = Prefilter(target)

    def look(paths: Sequence[str]) -> list[_Glance]:
        found = []
        for path in paths:
            content, error = b"", None
            try:
                content = tree.read(path)
            except Unreadable as problem:
                error = problem if path in searched.manifests else None
            # Of one that cannot be read, a name may be enough.
            hints = pin_hints(path, content) if path in pinning else None
            may_use = prefilter.may_use(content)
            if may_use or hints or error is not None:
                found.append(_Glance(path, may_use, hints, error))
        return found

    paths = sorted(searched.paths.union(searched.ignored, pinning))
    glances = [each for some in spread(look, paths, _READ_AT_A_TIME) for each in some]
    return Suspects(
        tuple(each.path for each in glances if each.may_use and each.path in searched.paths),
        tuple(pinning_files([(each.path, each.hints) for each in glances if each.hints])),
        tuple((each.path, each.error) for each in glances if each.error is not None),
        tuple(each.path for each in glances if each.may_use and each.path in searched.ignored),
    )


class _Glance(NamedTuple):
    path: str
    may_use: bool
    hints: PinHints | None
    error: Unreadable | None


def in_use(  # noqa: PLR0913, PLR0917  (what the answer depends on)
    tree: Snapshot,
    paths: Sequence[str],
    patches: Collection[str],
    apis: Apis,
    spread: Spread,
    running: Running = NOTHING_RUNS,
) -> tuple[Migrated, ...]:
    """Return those of some files that use what the target of ``apis`` does not serve, in the order of their paths.

    ``patches``: paths of files that a kustomization takes for patches. ``running``: what may read files
    besides. They are migrated by ``spread``, where nothing can be downloaded; what they need of other
    releases is fetched here, and they come again.
    """
    known, prefilter = _Known(apis), Prefilter(apis.target)

    def look(some: Sequence[str]) -> tuple[list[Migrated], dict[str, _Question]]:
        """Return files that could be migrated; and of the others, what has to be known before."""
        done, asked = [], {}
        for path in some:
            try:
                file = find(
                    path,
                    tree.read(path),
                    apis.target.groups,
                    is_patch=path in patches,
                    leaves_out=lambda text: not prefilter.may_use(text.encode(errors="replace")),
                )
                migrated = migrate(file, suited(known.apis, running.readers(path))) if file is not None else None
            except _NotFetched as error:
                asked[path] = error.what
            except Unreadable:  # it was read a moment ago, and is gone
                continue
            else:
                done += [migrated] if migrated is not None else []
        return done, asked

    files: list[Migrated] = []
    while paths:
        again: list[str] = []
        for done, asked in spread(look, paths, _AT_A_TIME):
            files += done
            again += asked
            known.learn(asked.values())
        paths = again
    return settle_linked(sorted(files, key=lambda file: file.path), Reach(tree))


class _NotFetched(Exception):
    """A schema, or the releases in between, has to be fetched first."""

    def __init__(self, what: _Question) -> None:
        self.what = what


class _Known:
    """What is known of releases, for processes that must not ask."""

    def __init__(self, apis: Apis) -> None:
        self._source = apis
        self._answers: dict[_Question, Any] = {}
        self.apis = replace(apis, schema=lambda *what: self._answer(what), between=lambda: self._answer(None))
        # What all of them need is read before the work is spread, and not by each process again.
        for served in (apis.target, apis.current, *apis.others):
            if served is not None:
                _ = served.kinds

    def learn(self, asked: Iterable[_Question]) -> None:
        for what in asked:
            if what not in self._answers:
                self._answers[what] = tuple(self._source.between()) if what is None else self._source.schema(*what)

    def _answer(self, what: _Question) -> Any:
        if what not in self._answers:
            raise _NotFetched(what)
        return self._answers[what]
