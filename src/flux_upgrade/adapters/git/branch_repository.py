"""A bare repository of our own that holds one branch of a server whole, without its history."""
# Paths are strings.
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flux_upgrade.edges.forges.git_repository import GitRepository, Signature
from flux_upgrade.edges.git_command import Settings
from flux_upgrade.errors import ForgeUnavailable

_SHA256_DIGITS = 64


@dataclass(frozen=True)
class Entry:
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

    def entries(self, commit: str) -> dict[str, Entry]:
        """Path → what is there, folders aside."""
        told = self._must("ls-tree", "-r", "-z", "-l", "--full-tree", commit).text
        found = {}
        for line in filter(None, told.split("\0")):
            head, _, path = line.partition("\t")
            mode, _, oid, size = head.split()
            found[path] = Entry(mode, oid, int(size) if size.isdigit() else 0)
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
