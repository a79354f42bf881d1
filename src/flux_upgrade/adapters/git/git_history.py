"""The port FileHistory over the user's checkout: what Git has of a file's past. Read only.

There are two lines of history. What the branch itself was at, by its first parents, is what Flux applied.
What only branches had that were merged into it may have run as well: a `git pull` that merges
turns the two around.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from flux_upgrade.adapters.git.checkout import Checkout
from flux_upgrade.adapters.git.git_command import rfc3339
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.files import FileHistory, FileRevision, FileRevisions, Mentions
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

_NO_COMMIT = "it is in no Git checkout, or nothing was committed there yet"
DEEPER = "check it out with `fetch-depth: 0` (actions/checkout), or run `git fetch --unshallow`"
_PARTIAL = (
    "it is a partial clone, without the contents of older commits: run `git fetch --refetch --no-filter`"
)
_MOST = 200
"""Contents that are looked at: they are half a megabyte each."""
_AT_ONCE = 20
_MOST_SEARCHED = 10_000
"""Commits that are searched for a version: some three seconds."""
_SEARCHED = ("*.yaml", "*.yml", "*.json", ":(exclude,glob)**/gotk-components.yaml")
# In other locales, a regular expression takes a tenth longer.
_PATTERNS = {"GIT_LITERAL_PATHSPECS": "0", "LC_ALL": "C"}
_SEARCH = (
    *("-c", "log.showRoot=true", "-c", "log.follow=false"),
    *("log", "--full-history", "--no-renames", "--format=", "--name-only", "-z", "--pickaxe-regex"),
)
_MOST_RENAMES = 10
_LOG = (
    *("-c", "log.showRoot=true", "-c", "log.follow=false"),
    # --sparse: commits that change nothing, too, to know the first parents without a second walk.
    *("log", "--full-history", "--sparse", "--topo-order"),
    *("--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent", "-z"),
    "--format=%x01%H %ct %P",
)
_COMMIT_OR_CHANGE = re.compile(
    rb"\x01(?P<commit>[0-9a-f]+) (?P<when>\d+) (?P<parents>[0-9a-f ]*)\0"
    rb"|\n?:\d+ (?P<mode>\d+) [0-9a-f]+ (?P<oid>[0-9a-f]+) (?P<status>[A-Z])\0(?P<path>[^\0]*)\0"
)
_RENAMES = (
    *("log", "--no-walk", "--diff-merges=first-parent", "-z", "-M", "--diff-filter=R", "--name-status"),
    "--format=%x01%H",
)
_COMMIT = re.compile(r"\x01(?=[0-9a-f]{40,64}\0)")
_FILE = "100"
"""How the modes of plain files begin."""


class _HistoryUnavailable(Exception):
    """Git fails; the message says why."""


class _FileChange(NamedTuple):
    """A commit that changed the file."""

    commit: str
    date: str
    mode: str
    oid: str
    """Of what the file became."""
    is_new: bool
    is_aside: bool


class GitHistory:
    """Asked about one file after the other; contents that they share are read once.

    The commits are walked once for all of ``paths``, the files that it may be asked about: in a repository of
    50,000 commits, each walk takes a second.
    """

    def __init__(self, checkout: Checkout, paths: Iterable[str] = ()) -> None:
        self._checkout = checkout
        self._paths = frozenset(paths)
        self._changes: dict[str, Sequence[_FileChange]] = {}
        self._renames: dict[str, Mapping[str, str]] = {}
        """Commit → new name → old name."""
        self._contents: dict[str, bytes] = {}
        self._mentions: dict[tuple[str, ...], Mentions] = {}

    @cached_property
    def _head(self) -> str:
        return self._checkout.head()

    @cached_property
    def _is_shallow(self) -> bool:
        return self._checkout.is_shallow()

    def of(self, path: str) -> FileRevisions:
        try:
            return self._of(path)
        except (_HistoryUnavailable, UsageError) as error:
            return FileRevisions(missing=str(error))

    def mentions(self, versions: Sequence[str]) -> Mentions:
        """What only a merge commit itself brought is not found."""
        key = tuple(versions)
        if key not in self._mentions:
            try:
                self._mentions[key] = self._searched(key)
            except (_HistoryUnavailable, UsageError) as error:
                self._mentions[key] = Mentions(missing=str(error))
        return self._mentions[key]

    def _searched(self, versions: Sequence[str]) -> Mentions:
        if not self._head:
            raise _HistoryUnavailable(_NO_COMMIT)
        if self._checkout.is_partial():
            raise _HistoryUnavailable(_PARTIAL)
        oldest = (
            self._output("rev-list", f"--skip={_MOST_SEARCHED}", "-n", "1", "HEAD").decode("ascii").split()
        )
        any_of = "|".join(map(re.escape, versions))
        named = rf"""-SapiVersion["']?:[[:space:]]*["']?({any_of})"""
        range_ = ("HEAD", *(f"^{each}" for each in oldest))
        found = self._output(*_SEARCH, named, *range_, "--", *_SEARCHED, more=_PATTERNS)
        missing = f"only the last {_MOST_SEARCHED} commits were searched" if oldest else ""
        if self._is_shallow:
            missing = f"the checkout is shallow: {DEEPER}"
        return Mentions(
            tuple(sorted(set(found.decode("utf-8", "surrogateescape").split("\0")) - {""})), missing
        )

    def _of(self, path: str) -> FileRevisions:
        if not self._head:
            raise _HistoryUnavailable(_NO_COMMIT)
        if path not in self._changes:
            self._changes |= self._walked("HEAD", sorted({path, *self._paths}), _MOST_RENAMES)
        seen = [each for each in self._changes[path] if each.mode.startswith(_FILE)]
        wanted = list(dict.fromkeys(each.oid for each in reversed(seen)))
        self._read(wanted[:_MOST])
        versions = tuple(
            FileRevision(each.commit, each.date, self._contents[each.oid], each.is_aside)
            for each in seen
            if each.oid in self._contents
        )
        return FileRevisions(versions, self._missing(wanted))

    def _missing(self, wanted: Sequence[str]) -> str:
        if self._is_shallow:
            return f"the checkout is shallow: {DEEPER}"
        if not wanted:
            return "it was not committed yet"
        if not self._contents.keys() >= set(wanted[:_MOST]):
            return _PARTIAL
        return f"only its last {_MOST} contents were looked at, of {len(wanted)}" if wanted[_MOST:] else ""

    def _read(self, oids: Iterable[str]) -> None:
        wanted = [oid for oid in oids if oid not in self._contents]
        for start in range(0, len(wanted), _AT_ONCE):
            self._contents |= self._checkout.git.blobs(wanted[start : start + _AT_ONCE])

    def _walked(self, start: str, paths: Sequence[str], renames: int) -> dict[str, Sequence[_FileChange]]:
        """Oldest first; before a commit that brought a file from elsewhere, what it was there."""
        found = self._log(start, paths)
        if renames:
            self._read_renames({each.commit for changes in found.values() for each in changes if each.is_new})
        brought: dict[str, dict[str, str]] = {}  # commit → path → old name
        for path, changes in found.items():
            for each in changes:
                if renames and each.is_new and (old := self._renames[each.commit].get(path)):
                    brought.setdefault(each.commit, {})[path] = old
        earlier = {
            commit: self._walked(f"{commit}^1", sorted(set(names.values())), renames - 1)
            for commit, names in brought.items()
        }

        def whole(path: str) -> Iterator[_FileChange]:
            for each in found[path]:
                old = brought.get(each.commit, {}).get(path)
                yield from earlier[each.commit][old] if old else ()
                yield each

        return {path: tuple(whole(path)) for path in paths}

    def _log(self, start: str, paths: Sequence[str]) -> dict[str, list[_FileChange]]:
        found: dict[str, list[_FileChange]] = {path: [] for path in paths}
        head, first_parent, is_aside = None, None, False
        # A commit comes before its parents.
        for match in _COMMIT_OR_CHANGE.finditer(self._output(*_LOG, start, "--", *paths)):
            if match["commit"]:
                head, is_aside = match, first_parent not in (None, match["commit"])
                if not is_aside:
                    first_parent = match["parents"].partition(b" ")[0]
                continue
            path = match["path"].decode("utf-8", "surrogateescape")
            if head is None or path not in found:  # what was once in a directory of that name
                continue
            # At the edge of a shallow history, a commit seems to add every file.
            is_edge = self._is_shallow and not head["parents"]
            date = "" if is_edge else rfc3339(int(head["when"]))
            commit, mode, oid = (
                each.decode("ascii") for each in (head["commit"], match["mode"], match["oid"])
            )
            found[path].append(_FileChange(commit, date, mode, oid, match["status"] == b"A", is_aside))
        for changes in found.values():
            changes.reverse()
        return found

    def _read_renames(self, commits: Iterable[str]) -> None:
        """All that some commits renamed; nothing of those that Git cannot compare."""
        wanted = sorted(set(commits) - self._renames.keys())
        if not wanted:
            return
        ran = self._checkout.git.run(*_RENAMES, *wanted)
        if ran.status and len(wanted) > 1:
            for each in wanted:
                self._read_renames([each])
            return
        self._renames |= {each: {} for each in wanted}
        for entry in _COMMIT.split("" if ran.status else ran.text)[1:]:
            commit, _, renamed = entry.partition("\0\n")
            words = iter(renamed.split("\0"))
            self._renames[commit] = {new: old for _, old, new in zip(words, words, words, strict=False)}

    def _output(self, *arguments: str, more: Mapping[str, str] | None = None) -> bytes:
        ran = self._checkout.git.run(*arguments, more=more)
        if ran.status:
            why = one_line(next(iter(ran.err.strip().splitlines()), "git fails").removeprefix("fatal: "))
            raise _HistoryUnavailable(_PARTIAL if self._checkout.is_partial() else why)
        return ran.out


class ChosenHistory:
    """The port FileHistory: Git's, or the forge's for a checkout without older commits.

    It is chosen at the first question: that costs runs of Git, and nearly every run asks nothing.
    ``forge``: None where it cannot be asked.
    """

    def __init__(
        self, checkout: Checkout, paths: Iterable[str], forge: Callable[[], FileHistory | None]
    ) -> None:
        self._checkout, self._paths, self._forge = checkout, paths, forge

    @cached_property
    def chosen(self) -> FileHistory:
        found = None
        with suppress(UsageError):
            if self._checkout.is_shallow() or self._checkout.is_partial():
                found = self._forge()
        return GitHistory(self._checkout, self._paths) if found is None else found

    def of(self, path: str) -> FileRevisions:
        return self.chosen.of(path)

    def mentions(self, versions: Sequence[str]) -> Mentions:
        return self.chosen.mentions(versions)
