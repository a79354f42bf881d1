"""What releases serve, each read once and only when it is asked about; and the way from one to another.

Flux supports any upgrade within a major version (https://fluxcd.io/flux/installation/upgrade/). Two things
stand in the way of some: a CRD that lacks the version in which objects are stored, which the API server
refuses, and manifests of which no version is served before and after. A release in between that has both
bridges either: `flux migrate` is run there, and the manifests are moved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.manifests.crds import ReleaseApis, served_by
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.regenerate import Regenerator


class ServedApis:
    def __init__(self, regenerator: Regenerator) -> None:
        self._regenerator = regenerator
        self._served: dict[str, ReleaseApis] = {}

    def at(self, tag: str) -> ReleaseApis:
        """What a release serves. Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive, Unreadable."""
        if tag not in self._served:
            self._served[tag] = served_by(self._regenerator.manifests(tag))
        return self._served[tag]

    def schema(self, group: str, kind: str, version: str) -> Mapping[str, Any] | None:
        """Of a version of a kind, as the last release had it that served it; None: none ever did. Raises as ``at``."""
        for tag in _last_of_minors(self._regenerator.stable_tags()):
            crd = self.at(tag).kinds.get((group, kind))
            found = crd.version(version) if crd is not None else None
            if found is not None and found.served:
                return found.schema
        return None

    def between(self, older: str, newer: str) -> Iterator[ReleaseApis]:
        """The last release of each minor between two, newest first; each read when it is come to."""
        return map(self.at, _minors_between(Version(older), Version(newer), self._regenerator.stable_tags()))


def upgrade_path(  # noqa: PLR0913, PLR0917  (what a path depends on)
    current: Version,
    target: Version,
    tags: Sequence[Version],
    served: Callable[[Version], ReleaseApis],
    crds: Collection[str],
    uses: Iterable[ApiUse],
) -> tuple[Version, ...] | None:
    """The releases to go to, one after the other, of which the last is ``target``.

    Empty where one step will do, None where there is no path. Of equally short paths, the one
    that goes farthest first.

    ``tags``: releases that may be stopped at, in any order. ``served``: what a release serves; asked
    about few of them. ``crds``: names of those that are installed, before or after. ``uses``: of the
    repository, all or those alone that have to move.
    """
    kinds = {(use.group, use.kind) for use in uses}

    def leads(start: Version, end: Version) -> bool:
        """Whether one step will do, once `flux migrate` has run at its start and the manifests were moved."""
        old, new = served(start), served(end)
        installed = (old.crds.keys() & new.crds.keys()).intersection(crds)
        return all(new.crds[name].version(old.crds[name].storage) is not None for name in installed) and all(
            old.kinds[kind].served & new.kinds[kind].served for kind in kinds & old.kinds.keys() & new.kinds.keys()
        )

    if leads(current, target):
        return ()
    stops = list(_minors_between(current, target, sorted(tags, reverse=True)))
    paths: list[tuple[Version, ...]] = [(current,)]
    while paths:
        further: list[tuple[Version, ...]] = []
        for path in paths:
            for stop in [*stops]:
                if stop <= path[-1] or not leads(path[-1], stop):
                    continue
                if leads(stop, target):
                    return (*path[1:], stop, target)
                stops.remove(stop)
                further.append((*path, stop))
        paths = further
    return None


def _minors_between(older: Version, newer: Version, tags: Iterable[Version]) -> Iterator[Version]:
    """The last stable release of each minor between two, newest first."""
    low, high = older.numbers[:2], newer.numbers[:2]
    return (tag for tag in _last_of_minors(tags) if low < tag.numbers[:2] < high)


def _last_of_minors(tags: Iterable[Version]) -> Iterator[Version]:
    """The last patch of each minor: between patches, no version of an API goes. ``tags``: newest first."""
    seen = set()
    for tag in tags:
        minor = tag.numbers[:2]
        if minor not in seen and not tag.is_prerelease:
            seen.add(minor)
            yield tag
