"""The port FileHistory over GitHub's API, for checkouts that are shallow, as actions/checkout leaves them.

One query lists the commits of a file with the ids of its contents, one call for each content fetches
it, and one more tells whether the oldest commit renamed it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from flux_upgrade.adapters.github.api import GitHubApi, json_object, owner_and_name, sensible
from flux_upgrade.adapters.github.query import Json, Query
from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.file_history import FileRevision, FileRevisions, Mentions
from flux_upgrade.model.text import one_line
from flux_upgrade.model.unknown import Unknown

MOST = 100  # commits of a file: as many as one query gives. A workflow may make a thousand calls an hour.
_MOST_RENAMES = 5
_DEEPER = "set `fetch-depth: 0` of actions/checkout"
_HISTORY = """query($owner: String!, $name: String!, $head: GitObjectID!, $path: String!, $most: Int!) {
  repository(owner: $owner, name: $name) {
    object(oid: $head) { ... on Commit {
      history(first: $most, path: $path) {
        pageInfo { hasNextPage }
        nodes { oid committedDate parents(first: 1) { nodes { oid } } file(path: $path) { oid type } }
      }
    } }
  }
}"""


class GitHubHistory:
    """Asked about one file after the other; contents that they share are fetched once.

    ``head``: oid of the commit that is checked out. GitHub does not tell which commits are the
    branch's own, and which came by a merge.
    """

    def __init__(self, github: GitHubApi, repository: str, head: str) -> None:
        self._github = github
        self._who = owner_and_name(repository)
        self._url = f"/repos/{repository}"
        self._head = head
        self._contents: dict[str, bytes] = {}

    @property
    def is_local(self) -> bool:
        return False

    def of(self, path: str) -> FileRevisions:
        doing = f"read the history of {one_line(path)} in {one_line('/'.join(self._who))}"
        attempt = Attempt(doing, "contents: read")
        commits: list[Json] = []
        versions: list[FileRevision] = []
        has_gaps = False
        try:
            with sensible(attempt):
                why = self._list(commits, path, attempt)
                for each in reversed(commits):
                    file = each["file"]
                    if file is not None and file["type"] == "blob":
                        content = self._content(file["oid"], attempt)
                        versions.append(FileRevision(each["oid"], each["committedDate"], content))
        except FluxUpgradeError as error:
            why, has_gaps = error.message, True  # Contents are read from the oldest one on
        missing = Unknown(f"the checkout does not have the whole history, and {why}: {_DEEPER}") if why else None
        return FileRevisions(tuple(versions), missing, has_gaps)

    def mentions(self, versions: Sequence[str]) -> Mentions:  # noqa: ARG002 GitHub searches no history
        return Mentions(missing=Unknown(f"the checkout does not have the whole history: {_DEEPER}"))

    def _list(self, commits: list[Json], path: str, attempt: Attempt) -> str:
        """Put the commits of a file, newest first, into ``commits``; why there may be more."""
        head = self._head
        for _ in range(_MOST_RENAMES):
            variables = {"head": head, "path": path, "most": MOST - len(commits)}
            query = Query(_HISTORY, {"owner": self._who[0], "name": self._who[1], **variables})
            commit = self._github.asked(query, attempt)["repository"]["object"]
            found: Json | None = (commit or {}).get("history")
            if found is None:
                return f"GitHub does not know its commit {head[:12]}"
            commits += found["nodes"]
            if found["pageInfo"]["hasNextPage"]:
                return f"only the last {MOST} commits of the file were read from GitHub"
            oldest = found["nodes"][-1] if found["nodes"] else None
            if oldest is None or not oldest["parents"]["nodes"]:
                break
            # Where it renamed the file, go on with the old name.
            files = self._github.listed(f"{self._url}/commits/{oldest['oid']}", attempt, "files")
            path = {each["filename"]: each.get("previous_filename", "") for each in files}.get(path, "")
            if not path:
                break
            head = oldest["parents"]["nodes"][0]["oid"]
        return ""

    def _content(self, oid: str, attempt: Attempt) -> bytes:
        if oid not in self._contents:
            answer = self._github.answer(f"{self._url}/git/blobs/{oid}", attempt)
            blob = json_object(self._github.require(answer, attempt), attempt)
            self._contents[oid] = base64.b64decode(blob["content"])
        return self._contents[oid]
