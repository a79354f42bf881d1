"""A bare repository of our own, for the length of a run: what is fetched, read, made and pushed.

The user's checkout lends its objects, where it has them all; its refs, index and
files are never touched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from tempfile import TemporaryDirectory

from flux_upgrade.adapters.git import push_answer, remotes
from flux_upgrade.adapters.git.git_command import GitCommand, GitResult, Settings
from flux_upgrade.adapters.local.files import MAX_FILE, read_regular
from flux_upgrade.model.errors import ForgeUnavailable, Overtaken
from flux_upgrade.model.forge import BaseFile, Commit
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

DEPTH = 50  # commits of each branch that are fetched where the checkout lends nothing
_SHA256_DIGITS = 64
_NAME = "flux-upgrade"  # of the remote: one that nobody has in a configuration of their own
_HISTORY = 5
_RECENT = 20


@dataclass(frozen=True)
class Refs:
    head: str  # its default branch; empty where it does not tell
    oids: Mapping[str, str]  # full names of refs → oids


@dataclass(frozen=True)
class Signature:
    """Who commits, and when (seconds since the epoch, UTC)."""

    name: str
    email: str
    when: int

    def environment(self) -> dict[str, str]:
        return {
            f"GIT_{role}_{part}": text
            for role in ("AUTHOR", "COMMITTER")
            for part, text in (("NAME", self.name), ("EMAIL", self.email), ("DATE", f"@{self.when} +0000"))
        }


class RefUpdate(NamedTuple):
    """What a push makes of ``ref``: ``oid``, or nothing with an empty one."""

    oid: str
    ref: str
    before: str | None  # what it must be at, empty: not be there; None: anything, or a ref that is only pretended


class TreeEntry(NamedTuple):
    """A file, a link or a submodule of a commit; ``mode`` as Git writes it, ``size`` in bytes."""

    mode: str
    oid: str
    size: int

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")


class GitRepository:
    """The remote at ``url``, and the repository of ours that its commits are fetched into.

    ``lent`` is a folder of objects that has all that its commits need, or empty.
    ``calls`` counts the calls that went to the server.
    """

    def __init__(self, url: str, environment: Mapping[str, str], settings: Settings, lent: str = "") -> None:
        self.url = url
        self.calls = 0
        self._lent = lent
        self._temporary: TemporaryDirectory[str] = TemporaryDirectory(prefix="flux-upgrade-")
        self._folder = os.path.join(self._temporary.name, "repository.git")
        self._environment = environment
        self._settings: Settings = (
            *settings,
            (f"remote.{_NAME}.promisor", "true"),
            (f"remote.{_NAME}.partialCloneFilter", "blob:none"),
            ("pack.window", "0"),  # else a push fetches old blobs, to send differences from them
        )

    @cached_property
    def _git(self) -> GitCommand:
        """Git, for which the server's address has no login."""
        reached = self._command((f"remote.{_NAME}.url", self.url))
        # A configuration may put one into it (`url.<base>.insteadOf`).
        url = reached.output("ls-remote", "--get-url", _NAME) or self.url
        plain, login = remotes.without_login(url)
        if plain == url:
            return reached
        # A token that is set counts more.
        sent = {key.lower() for key, _ in self._settings}
        login = tuple((key, value) for key, value in login if key.lower() not in sent)
        return self._command((f"remote.{_NAME}.url", plain), *login)

    def _command(self, *settings: tuple[str, str]) -> GitCommand:
        return GitCommand(self._temporary.name, self._environment, self._settings + settings)

    def close(self) -> None:
        self._temporary.cleanup()

    def refs(self, patterns: Sequence[str]) -> Refs:
        """What the server has of ``patterns``, and which branch is its default."""
        self.calls += 1
        listing = self._check(self._git.run("ls-remote", "--symref", _NAME, "HEAD", *patterns))
        head, oids = "", {}
        for line in listing.text.splitlines():
            what, _, name = line.partition("\t")
            if what.startswith("ref: ") and name == "HEAD":
                head = what.removeprefix("ref: ").removeprefix("refs/heads/")
            elif name:
                oids[name] = what
        return Refs(head, oids)

    def fetch(self, refs: Mapping[str, str], *, is_whole: bool = False) -> bool:
        """Fetch refs (with their oids). False: one of them has gone in the meantime.

        ``is_whole``: with the content of all files, and without history.
        """
        self._make(next(iter(refs.values())))
        depth = [] if self._lent else [f"--depth={DEPTH}", "--filter=blob:none"]
        if is_whole:
            depth = ["--depth=1", "--no-filter"]
        ours = [f"+{name}:{_own(name)}" for name in refs]
        quiet = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        ran = self._run("fetch", *quiet, *depth, _NAME, *ours)
        self.calls += 1
        if ran.status and "couldn't find remote ref" in ran.err:
            return False
        self._check(ran)
        return True

    def oid(self, name: str) -> str:
        return self._must("rev-parse", "--verify", "--end-of-options", _own(name)).text

    def commit(self, oid: str) -> Commit:
        """A commit, as it was written: a shallow repository hides parents."""
        head, _, message = self._must("cat-file", "commit", oid).text.partition("\n\n")
        lines = head.splitlines()
        headers = [line.split(" ", 1) for line in lines if line.startswith(("tree ", "parent "))]
        tree = next(value for key, value in headers if key == "tree")
        parents = tuple(value for key, value in headers if key == "parent")
        return Commit(oid, tree, parents, message.encode(errors="surrogateescape").decode(errors="replace"))

    def made_at(self, oid: str) -> int:
        """When a commit was made, in seconds since the epoch."""
        return int(self._must("log", "-1", "--format=%ct", oid).text)

    def files(self, oid: str, paths: Sequence[str]) -> dict[str, BaseFile]:
        """What is at ``paths`` in a commit, and the last commits that touched them."""
        found = {path: BaseFile("") for path in paths}
        entries = self._must("ls-tree", "-z", "--full-tree", oid, "--", *paths).text if paths else ""
        for entry in filter(None, entries.split("\0")):
            head, _, path = entry.partition("\t")
            mode, kind, blob = head.split(" ")
            if kind == "blob" and path in found:
                found[path] = BaseFile(blob, mode, self._history(oid, path))
        return found

    def recent(self, oid: str) -> tuple[str, ...]:
        return tuple(self._must("log", f"-{_RECENT}", "--format=%s", oid).text.splitlines())

    def last_change(self, oid: str, paths: Sequence[str]) -> tuple[str, int]:
        """By first parents, the last commit that changed one of the files, and when it was made (epoch seconds).

        In a shallow history that is its oldest commit, should it have changed none.
        """
        found = self._must("log", "-1", "--first-parent", "--format=%H %ct", oid, "--", *paths).text
        commit, _, moment = (found or self._must("log", "-1", "--format=%H %ct", oid).text).partition(" ")
        return commit, int(moment)

    def is_ancestor(self, ancestor: str, oid: str) -> bool:
        """Whether ``ancestor`` is in the history of ``oid``, as far as it was fetched."""
        return self._run("merge-base", "--is-ancestor", ancestor, oid).status == 0

    def tree(self, base: str, files: Mapping[str, tuple[str, bytes]]) -> str:
        """Write ``base`` with ``files`` over it; the oid of the new tree.

        Raises Overtaken where ``base`` has not been fetched.
        """
        if self._run("read-tree", base).status:
            raise Overtaken("the base branch was not fetched", hint="run flux-upgrade again")
        scratch = os.path.join(self._temporary.name, "content")
        for path, (mode, content) in files.items():
            with open(scratch, "wb") as file:
                file.write(content)
            blob = self._must("hash-object", "-w", "--no-filters", "--", scratch).text
            self._must("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
        return self._must("write-tree", "--missing-ok").text

    def begin(self, *, sha256: bool) -> str:
        """Make it where there is nothing to fetch; the oid of the tree without files."""
        self._make("0" * _SHA256_DIGITS if sha256 else "")
        return self._must("mktree").text  # of what it reads: nothing

    def entries(self, commit: str) -> dict[str, TreeEntry]:
        listing = self._must("ls-tree", "-r", "-z", "-l", "--full-tree", commit).text
        found = {}
        for line in filter(None, listing.split("\0")):
            head, _, path = line.partition("\t")
            mode, _, oid, size = head.split()
            found[path] = TreeEntry(mode, oid, int(size) if size.isdigit() else 0)
        return found

    def blobs(self, oids: set[str]) -> dict[str, bytes]:
        found = self._git.blobs(sorted(oids), f"--git-dir={self._folder}")
        if set(found) != oids:
            raise ForgeUnavailable(
                "git did not return all fetched files",
                hint="check the free space of the temporary directory, then run flux-upgrade again",
            )
        return found

    def write(self, tree: str, parents: Sequence[str], message: str, by: Signature) -> str:
        """Make a commit with the message as it is; its oid."""
        scratch = os.path.join(self._temporary.name, "content")
        with open(scratch, "w", encoding="utf-8") as file:
            file.write(message)
        words = [word for parent in parents for word in ("-p", parent)]
        return self._must("commit-tree", tree, *words, "-F", scratch, more=by.environment()).text

    def push(self, *updates: RefUpdate, options: Sequence[str] = ()) -> push_answer.PushAnswer:
        """Make all the updates, or none of them. Raises Overtaken, ForbiddenByForge, ForgeUnavailable."""
        lease = [f"--force-with-lease={each.ref}:{each.before}" for each in updates if each.before is not None]
        atomic = ["--atomic"] if len(updates) > 1 else []
        push_options = [f"--push-option={option}" for option in options]
        refspecs = [f"{each.oid}:{each.ref}" for each in updates]
        self.calls += 1
        ran = self._run("push", "--porcelain", "--no-verify", *atomic, *lease, *push_options, _NAME, *refspecs)
        out = ran.out.decode(errors="replace")
        if ran.status:
            raise push_answer.refused(out, ran.err, self.url)
        return push_answer.parsed_answer(out, ran.err, self.url)

    def _make(self, oid: str) -> None:
        if os.path.isfile(os.path.join(self._folder, "HEAD")):
            return
        kind = "sha256" if len(oid) == _SHA256_DIGITS else "sha1"
        options = ("--quiet", "--bare", "--template=", f"--object-format={kind}")
        self._check(self._git.run("init", *options, self._folder))
        if self._lent:
            with open(os.path.join(self._folder, "objects", "info", "alternates"), "w") as file:
                file.write(f"{self._lent}\n")

    def _history(self, oid: str, path: str) -> tuple[str, ...]:
        """Commits at the edge of a shallow history seem to add every file: they are left out."""
        entries = self._must("log", f"-{_HISTORY + 1}", "-z", "--format=%H%n%B", oid, "--", path).text
        commits = (entry.partition("\n") for entry in entries.split("\0") if entry)
        edge: set[str] = set()
        with suppress(FileNotFoundError):
            edge = set(read_regular(os.path.join(self._folder, "shallow"), MAX_FILE).decode().split())
        kept = [message.strip() for commit, _, message in commits if commit.strip() not in edge]
        return tuple(kept[:_HISTORY])

    def _run(self, *arguments: str, more: Mapping[str, str] | None = None) -> GitResult:
        return self._git.run(f"--git-dir={self._folder}", *arguments, more=more)

    def _must(self, *arguments: str, more: Mapping[str, str] | None = None) -> GitResult:
        """Run what fails only where something is broken on this machine, or was not fetched."""
        ran = self._run(*arguments, more=more)
        if ran.status:
            why = one_line(next(iter(ran.err.strip().splitlines()), ""))
            raise ForgeUnavailable(
                f"git {arguments[0]} failed in the temporary repository: {why}",
                hint="check the free space of the temporary directory, and that git is 2.38 or later",
            )
        return ran

    def _check(self, ran: GitResult) -> GitResult:
        if ran.status:
            raise push_answer.refused("", ran.err, self.url)
        return ran


def _own(ref: str) -> str:
    return f"refs/server/{ref.removeprefix('refs/')}"
