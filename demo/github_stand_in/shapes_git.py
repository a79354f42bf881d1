"""Git, and commit statuses, as the REST API shows them."""

from __future__ import annotations

import base64
from urllib.parse import quote

from github_stand_in.gitstore import SIGNATURE, Changed, CommitObject, Entry, Person
from github_stand_in.model import Status, moment
from github_stand_in.shapes import Json, Shapes, number_of

_STATUS = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "T": "changed"}
_CONTENT = {"blob": "file", "tree": "dir"}


class GitShapes(Shapes):
    """The shapes of one repository's Git."""

    def ref(self, name: str, sha: str) -> Json:
        """A ref."""
        kind = self.repository.store.kind(sha)
        return {
            "ref": name,
            "node_id": f"REF_{number_of(name)}",
            "url": f"{self.url}/git/{name}",
            "object": {"type": kind, "sha": sha, "url": f"{self.url}/git/{kind}s/{sha}"},
        }

    def tree(self, sha: str) -> Json:
        """A tree."""
        entries = [self._entry(entry) for entry in self.repository.store.entries(sha)]
        return {"sha": sha, "url": f"{self.url}/git/trees/{sha}", "tree": entries, "truncated": False}

    def _entry(self, entry: Entry) -> Json:
        url = f"{self.url}/git/{entry.kind}s/{entry.oid}"
        shown: Json = {"path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.oid, "url": url}
        if entry.kind == "blob":
            shown["size"] = len(self.repository.store.content(entry.oid))
        return shown

    def commit(self, commit: CommitObject) -> Json:
        """A commit of the Git data API."""
        url = f"{self.url}/git/commits/{commit.oid}"
        return {
            "sha": commit.oid,
            "node_id": f"C_{commit.oid}",
            "url": url,
            "html_url": f"{self.html}/commit/{commit.oid}",
            "author": _signature(commit.author),
            "committer": _signature(commit.committer),
            "message": commit.message,
            "tree": {"sha": commit.tree, "url": f"{self.url}/git/trees/{commit.tree}"},
            "parents": [
                {"sha": parent, "url": f"{self.url}/git/commits/{parent}", "html_url": f"{self.html}/commit/{parent}"}
                for parent in commit.parents
            ],
            "verification": {
                "verified": commit.is_signed,
                "reason": "valid" if commit.is_signed else "unsigned",
                "signature": SIGNATURE if commit.is_signed else None,
                "payload": "" if commit.is_signed else None,
                "verified_at": moment(commit.committer.at) if commit.is_signed else None,
            },
        }

    def blob(self, sha: str) -> Json:
        """A blob."""
        content = self.repository.store.content(sha)
        return {
            "sha": sha,
            "node_id": f"B_{sha}",
            "size": len(content),
            "url": f"{self.url}/git/blobs/{sha}",
            "content": base64.encodebytes(content).decode(),
            "encoding": "base64",
        }

    def content(self, path: str, ref: str, entry: Entry) -> Json:
        """What is at a path of a commit, as the list of a directory has it."""
        place = quote(path, safe="/", errors="surrogateescape")
        url, git = f"{self.url}/contents/{place}?ref={ref}", f"{self.url}/git/{entry.kind}s/{entry.oid}"
        html = f"{self.html}/{entry.kind}/{ref}/{place}"
        is_file = entry.kind == "blob"
        return {
            "type": _CONTENT.get(entry.kind, "submodule"),
            "size": len(self.repository.store.content(entry.oid)) if is_file else 0,
            "name": path.rpartition("/")[2],
            "path": path,
            "sha": entry.oid,
            "url": url,
            "git_url": git,
            "html_url": html,
            "download_url": f"{self.html}/raw/{ref}/{place}" if is_file else None,
            "_links": {"git": git, "self": url, "html": html},
        }

    def file(self, path: str, ref: str, entry: Entry) -> Json:
        """A file with what is in it."""
        encoded = base64.encodebytes(self.repository.store.content(entry.oid)).decode()
        return {**self.content(path, ref, entry), "encoding": "base64", "content": encoded}

    def whole_commit(self, commit: CommitObject) -> Json:
        """A commit outside of the Git data API, without its files."""
        url = f"{self.url}/commits/{commit.oid}"
        shown = self.commit(commit)
        parents = [{**each, "url": each["url"].replace("/git/", "/")} for each in shown["parents"]]
        inner = {name: shown[name] for name in ("author", "committer", "message", "tree", "verification")}
        return {
            "sha": commit.oid,
            "node_id": shown["node_id"],
            "url": url,
            "html_url": shown["html_url"],
            "comments_url": f"{url}/comments",
            "commit": {**inner, "url": shown["url"], "comment_count": 0},
            "author": self.user(commit.author.name),
            "committer": self.user(commit.committer.name),
            "parents": parents,
        }

    def changed(self, commit: str, file: Changed) -> Json:
        """A file that a commit changed; nobody here asks how many lines."""
        path = quote(file.path, safe="/", errors="surrogateescape")
        shown: Json = {
            "sha": file.oid,
            "filename": file.path,
            "status": _STATUS[file.status],
            "additions": 0,
            "deletions": 0,
            "changes": 0,
            "blob_url": f"{self.html}/blob/{commit}/{path}",
            "raw_url": f"{self.html}/raw/{commit}/{path}",
            "contents_url": f"{self.url}/contents/{path}?ref={commit}",
        }
        return {**shown, "previous_filename": file.old} if file.old else shown

    def status(self, status: Status) -> Json:
        """A commit status."""
        return {
            "url": f"{self.url}/statuses/{status.sha}",
            "avatar_url": None,
            "id": status.id,
            "node_id": f"SC_{status.id}",
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": status.at,
            "updated_at": status.at,
            "creator": self.user(status.creator),
        }


def _signature(person: Person) -> Json:
    return {"name": person.name, "email": person.email, "date": moment(person.at)}
