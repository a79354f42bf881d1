"""What releases serve: each read once, and only when it is asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flux_upgrade.manifests.crds import ReleaseApis, served_by
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model.versions import Version


class ServedApis:
    """What the releases of one source serve."""

    def __init__(self, regenerator: Regenerator) -> None:
        self._regenerator = regenerator
        self._served: dict[str, ReleaseApis] = {}

    def at(self, tag: str) -> ReleaseApis:
        """What a release serves. Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive, Unreadable."""
        if tag not in self._served:
            self._served[tag] = served_by(self._regenerator.manifests(tag))
        return self._served[tag]

    def schema(self, group: str, kind: str, version: str) -> Mapping[str, Any] | None:
        """Of a version of a kind, as the last release had it that served it; None: none ever did.

        Raises as ``at``.
        """
        for tag in self._last_of_minors():
            crd = self.at(tag).kinds.get((group, kind))
            found = crd.version(version) if crd is not None else None
            if found is not None and found.served:
                return found.schema
        return None

    def between(self, older: str, newer: str) -> Iterable[ReleaseApis]:
        """The last release of each minor between two, newest first; each read when it is come to."""
        low, high = Version(older).numbers[:2], Version(newer).numbers[:2]
        tags = [tag for tag in self._last_of_minors() if low < tag.numbers[:2] < high]
        return _LazyReleaseApis(self.at, tags)

    def _last_of_minors(self) -> Iterator[Version]:
        """The last patch of each minor, newest first: between patches, no version of an API goes."""
        seen = set()
        for tag in self._regenerator.stable_tags():
            minor = tag.numbers[:2]
            if minor not in seen:
                seen.add(minor)
                yield tag


@dataclass(frozen=True)
class _LazyReleaseApis(Iterable[ReleaseApis]):
    """Of some releases, as often as they are gone through."""

    at: Callable[[str], ReleaseApis]
    tags: Sequence[Version]

    def __iter__(self) -> Iterator[ReleaseApis]:
        return map(self.at, self.tags)
