"""The CRDs of Flux's releases, each read once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.impact.impact import Refused, Stored
from flux_upgrade.impact.served_apis import upgrade_path
from flux_upgrade.impact.stored_versions.refused import stored
from flux_upgrade.manifests.crds import Crd, ReleaseApis, crds_of, served_by
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.versions import ReleaseManifests, Version

DEFAULT = ("source-controller", "kustomize-controller", "helm-controller", "notification-controller")
IMAGE = ("image-reflector-controller", "image-automation-controller")
ALL = (*DEFAULT, *IMAGE)

Minor = tuple[int, int]
Pair = tuple[str, str]
"""Kind and version."""


def pairs(refused: Sequence[Refused]) -> set[Pair]:
    return {(each.kind, each.version) for each in refused}


def minor_of(tag: str) -> Minor:
    major, minor, _ = Version(tag).numbers
    return major, minor


class Real:
    """The CRDs of each release, read once."""

    def __init__(self, folder: Path) -> None:
        self._releases = DirectoryReleases(str(folder))
        self.stable = [each.tag for each in self._releases.list() if not each.prerelease and "-" not in each.tag]
        self.last: dict[Minor, str] = {}
        """The last release of each minor."""
        for tag in sorted(self.stable, key=Version):
            self.last[minor_of(tag)] = tag
        self._known: dict[str, Crd] = {}
        """By their text."""
        self.manifests = cache(self._releases.manifests)
        self.content = cache(self._content)
        self.crds = cache(self._crds)
        self.served = cache(self._served)

    def _content(self, tag: str, components: tuple[str, ...]) -> bytes:
        """As ``flux install`` would have it, as far as CRDs are concerned."""
        found: ReleaseManifests = self.manifests(tag)
        files = (found.files[f"{each}.yaml"] for each in components if f"{each}.yaml" in found.files)
        return "---\n".join([f"---\n# Flux Version: {tag}\n", *files]).encode()

    def _crds(self, tag: str, components: tuple[str, ...]) -> tuple[Crd, ...]:
        return tuple(map(self._shared, crds_of(parse(self.content(tag, components)).documents).values()))

    def _served(self, tag: str) -> ReleaseApis:
        found = served_by(self.manifests(tag))
        return ReleaseApis(tag, {name: self._shared(crd) for name, crd in found.crds.items()})

    def _shared(self, crd: Crd) -> Crd:
        """Most releases have most of their CRDs in common with the one before."""
        return self._known.setdefault(crd.document.text, crd)

    def stored(
        self, history: Sequence[str], target: str, components: tuple[str, ...], migrated: Sequence[str] = ()
    ) -> Stored:
        past = tuple(
            FileRevision(f"{number:040}", f"20{number:02}-01-01T00:00:00Z", self.content(tag, components))
            for number, tag in enumerate(history)
        )
        return stored(FileRevisions(past), past[-1].content, self.crds(target, components), migrated)

    def upgrade_path(self, current: str, target: str, components: tuple[str, ...]) -> tuple[str, ...] | None:
        names = {each.name for tag in (current, target) for each in self.crds(tag, components)}
        return upgrade_path(Version(current), Version(target), self.stable, self.served, names, ())
