"""Ports without a disk: what a test holds in its hands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256

import written_release

from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound, SourceUnavailable, WriteFailed
from flux_upgrade.model.file_history import FileRevisions, Mentions
from flux_upgrade.model.files import FilesInMemory
from flux_upgrade.model.versions import Release, ReleaseManifests, Version
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.snapshot.snapshot import Snapshot


class _Files(dict[str, bytes]):
    """Path → content; a change makes the snapshot of them a new one."""

    def __init__(self, files: Mapping[str, bytes], changed: Callable[[], None]) -> None:
        super().__init__(files)
        self._changed = changed

    def __setitem__(self, path: str, content: bytes) -> None:
        super().__setitem__(path, content)
        self._changed()

    def __delitem__(self, path: str) -> None:
        super().__delitem__(path)
        self._changed()


class MemoryTree(Snapshot):
    """A snapshot of a mapping, which a test may change."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = _Files(files, self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        files = self.files
        self.__dict__.clear()
        self.files = files
        super().__init__(FilesInMemory(files))

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        """The port Worktree, too."""
        assert old in (None, self.files[path])
        self.files[path] = content

    def write_all(self, files: Mapping[str, bytes], before: Mapping[str, bytes]) -> None:
        kept = dict(self.files)
        try:
            for path, content in files.items():
                self.write(path, content, before[path])
        except WriteFailed:
            self.files = _Files(kept, self._refresh)
            self._refresh()
            raise

    def require_room(self, paths: Iterable[str]) -> None:
        assert not any(self.named(tuple(f"{each}/" for each in paths)))

    def make(self, path: str, content: bytes) -> None:
        assert path not in self.files
        self.files[path] = content

    def remove(self, path: str, content: bytes) -> None:
        if self.files.get(path) == content:
            del self.files[path]


_NONE = Mentions()


class MemoryHistory:
    """The port FileHistory over a mapping: path → what it was, oldest first."""

    def __init__(self, pasts: Mapping[str, FileRevisions] = {}, mentions: Mentions = _NONE) -> None:
        self._pasts = pasts
        self._mentions = mentions
        self.asked: list[str] = []
        self.searched: list[tuple[str, ...]] = []

    @property
    def is_local(self) -> bool:
        return True

    def of(self, path: str) -> FileRevisions:
        self.asked.append(path)
        return self._pasts.get(path, FileRevisions())

    def mentions(self, versions: Sequence[str]) -> Mentions:
        self.searched.append(tuple(versions))
        return self._mentions


class NoFlux:
    """The port FluxCli on a machine without one."""

    def version(self) -> str:
        return ""

    def install_export(self, flags: Sequence[str]) -> str:
        raise AssertionError(flags)


class WrittenReleases:
    """The port Releases over the releases of the demo."""

    def __init__(
        self, tags: Sequence[str] = written_release.TAGS, apis: written_release.Apis = written_release.served
    ) -> None:
        self.files = {tag: written_release.files(tag, apis) for tag in tags}
        self.published_texts: dict[str, str] = {}
        self.hashes: dict[str, dict[str, str]] = {}
        self.commits: dict[str, str] = {}
        self.asked: list[str] = []

    def list(self) -> tuple[Release, ...]:
        return tuple(Release(Version(tag), prerelease="-" in tag) for tag in self.files)

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

    def commit(self, tag: str) -> str:
        return self.commits.get(tag, "")


def regenerator(releases: WrittenReleases | None = None) -> Regenerator:
    """Over the written releases, without a Flux CLI."""
    return Regenerator(releases or WrittenReleases(), NoFlux())


def rendered(options: InstallOptions) -> str:
    """A manifest of a written release."""
    return regenerator().regenerate(options).text


class MemoryArtifacts:
    """The port Artifacts over a mapping: ``repository:tag`` → what a case states of it."""

    def __init__(self, stated: Mapping[str, Mapping[str, object]] = {}, unreachable: Sequence[str] = ()) -> None:
        self._stated, self._unreachable = stated, tuple(unreachable)
        self.asked: list[str] = []

    def digest(self, repository: str, reference: str) -> str | None:
        found = self._find(repository, reference)
        return None if found is None else str(found["digest"])

    def digests(self, references: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str | FluxUpgradeError | None]:
        return {each: self._answer(*each) for each in references}

    def annotations(self, repository: str, reference: str) -> Mapping[str, str] | None:
        found = self._find(repository, reference)
        if found is None:
            return None
        revision = found.get("revision")
        return {} if revision is None else {"org.opencontainers.image.revision": str(revision)}

    def tags(self, repository: str) -> tuple[str, ...]:
        self._ask(repository)
        return tuple(name.rpartition(":")[2] for name in self._stated if name.rpartition(":")[0] == repository)

    def listing(self, repository: str, reference: str) -> tuple[str, ...] | None:
        found = self._find(repository, reference)
        if found is None:
            return None
        files = found.get("files", ())
        assert isinstance(files, list | tuple)
        return tuple(sorted(map(str, files)))

    def _answer(self, repository: str, reference: str) -> str | FluxUpgradeError | None:
        try:
            return self.digest(repository, reference)
        except FluxUpgradeError as error:
            return error

    def _find(self, repository: str, reference: str) -> Mapping[str, object] | None:
        self._ask(f"{repository}:{reference}")
        for name, stated in self._stated.items():
            owner, _, tag = name.rpartition(":")
            if owner == repository and reference in (tag, stated["digest"]):
                return stated
        return None

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what.startswith(self._unreachable or ("\0",)):
            raise SourceUnavailable(f"{what} is unreachable", hint="run again later")


class EveryImage(MemoryArtifacts):
    """A world in which every tag is there, each with a digest of its own."""

    def digest(self, repository: str, reference: str) -> str | None:
        self._ask(f"{repository}:{reference}")
        return digest_of(f"{repository}:{reference}")


def digest_of(name: str) -> str:
    """The digest that ``EveryImage`` has for ``repository:tag``."""
    return f"sha256:{sha256(name.encode()).hexdigest()}"


class MemoryCharts:
    """The port Charts over a mapping: repository → chart → version → ``appVersion``."""

    def __init__(
        self, stated: Mapping[str, Mapping[str, Mapping[str, str]]] = {}, unreachable: Sequence[str] = ()
    ) -> None:
        self._stated, self._unreachable = stated, tuple(unreachable)

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        if repository.startswith(self._unreachable or ("\0",)):
            raise SourceUnavailable(f"{repository} is unreachable", hint="run again later")
        return self._stated.get(repository, {}).get(chart, {})
