"""The port Tree over one commit, with the rules of ``files.DirectoryTree``; nothing is checked out."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from flux_upgrade.edges.branch_repository import BranchRepository, Entry
from flux_upgrade.edges.files import MAX_FILE, NAMED, SKIPPED
from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import Unreadable

_AT_ONCE = 1024 * 1024
"""Bytes; candidates up to this size are read in one call of Git, larger ones singly."""


class CommitTree:
    """The files of ``commit`` (an oid) in ``repository``; with an empty one, no files."""

    def __init__(self, repository: BranchRepository, commit: str) -> None:
        self._repository = repository
        self._entries = repository.entries(commit) if commit else {}
        self._read: dict[str, bytes] = {}

    def entry(self, path: str) -> Entry | None:
        """What is at ``path``; None: nothing, or a folder."""
        return self._entries.get(path)

    def has_folder(self, path: str) -> bool:
        """Whether there is anything below ``path``."""
        return any(each.startswith(f"{path}/") for each in self._entries)

    def candidates(self) -> Iterator[str]:
        """See the port."""
        return (path for path, entry in self._files() if _is_candidate(path, entry))

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        """See the port."""
        return (path for path, _ in self._files() if path.endswith(suffixes))

    def read(self, path: str) -> bytes:
        """See the port. Links are not followed."""
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

    def _files(self) -> Iterator[tuple[str, Entry]]:
        """Files that are nobody else's, sorted."""
        for path in sorted(self._entries):
            entry = self._entries[path]
            if entry.is_file and SKIPPED.isdisjoint(path.split("/")[:-1]):
                yield path, entry


def _is_candidate(path: str, entry: Entry) -> bool:
    if posixpath.basename(path) in NAMED:
        return True
    return path.endswith((".yaml", ".yml")) and entry.size <= MAX_FILE


def _why_not(entry: Entry | None) -> str:
    """Why it cannot be read; empty where it can."""
    if entry is None:
        return "there is no such file"
    if not entry.is_file:
        return "it is a link or a submodule"
    return f"it is larger than {MAX_FILE} bytes" if entry.size > MAX_FILE else ""
