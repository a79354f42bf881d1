"""Which files use API versions that a release does not serve, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from flux_upgrade.assessment.coverage import Coverage, manifests_in
from flux_upgrade.assessment.unread_parts import UnreadPart, large_file, part_of
from flux_upgrade.config.config import ALL, Config, match
from flux_upgrade.impact.api_uses.prefilter import Prefilter
from flux_upgrade.impact.api_uses.scan import SUFFIXES, find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.linked import Reach, settle_linked
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import Unread, Unreadable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.discover import PinHints, large_hints, pin_hints, pinning_files
from flux_upgrade.snapshot.snapshot import Snapshot

_Question = tuple[str, str, str] | None  # Group, kind and version of a schema; None: releases in between


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
    coverage: Coverage = Coverage()
    parts: tuple[UnreadPart, ...] = ()  # Parts of files that are not read, and name Flux's APIs


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


def suspects(tree: Snapshot, searched: Searched, pinning: Collection[str], target: ReleaseApis) -> Suspects:
    """Return what is worth a closer look.

    ``tree``: the whole repository. ``pinning``: paths of files that may pin Flux by their names.
    """
    prefilter = Prefilter(target)
    uses, ignored, coverage, parts = list[str](), list[str](), Coverage(), list[UnreadPart]()
    unread, hinted = list[tuple[str, Unreadable]](), list[tuple[str, PinHints]]()
    for path in sorted(searched.paths.union(searched.ignored, pinning)):
        content, refusal = b"", None
        try:
            content = tree.read(path)
        except Unreadable as error:
            refusal = error
        is_large = refusal is not None and refusal.why is Unread.TOO_LARGE
        hints = None
        if path in pinning:  # Of one that cannot be read, a name may be enough
            hints = large_hints(path, tree.chunks(path)) if is_large else pin_hints(path, content)
        hinted += [] if hints is None else [(path, hints)]
        part = None
        if is_large and path in searched.paths:
            part = large_file(tree, path, target, may_have_reference=bool(hints and hints.kinds))
        if part is not None:
            parts.append(part)
        elif refusal is not None and path in searched.manifests:
            unread.append((path, refusal))
        if path in searched.paths:
            part = part_of(path, content, target)
            parts += [] if part is None else [part]
            read = content if part is None else part.before(content)
            coverage = coverage.plus(manifests_in(path, read), is_of_flux=prefilter.names(content))
        if prefilter.may_use(content):
            uses += [path] if path in searched.paths else []
            ignored += [path] if path in searched.ignored else []
    return Suspects(tuple(uses), tuple(pinning_files(hinted)), tuple(unread), tuple(ignored), coverage, tuple(parts))


def in_use(
    tree: Snapshot, paths: Iterable[str], patches: Collection[str], target: ReleaseApis, apis_for: Callable[[str], Apis]
) -> tuple[Migrated, ...]:
    """Return those of some files that use what the target does not serve, in the order of their paths.

    ``patches``: paths of files that a kustomization takes for patches. ``apis_for``: path of a file → the APIs that its
    readers serve, the same value for the same readers.
    """
    # Schemas of other releases are fetched once, and only if a file needs them.
    damaged = list[Unreadable]()
    kept: dict[int, tuple[Apis, Apis]] = {}

    def asked_once(apis: Apis) -> Apis:
        @cache
        def known(question: _Question) -> Any:
            try:
                return apis.schema(*question) if question is not None else tuple(apis.between())
            except Unreadable as error:  # the release is damaged, and not the file
                damaged.append(error)
                raise

        return replace(apis, schema=lambda *kind: known(kind), between=lambda: known(None))

    def apis_of(path: str) -> Apis:
        apis = apis_for(path)
        return kept.setdefault(id(apis), (apis, asked_once(apis)))[1]

    prefilter = Prefilter(target)

    def leaves_out(text: str) -> bool:
        return not prefilter.may_use(text.encode(errors="replace"))

    files = []
    for path in sorted(paths):
        file = find(path, tree.content(path) or b"", target.groups, is_patch=path in patches, leaves_out=leaves_out)
        with suppress(Unreadable):  # a file whose migration cannot be worked out is left out, as one that is gone
            migrated = migrate(file, apis_of(path)) if file is not None else None
            files += [migrated] if migrated is not None else []
    if damaged:
        raise damaged[0]
    return settle_linked(files, Reach(tree))
