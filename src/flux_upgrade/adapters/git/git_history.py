"""The port FileHistory over the user's checkout: what Git has of a file's past. Read only.

There are two lines of history. What the branch itself was at, by its first parents, is what Flux applied.
What only branches had that were merged into it may have run as well: a `git pull` that merges
turns the two around.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from flux_upgrade.adapters.git.checkout import Checkout
from flux_upgrade.adapters.git.git_command import rfc3339
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.file_history import FileHistory, FileRevision, FileRevisions, Mentions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple

NO_COMMIT = "it is not in a Git checkout, or has no commit yet"
DEEPER = "set `fetch-depth: 0` of actions/checkout, or run `git fetch --unshallow`"
_SHALLOW = f"the checkout is shallow: {DEEPER}"
PARTIAL = "it is a partial clone without the contents of older commits: run `git fetch --refetch --no-filter`"
_MOST = 200  # contents that are looked at: they are half a megabyte each
_AT_ONCE = 20
_MOST_SEARCHED = 10_000  # commits that are searched for a version: some three seconds
_SEARCHED = ("*.yaml", "*.yml", "*.json", ":(exclude,glob)**/gotk-components.yaml")
# In other locales, a regular expression takes a tenth longer.
_PATTERNS = {"GIT_LITERAL_PATHSPECS": "0", "LC_ALL": "C"}
_SEARCH = (
    *("-c", "log.showRoot=true", "-c", "log.follow=false"),
    # What a configuration has to show files with is not run.
    *("log", "--no-textconv", "--no-ext-diff"),
    *("--full-history", "--no-renames", "--format=", "--name-only", "-z", "--pickaxe-regex"),
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
_FILE = "100"  # how the modes of plain files begin


class _HistoryUnavailable(Exception):
    """Git fails; the message says why."""


class _FileChange(NamedTuple):
    commit: str
    date: str
    mode: str
    oid: str  # of what the file became
    is_new: bool
    is_aside: bool


class GitHistory:
    """Asked about one file after the other.

    The commits are walked once for all of ``paths``, the files that it may be asked about: in a repository of
    50,000 commits, each walk takes a second. ``forge``: what is asked in its place where the checkout lacks
    older commits; None, and its answer is None, where nothing can be asked.
    """

    def __init__(
        self, checkout: Checkout, paths: Iterable[str] = (), forge: Callable[[], FileHistory | None] | None = None
    ) -> None:
        self._checkout, self._forge = checkout, forge
        self._paths = frozenset(paths)
        self._changes: dict[str, list[_FileChange]] = {}
        self._renames: dict[str, Mapping[str, str]] = {}  # commit → new name → old name
        self._mentions: dict[tuple[str, ...], Mentions] = {}

    @cached_property
    def elsewhere(self) -> FileHistory | None:
        """Looked for at the first question: that costs runs of Git, and nearly every run asks nothing."""
        with suppress(UsageError):
            if self._forge is not None and (self._checkout.is_shallow or self._checkout.is_partial):
                return self._forge()
        return None

    @property
    def is_local(self) -> bool:
        return self.elsewhere is None or self.elsewhere.is_local

    def of(self, path: str) -> FileRevisions:
        if self.elsewhere is not None:
            return self.elsewhere.of(path)
        try:
            if not self._checkout.head:
                return FileRevisions(missing=Unknown(self._checkout.refusal or NO_COMMIT))
            if path not in self._changes:
                self._changes |= self._walked("HEAD", sorted({path, *self._paths}), _MOST_RENAMES)
            seen = [each for each in self._changes[path] if each.mode.startswith(_FILE)]
            wanted = list(dict.fromkeys([each.oid for each in reversed(seen)]))
            contents: dict[str, bytes] = {}
            for start in range(0, min(len(wanted), _MOST), _AT_ONCE):
                contents |= self._checkout.blobs(wanted[:_MOST][start : start + _AT_ONCE])
        except (_HistoryUnavailable, UsageError) as error:
            return FileRevisions(missing=Unknown(str(error)))
        versions = [
            FileRevision(each.commit, each.date, contents[each.oid], each.is_aside)
            for each in seen
            if each.oid in contents
        ]
        missing = ""
        if self._checkout.is_shallow:
            missing = _SHALLOW
        elif not wanted:
            missing = "it is not committed yet"
        elif not contents.keys() >= set(wanted[:_MOST]):
            missing = PARTIAL
        elif wanted[_MOST:]:
            missing = f"only its last {_MOST} of {len(wanted)} versions were checked"
        has_gaps = len(contents) < len(wanted)  # A content that came back is there again, without those in between
        return FileRevisions(tuple(versions), Unknown(missing) if missing else None, has_gaps)

    def mentions(self, versions: Sequence[str]) -> Mentions:
        """What only a merge commit itself brought is not found."""
        if self.elsewhere is not None:
            return self.elsewhere.mentions(versions)
        key = tuple(versions)
        if key not in self._mentions:
            try:
                self._mentions[key] = self._searched(key)
            except (_HistoryUnavailable, UsageError) as error:
                self._mentions[key] = Mentions(missing=Unknown(str(error)))
        return self._mentions[key]

    def _searched(self, versions: Sequence[str]) -> Mentions:
        if not self._checkout.head:
            return Mentions(missing=Unknown(self._checkout.refusal or NO_COMMIT))
        if self._checkout.is_partial:
            return Mentions(missing=Unknown(PARTIAL))
        oldest = self._output("rev-list", f"--skip={_MOST_SEARCHED}", "-n", "1", "HEAD").decode().strip()
        any_of = "|".join(map(re.escape, versions))
        named = rf"""-SapiVersion["']?:[[:space:]]*["']?({any_of})"""
        range_ = ("HEAD", f"^{oldest}") if oldest else ("HEAD",)
        found = self._output(*_SEARCH, named, *range_, "--", *_SEARCHED, more=_PATTERNS)
        missing = f"only the last {_MOST_SEARCHED} commits were searched" if oldest else ""
        paths = sorted(set(found.decode("utf-8", "surrogateescape").split("\0")) - {""})
        missing = _SHALLOW if self._checkout.is_shallow else missing
        return Mentions(tuple(paths), Unknown(missing) if missing else None)

    def _walked(self, start: str, paths: Sequence[str], renames: int) -> dict[str, list[_FileChange]]:
        """Oldest first; before a commit that brought a file from elsewhere, what it was there."""
        found = self._log(start, paths)
        if not renames:
            return found
        self._read_renames({each.commit for changes in found.values() for each in changes if each.is_new})
        earlier: dict[str, dict[str, list[_FileChange]]] = {}  # commit → old name → what it was before
        whole: dict[str, list[_FileChange]] = {}
        for path, changes in found.items():
            whole[path] = []
            for each in changes:
                if each.is_new and path in (old := self._renames[each.commit]):
                    if each.commit not in earlier:
                        names = sorted({old[new] for new in found if new in old})
                        earlier[each.commit] = self._walked(f"{each.commit}^1", names, renames - 1)
                    whole[path] += earlier[each.commit][old[path]]
                whole[path].append(each)
        return whole

    def _log(self, start: str, paths: Sequence[str]) -> dict[str, list[_FileChange]]:
        found: dict[str, list[_FileChange]] = {path: [] for path in paths}
        commit: re.Match[bytes]
        is_aside = False
        first_parent: bytes | None = None
        # A commit comes before its parents, and before what it changes. Most change none of the files.
        for match in _COMMIT_OR_CHANGE.finditer(self._output(*_LOG, start, "--", *paths)):
            if match["commit"]:
                commit, is_aside = match, first_parent not in (None, match["commit"])
                if not is_aside:
                    first_parent = match["parents"].partition(b" ")[0]
                continue
            path = match["path"].decode("utf-8", "surrogateescape")
            if path in found:  # else what was once in a directory of that name
                found[path].append(self._change(commit, match, is_aside=is_aside))
        for changes in found.values():
            changes.reverse()
        return found

    def _change(self, commit: re.Match[bytes], change: re.Match[bytes], *, is_aside: bool) -> _FileChange:
        # At the edge of a shallow history, a commit seems to add every file.
        is_edge = self._checkout.is_shallow and not commit["parents"]
        date = "" if is_edge else rfc3339(int(commit["when"]))
        name, mode, oid = (found.decode() for found in (commit["commit"], change["mode"], change["oid"]))
        return _FileChange(name, date, mode, oid, change["status"] == b"A", is_aside)

    def _read_renames(self, commits: Iterable[str]) -> None:
        """All that some commits renamed; nothing of those that Git cannot compare."""
        wanted = sorted(set(commits) - self._renames.keys())
        if not wanted:
            return
        ran = self._checkout.run(*_RENAMES, *wanted)
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
        ran = self._checkout.run(*arguments, more=more)
        if ran.status:
            raise _HistoryUnavailable(PARTIAL if self._checkout.is_partial else ran.why)
        return ran.out
