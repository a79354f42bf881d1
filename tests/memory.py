"""Ports without a disk: what a test holds in its hands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import written_release

from flux_upgrade.errors import ReleaseNotFound, Unreadable
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model import Release, ReleaseManifests


class MemoryTree:
    """The port Tree over a mapping."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def candidates(self) -> Iterator[str]:
        yield from self.named((".yaml", ".yml"))

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        yield from sorted(path for path in self.files if path.endswith(suffixes))

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise Unreadable(f"no {path}")
        return self.files[path]

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        """The port Worktree, too."""
        assert old in (None, self.files[path])
        self.files[path] = content


class NoFlux:
    """The port FluxCli on a machine without one."""

    def version(self) -> str:
        return ""

    def install_export(self, flags: Sequence[str]) -> str:
        raise AssertionError(flags)


class WrittenReleases:
    """The port Releases over the releases of the demo."""

    def __init__(self, tags: Sequence[str] = written_release.TAGS) -> None:
        self.files = {tag: written_release.files(tag) for tag in tags}
        self.published_texts: dict[str, str] = {}
        self.hashes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []

    def list(self) -> tuple[Release, ...]:
        return tuple(Release(tag, prerelease="-" in tag) for tag in self.files)

    def manifests(self, tag: str) -> ReleaseManifests:
        self.asked.append(tag)
        if tag not in self.files:
            raise ReleaseNotFound(f"there is no release {tag}", hint="ask for another")
        return ReleaseManifests(tag, self.files[tag], verified=True)

    def published(self, tag: str) -> str | None:
        return self.published_texts.get(tag)

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        del paths
        return self.hashes.get(tag)


def regenerator(releases: WrittenReleases | None = None) -> Regenerator:
    """Over the written releases, without a Flux CLI."""
    return Regenerator(releases or WrittenReleases(), NoFlux())


def rendered(options: InstallOptions) -> str:
    """A manifest of a written release."""
    return regenerator().regenerate(options).text
