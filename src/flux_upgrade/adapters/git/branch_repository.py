"""One branch of a server: a bare repository that holds it whole, without history, and its files as a Tree."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flux_upgrade.adapters.git.git_command import Settings
from flux_upgrade.adapters.git.git_repository import GitRepository, Signature
from flux_upgrade.adapters.local.files import MAX_FILE, NAMED, SKIPPED
from flux_upgrade.model.errors import ForgeUnavailable, Unreadable
from flux_upgrade.model.text import one_line

_SHA256_DIGITS = 64


@dataclass(frozen=True)
class TreeEntry:
    """A file, a link or a submodule of a commit."""

    mode: str
    """As Git writes it: ``100644``."""
    oid: str
    size: int
    """Bytes; 0 for submodules."""

    @property
    def is_file(self) -> bool:
        """Whether it is neither link nor submodule."""
        return self.mode.startswith("100")


class BranchRepository(GitRepository):
    """The remote at ``url``, and what was fetched of it, all of the commit's files included."""

    def __init__(self, url: str, environment: Mapping[str, str], settings: Settings) -> None:
        super().__init__(url, environment, settings)
        self._scratch = os.path.join(self._temporary.name, "scratch")

    def begin(self, *, sha256: bool) -> str:
        """Make it where there is nothing to fetch; the oid of the tree without files."""
        self._make("0" * _SHA256_DIGITS if sha256 else "")
        return self._must("mktree").text  # of what it reads: nothing

    def entries(self, commit: str) -> dict[str, TreeEntry]:
        """Path → what is there, folders aside."""
        listing = self._must("ls-tree", "-r", "-z", "-l", "--full-tree", commit).text
        found = {}
        for line in filter(None, listing.split("\0")):
            head, _, path = line.partition("\t")
            mode, _, oid, size = head.split()
            found[path] = TreeEntry(mode, oid, int(size) if size.isdigit() else 0)
        return found

    def blobs(self, oids: set[str]) -> dict[str, bytes]:
        """Oid → content, in one call of Git."""
        found = self._git.blobs(sorted(oids), f"--git-dir={self._folder}")
        if set(found) != oids:
            raise ForgeUnavailable(
                "git does not give all files that it has fetched",
                hint="check the space of the temporary folder, and run flux-upgrade again",
            )
        return found

    def plain_commit(self, tree: str, parents: Sequence[str], message: str, by: Signature) -> str:
        """Make a commit with the message as it is; its oid."""
        with open(self._scratch, "w", encoding="utf-8") as file:
            file.write(message)
        words = [word for parent in parents for word in ("-p", parent)]
        return self._must("commit-tree", tree, *words, "-F", self._scratch, more=by.environment()).text


_AT_ONCE = 1024 * 1024
"""Bytes; candidates up to this size are read in one call of Git, larger ones singly."""


class CommitTree:
    """The files of ``commit`` (an oid) in ``repository``; with an empty one, no files."""

    def __init__(self, repository: BranchRepository, commit: str) -> None:
        self._repository = repository
        self._entries = repository.entries(commit) if commit else {}
        self._read: dict[str, bytes] = {}

    def entry(self, path: str) -> TreeEntry | None:
        """What is at ``path``; None: nothing, or a folder."""
        return self._entries.get(path)

    def has_folder(self, path: str) -> bool:
        return any(each.startswith(f"{path}/") for each in self._entries)

    def candidates(self) -> Iterator[str]:
        return (path for path, entry in self._files() if _is_candidate(path, entry))

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        return (path for path, _ in self._files() if path.endswith(suffixes))

    def read(self, path: str) -> bytes:
        """Links are not followed."""
        inside = posixpath.normpath(path)
        entry = self._entries.get(inside)
        why = _why_not(entry)
        if entry is None or why:
            raise Unreadable(
                f"{one_line(path)} cannot be read from the branch: {why}",
                hint="check that it is there, and what it is",
            )
        if not self._read:
            wanted = {each for path, each in self._files() if _is_candidate(path, each)}
            self._read = self._repository.blobs({each.oid for each in wanted if each.size <= _AT_ONCE})
        if entry.oid not in self._read:
            self._read |= self._repository.blobs({entry.oid})
        return self._read[entry.oid]

    def _files(self) -> Iterator[tuple[str, TreeEntry]]:
        """Files outside of the directories that no search enters, sorted."""
        for path in sorted(self._entries):
            entry = self._entries[path]
            if entry.is_file and SKIPPED.isdisjoint(path.split("/")[:-1]):
                yield path, entry


def _is_candidate(path: str, entry: TreeEntry) -> bool:
    if posixpath.basename(path) in NAMED:
        return True
    return path.endswith((".yaml", ".yml")) and entry.size <= MAX_FILE


def _why_not(entry: TreeEntry | None) -> str:
    """Why it cannot be read; empty where it can."""
    if entry is None:
        return "there is no such file"
    if not entry.is_file:
        return "it is a link or a submodule"
    return f"it is larger than {MAX_FILE} bytes" if entry.size > MAX_FILE else ""
