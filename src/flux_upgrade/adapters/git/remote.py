"""The port Remote over Git: one branch of a repository on any server, read and committed to.

What is worked on is always a fresh fetch, in a temporary repository of ours: no checkout of
the user's has a part in it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping

from flux_upgrade.adapters.git import remotes
from flux_upgrade.adapters.git.git_command import unattended
from flux_upgrade.adapters.git.git_repository import GitRepository, RefUpdate, Signature, TreeEntry
from flux_upgrade.adapters.local.files import MAX_FILE, NAMED, SKIPPED
from flux_upgrade.model.errors import (
    ForbiddenByForge,
    ForgeUnavailable,
    Overtaken,
    RepositoryUnfit,
    Unread,
    Unreadable,
    WriteFailed,
)
from flux_upgrade.model.files import YAML, Listing
from flux_upgrade.model.text import one_line

_AT_ONCE = 1024 * 1024  # bytes; candidates up to this size are read in one call of Git, larger ones singly


class CommitFiles:
    """The files of ``commit`` (an oid) in ``repository``; with an empty one, no files."""

    def __init__(self, repository: GitRepository, commit: str) -> None:
        self._repository = repository
        self._entries = repository.entries(commit) if commit else {}
        self._read: dict[str, bytes] = {}

    def entry(self, path: str) -> TreeEntry | None:
        """What is at ``path``; None: nothing, or a folder."""
        return self._entries.get(path)

    def has_folder(self, path: str) -> bool:
        return any(each.startswith(f"{path}/") for each in self._entries)

    def listing(self) -> Listing:
        files = list(self._files())
        return Listing([path for path, entry in files if _is_candidate(path, entry)], [path for path, _ in files])

    def read(self, path: str) -> bytes:
        """Read a file; links are not followed. The first call fetches the blobs of all candidates."""
        name = posixpath.normpath(path)
        entry = self._entries.get(name)
        if entry is None:
            # Git has no file below a link or a submodule.
            is_below = any(name.startswith(f"{other}/") for other, each in self._entries.items() if not each.is_file)
            raise _unreadable(path, "the file does not exist", Unread.REFUSED if is_below else Unread.ABSENT)
        if not entry.is_file:
            raise _unreadable(path, "it is a link or a submodule", Unread.REFUSED)
        if entry.size > MAX_FILE:
            raise _unreadable(path, f"it is larger than {MAX_FILE} bytes", Unread.TOO_LARGE)
        if not self._read:
            wanted = {each for path, each in self._files() if _is_candidate(path, each)}
            self._read = self._repository.blobs({each.oid for each in wanted if each.size <= _AT_ONCE})
        if entry.oid not in self._read:
            self._read |= self._repository.blobs({entry.oid})
        return self._read[entry.oid]

    def chunks(self, path: str) -> Iterable[bytes]:
        return (self.read(path),)

    def _files(self) -> Iterator[tuple[str, TreeEntry]]:
        """Files outside of the directories that no search enters, sorted."""
        for path in sorted(self._entries):
            entry = self._entries[path]
            if entry.is_file and SKIPPED.isdisjoint(path.split("/")[:-1]):
                yield path, entry


def _is_candidate(path: str, entry: TreeEntry) -> bool:
    if posixpath.basename(path) in NAMED:
        return True
    return path.endswith(YAML) and entry.size <= MAX_FILE


def _unreadable(path: str, message: str, why: Unread) -> Unreadable:
    text = f"{one_line(path)} in the branch is not readable: {message}"
    return Unreadable(text, hint="check the path in the branch", why=why)


_HEADS = "refs/heads/"
_FILE = "100644"
_OTHER_OBJECTS = "hash algorithm"  # what Git says of a push with objects of another kind than the server's


class GitRemote:
    """``branch`` of a repository, which is fetched when it is made. To be closed.

    The token of ``server`` is sent to its origin alone. ``environment``: what Git is run with; ``now``:
    seconds since the epoch. Raises UsageError for an address that takes no token; ForgeUnavailable,
    ForbiddenByForge, and RepositoryUnfit where the repository has branches, and this is none of them: which
    one Flux follows is not for us to begin, and ``flux bootstrap`` does not either.
    """

    def __init__(
        self, server: remotes.RemoteAccess, branch: str, environment: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        self._server, self._branch, self._now = server, branch, now
        self._environment, self._settings = unattended(environment), server.settings(server.url)
        self._repository = self._new()
        try:
            self._head = self._fetched()
            self._tree = CommitFiles(self._repository, self._head)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._repository.close()

    # After a push, what was pushed.

    @property
    def head(self) -> str:
        return self._head

    @property
    def files(self) -> CommitFiles:
        return self._tree

    def require_room(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._mode(path)

    def push(self, files: Mapping[str, bytes], message: str) -> str:
        """Modes of files stay; nothing is pushed where nothing would change.

        Raises WriteFailed, before anything is made, for a path that a link or a folder is at.
        """
        contents = {path: (self._mode(path), content) for path, content in files.items()}
        if not self._head:
            self._head = self._begun(contents, message)
        else:
            before = self._repository.commit(self._head).tree
            tree = self._repository.tree(before, contents)
            if tree == before:
                return self._head
            self._head = self._pushed(tree, message)
        self._tree = CommitFiles(self._repository, self._head)
        return self._head

    def _new(self) -> GitRepository:
        return GitRepository(self._server.url, self._environment, self._settings)

    def _fetched(self) -> str:
        ref = _HEADS + self._branch
        refs = self._repository.refs([f"{_HEADS}*"])
        if ref in refs.oids:
            if not self._repository.fetch({ref: refs.oids[ref]}, is_whole=True):
                raise Overtaken("the branch was deleted while it was fetched", hint="run flux-upgrade again")
            return self._repository.oid(ref)
        if any(name.startswith(_HEADS) for name in refs.oids):
            wanted = one_line(self._branch)
            begin = f"create the branch with `git push origin HEAD:{_HEADS}{wanted}`"
            if refs.head:
                begin += f", or use an existing one: --branch {one_line(refs.head)}"
            raise RepositoryUnfit(f"{remotes.masked(self._server.url)} has no branch {wanted}", hint=begin)
        return ""

    def _begun(self, contents: Mapping[str, tuple[str, bytes]], message: str) -> str:
        """The first commit. Nothing tells beforehand which kind of objects an empty repository takes."""
        try:
            return self._first(contents, message, sha256=False)
        except ForgeUnavailable as error:
            if _OTHER_OBJECTS not in error.message:
                raise
        self._repository.close()
        self._repository = self._new()
        return self._first(contents, message, sha256=True)

    def _first(self, contents: Mapping[str, tuple[str, bytes]], message: str, *, sha256: bool) -> str:
        tree = self._repository.tree(self._repository.begin(sha256=sha256), contents)
        return self._pushed(tree, message)

    def _pushed(self, tree: str, message: str) -> str:
        parents = [self._head] if self._head else []
        by = Signature(self._server.name, self._server.email, int(self._now()))
        oid = self._repository.write(tree, parents, message, by)
        try:
            self._repository.push(RefUpdate(oid, _HEADS + self._branch, self._head))
        except ForbiddenByForge as error:
            if not self._head:  # no pull request without a branch to merge into
                raise
            raise ForbiddenByForge(error.message, hint=f"{error.hint}; or pass --pull-request") from error
        return oid

    def _mode(self, path: str) -> str:
        entry, above = self._tree.entry(path), path
        while above := above.rpartition("/")[0]:
            if self._tree.entry(above) is not None:
                raise _in_the_way(above)
        if self._tree.has_folder(path) if entry is None else not entry.is_file:
            raise _in_the_way(path)
        return _FILE if entry is None else entry.mode


class ReadOnlyRemote(GitRemote):
    """That of a dry run."""

    def push(self, files: Mapping[str, bytes], message: str) -> str:
        """Push nothing: the head stays where it is."""
        del files, message
        return self.head


def _in_the_way(path: str) -> WriteFailed:
    return WriteFailed(
        f"{one_line(path)} is not a plain file on the branch; nothing was written",
        hint="replace the link, directory or submodule first, or set another --path",
    )
