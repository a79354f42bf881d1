"""The files of a repository at one moment: each is opened once, and what was not read is known."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from flux_upgrade.model.errors import Unread, Unreadable
from flux_upgrade.model.files import FilesInMemory, FileSource, Listing
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.file import File, Parsed
from flux_upgrade.snapshot.kustomize_files import NAMES, is_kustomization, patches_in
from flux_upgrade.snapshot.yaml_places import Object

_MOST_KEPT = 64 * 1024 * 1024  # Bytes; past that, only files that mention Flux are kept


class Location(NamedTuple):
    """The place of a snapshot in its checkout."""

    root: str = ""  # The real directory of the checkout; without one, of the snapshot
    part: str = ""  # Path from the root to the snapshot: `deploy/`; empty for the root
    is_file: bool = False  # Whether it is one file, and what that refers to
    is_checkout: bool = False
    is_sparse: bool = False  # Whether files of the commit may not be there
    head: str = ""  # Oid of the commit that is checked out; empty if it is unknown


_NOWHERE = Location()
_SYNCS = ("gotk-sync.yaml", "gotk-sync.yml")
_NO_BRANCH = "no gotk-sync.yaml has a branch"
_SOURCE = b"GitRepository"


class Snapshot:
    """The files of ``source``. Nothing else lists or opens files of a repository.

    ``repository``: that of the whole repository, if this one is a part of it. ``uncommitted``: asks Git.
    """

    def __init__(
        self,
        source: FileSource,
        location: Location = _NOWHERE,
        repository: Snapshot | None = None,
        uncommitted: Callable[[], frozenset[str] | Unknown] = frozenset,
    ) -> None:
        self.location, self.repository = location, repository or self
        self._uncommitted = uncommitted
        self._source = source
        self._contents: dict[str, bytes | Unreadable] = {}
        self._files: dict[str, File] = {}
        self._parsed = Parsed()
        self._kept = 0

    @property
    def is_whole(self) -> bool:
        """Whether it has all files of the repository."""
        return self.repository is self and not self.location.is_sparse

    def candidates(self, directory: str = "") -> Iterator[str]:
        """Paths of the YAML files in a directory and below it, sorted.

        A directory that cannot be listed is one: reading it says why.
        """
        paths = self._listing.candidates
        if directory:
            paths = paths[bisect_left(paths, f"{directory}/") : bisect_left(paths, f"{directory}0")]  # "0" follows "/"
        return iter(paths)

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        """Paths of the files of any size and content whose names end with one of ``suffixes``, sorted."""
        return (path for path in self._listing.files if path.endswith(suffixes))

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises Unreadable."""
        content = self._contents.get(path)
        if content is None:
            content = self._opened(path)
        if isinstance(content, Unreadable):
            raise Unreadable(content.message, hint=content.hint, why=content.why)
        return content

    def chunks(self, path: str) -> Iterable[bytes]:
        """Read a file that is too large for ``read`` in pieces. Raises Unreadable, also between two pieces."""
        return self._source.chunks(path)

    def file(self, path: str) -> File:
        """Return a file. Raises Unreadable."""
        known = self._files.get(path)
        if known is None:
            known = File(path, self.read(path), self._parsed)
            if path in self._contents:
                self._files[path] = known
        return known

    def at(self, path: str) -> File | None:
        """Return a file; None if it is absent, or not read: ``unread`` has the reason then. Of an empty path, None."""
        try:
            return self.file(path) if path else None
        except Unreadable:
            return None

    def content(self, path: str) -> bytes | None:
        """Return the content of a file; None as in ``at``."""
        file = self.at(path)
        return None if file is None else file.content

    @property
    def unread(self) -> Mapping[str, Unread]:
        """Path → why a file, or a document of it, was not read, of all that was asked for so far."""
        refused = {path: each.why for path, each in self._contents.items() if isinstance(each, Unreadable)}
        if self.location.is_sparse:
            refused = {path: Unread.NOT_CHECKED_OUT if why is Unread.ABSENT else why for path, why in refused.items()}
        return {path: why for path, why in refused.items() if why is not Unread.ABSENT} | self._parsed.problems

    @cached_property
    def uncommitted(self) -> frozenset[str] | Unknown:
        """Paths from the root that differ from the commit that is checked out, new files included."""
        return self._uncommitted()

    def followed_branch(self, path: str, is_this_repository: Callable[[str], bool] | None = None) -> str | Unknown:
        """Return the branch that Flux follows in the cluster of an installation at ``path``.

        The file itself has it, or the sync manifest that `flux bootstrap` writes next to it, or else all of those.
        If there is none, the sources whose URL ``is_this_repository`` have it.
        """
        directory, syncs = posixpath.dirname(path), list(self.named(_SYNCS))
        beside = [each for each in syncs if posixpath.dirname(each) == directory]
        branches: set[str] = set()
        for paths in ([path], beside, syncs):
            branches = {branch for file in filter(None, map(self.at, paths)) for branch in _branches(file)}
            if len(branches) == 1:
                return branches.pop()
        if not branches and is_this_repository is not None:
            branches = set(self._branches_by_url(is_this_repository))
            if len(branches) == 1:
                return branches.pop()
        names = ", ".join(sorted(branches))
        return Unknown(f"clusters follow different branches: {names}" if names else _NO_BRANCH)

    def _branches_by_url(self, is_this_repository: Callable[[str], bool]) -> Iterator[str]:
        """Yield the branches in the sources of this repository, whatever their files are called."""
        for file in filter(None, map(self.at, self.candidates())):
            if _SOURCE in file.content and b"branch:" in file.content:
                for source in file.readable_where(lambda text: _SOURCE.decode() in text):
                    branch, url = source.text_at("spec", "ref", "branch"), source.text_at("spec", "url")
                    if source.text_at("kind") == _SOURCE.decode() and branch and url and is_this_repository(url):
                        yield branch

    def kustomizations(self, mark: bytes = b"") -> Iterator[tuple[File, Object]]:
        """Yield the kustomizations in files that contain ``mark``, with their files, in the order of the paths."""
        for file in filter(None, map(self.at, self.named(NAMES))):
            if mark in file.content:
                yield from ((file, each) for each in file.readable if is_kustomization(file.path, each))

    @cached_property
    def flux_kustomizations(self) -> tuple[tuple[File, Object], ...]:
        """All Kustomizations of kustomize-controller, each with its file, in the order of the paths."""
        from flux_upgrade.model.kubernetes_objects import KUSTOMIZATION  # late: a run with nothing to do needs none

        group = f"{KUSTOMIZATION.group}/"
        files = (
            file for file in map(self.at, self.candidates()) if file is not None and group.encode() in file.content
        )
        return tuple(
            (file, each)
            for file in files
            for each in file.readable_where(lambda text: group in text)
            if each.text_at("kind") == KUSTOMIZATION.name and each.text_at("apiVersion").startswith(group)
        )

    @cached_property
    def kustomization_folders(self) -> frozenset[str]:
        """Folders with a ``kustomization.yaml``, whatever is in it."""
        return frozenset(folder for folder, name in map(posixpath.split, self.named(NAMES)) if name in NAMES)

    @cached_property
    def patch_files(self) -> frozenset[str]:
        """Paths of the files that a kustomization takes for patches."""
        known = ((posixpath.dirname(file.path), each) for file, each in self.kustomizations(b"patch"))
        return frozenset(path for folder, each in known for path in patches_in(folder, each))

    @cached_property
    def _listing(self) -> Listing:
        return self._source.listing()

    def _opened(self, path: str) -> bytes | Unreadable:
        try:
            content = self._source.read(path)
        except Unreadable as error:
            # The error itself knows the frames that it passed, and would keep what is in them.
            refused = self._contents[path] = Unreadable(error.message, hint=error.hint, why=error.why)
            return refused
        if self._kept <= _MOST_KEPT or b"flux" in content:
            self._kept += len(content)
            self._contents[path] = content
        return content


def _branches(file: File) -> Iterator[str]:
    """Yield the branches in Flux's sources of Git, and in what the flux-operator makes such a source of."""
    is_sync = file.path.endswith(_SYNCS)
    if not is_sync and b"FluxInstance" not in file.content:
        return
    for source in file.readable_where(lambda text: is_sync or "FluxInstance" in text):
        kind, branch = source.text_at("kind"), ""
        if kind == "GitRepository":
            branch = source.text_at("spec", "ref", "branch")
        elif kind == "FluxInstance" and source.text_at("spec", "sync", "kind") == "GitRepository":
            branch = source.text_at("spec", "sync", "ref").removeprefix("refs/heads/")
        if branch and not branch.startswith("refs/"):
            yield branch


def in_memory(files: Mapping[str, bytes]) -> Snapshot:
    """Make a snapshot of path → content."""
    return Snapshot(FilesInMemory(files))
