"""The port FollowedFiles over the user's checkout: files in the commit that Flux follows. Read only."""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.adapters.git.checkout import Checkout, branch_of, remote_branch
from flux_upgrade.adapters.git.git_history import NO_COMMIT, PARTIAL
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.file_history import FollowedFile, blob_id
from flux_upgrade.model.text import one_line
from flux_upgrade.model.unknown import Unknown, known_or

_FILE = b"100"  # How the modes of plain files begin


class FollowedCommit:
    """List ``paths`` once for each branch: the files that it may be asked about. Others are looked up one by one."""

    def __init__(self, checkout: Checkout, paths: Iterable[str] = ()) -> None:
        self._checkout, self._paths = checkout, frozenset(paths)
        self._listed: dict[tuple[str, frozenset[str]], dict[str, str] | Unknown] = {}
        """Oid of a commit, with the paths to list → path of each file in it → oid of its content."""

    def file(self, path: str, branch: str | Unknown, present: bytes) -> FollowedFile | Unknown:
        try:
            head = self._checkout.head
            if not head:
                return Unknown(self._checkout.refusal or NO_COMMIT)
            commit = branch if isinstance(branch, Unknown) else self._commit(branch, head)
            instead = commit if isinstance(commit, Unknown) else None
            oids = self._oids(head if isinstance(commit, Unknown) else commit, path)
            if isinstance(oids, Unknown):
                return oids
            oid = oids.get(path, "")
            if not oid:
                return self._absent(path, branch, head)
            if oid == blob_id(present, oid):
                return FollowedFile(present, instead)
            content = self._checkout.blobs([oid]).get(oid)
        except UsageError as error:  # there is no Git
            return Unknown(error.message)
        return FollowedFile(content, instead) if content is not None else Unknown(PARTIAL)

    def _absent(self, path: str, branch: str | Unknown, head: str) -> Unknown:
        is_committed = path in known_or(self._oids(head, path), {})
        return Unknown(f"it is not on {branch} yet" if is_committed else "it is not committed yet")

    def _commit(self, branch: str, head: str) -> str | Unknown:
        newest = remote_branch(self._checkout.root, branch)
        if not newest:
            return Unknown(f"the checkout has no origin/{one_line(branch)}")
        if newest == head or branch_of(self._checkout.root) == branch:
            return newest
        return self._checkout.output("merge-base", head, newest) or newest  # a shallow history may not show it

    def _oids(self, commit: str, path: str) -> dict[str, str] | Unknown:
        paths = self._paths if path in self._paths else frozenset({path})
        if (commit, paths) not in self._listed:
            ran = self._checkout.run("ls-tree", "-z", "--full-tree", commit, "--", *sorted(paths))
            entries = (entry.partition(b"\t") for entry in ran.out.split(b"\0") if entry.startswith(_FILE))
            files = {name.decode("utf-8", "surrogateescape"): facts.split()[2].decode() for facts, _, name in entries}
            self._listed[commit, paths] = Unknown(ran.why) if ran.status else files
        return self._listed[commit, paths]
