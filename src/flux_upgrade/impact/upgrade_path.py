"""The fewest steps from one release to another, where one step is not enough.

Flux supports any upgrade within a major version (https://fluxcd.io/flux/installation/upgrade/). Two things
stand in the way of some: a CRD that lacks the version in which objects are stored, which the API server
refuses, and manifests of which no version is served before and after. A release in between that has both
bridges either: `flux migrate` is run there, and the manifests are moved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.versions import Version


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
        return _leads(served(start), served(end), crds, kinds)

    if leads(current, target):
        return ()
    stops = list(_stops(current, target, tags))
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


def _leads(
    start: ReleaseApis, end: ReleaseApis, crds: Collection[str], kinds: Collection[tuple[str, str]]
) -> bool:
    """Whether one step will do, once `flux migrate` has run at its start and the manifests were moved."""
    shared = start.crds.keys() & end.crds.keys()
    return all(
        end.crds[name].version(start.crds[name].storage) is not None for name in shared.intersection(crds)
    ) and all(
        start.kinds[kind].served & end.kinds[kind].served
        for kind in kinds
        if kind in start.kinds and kind in end.kinds
    )


def _stops(current: Version, target: Version, tags: Sequence[Version]) -> Iterator[Version]:
    """The last patch of each minor in between, newest first; within a minor no version of an API goes."""
    first, last = current.numbers[:2], target.numbers[:2]
    seen: set[tuple[int, ...]] = set()
    for tag in sorted(tags, reverse=True):
        minor = tag.numbers[:2]
        is_stable = not tag.is_prerelease
        if is_stable and first < minor < last and minor not in seen:
            seen.add(minor)
            yield tag
