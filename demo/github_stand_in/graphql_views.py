"""A repository, its issues and its pull requests, as the GraphQL API shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from github_stand_in.graphql_git import GitViews, View, actor, connection, ruleset
from github_stand_in.model import Issue, Pull
from github_stand_in.refusals import Refused
from github_stand_in.shapes import number_of


class Views(GitViews):
    """One repository's records, for one token."""

    def whole(self) -> View:
        """The repository."""
        repository, settings = self.repository, self.repository.settings
        return {
            "__typename": "Repository",
            "id": repository.node_id,
            "name": repository.name,
            "nameWithOwner": repository.full_name,
            "url": self.url,
            "isArchived": settings.is_archived,
            "isEmpty": repository.is_empty,
            "isFork": settings.is_fork,
            "isPrivate": settings.is_private,
            "autoMergeAllowed": settings.auto_merge,
            "viewerDefaultMergeMethod": settings.merge_method,
            "defaultBranchRef": lambda _: self.ref(repository.default_branch),
            "ref": lambda _, **a: self.ref(a["qualifiedName"]),
            "refs": lambda info, **a: connection("refs", lambda: self._refs(a), self.ref)(info, **a),
            "rulesets": connection("rulesets", lambda: [r for r in settings.rules if not r.is_classic], ruleset),
            "object": lambda _, **a: self.object(a),
            "pullRequest": lambda _, **a: self._pull_by_number(a["number"]),
            "pullRequests": lambda info, **a: connection("pullRequests", lambda: self._pulls(a), self.pull)(info, **a),
            "issues": lambda info, **a: connection("issues", lambda: self._issues(a), self.issue)(info, **a),
        }

    def _refs(self, arguments: Mapping[str, Any]) -> list[str]:
        self.need("contents")
        wanted = arguments.get("query") or ""
        return [name for name in self.repository.store.refs(arguments["refPrefix"]) if wanted in name]

    def _pulls(self, arguments: Mapping[str, Any]) -> list[Issue]:
        self.need("pull_requests")
        head, base = arguments.get("headRefName"), arguments.get("baseRefName")
        found = [
            pull for pull in self.repository.pulls.values() if head in (None, pull.head) and base in (None, pull.base)
        ]
        return _sorted([p for p in found if _state(p) in (arguments.get("states") or (_state(p),))], arguments)

    def _issues(self, arguments: Mapping[str, Any]) -> list[Issue]:
        self.need("issues")
        found = self.repository.issues.values()
        return _sorted([i for i in found if _state(i) in (arguments.get("states") or (_state(i),))], arguments)

    def _pull_by_number(self, number: int) -> View:
        self.need("pull_requests")
        pull = self.repository.pulls.get(number)
        if pull is None:
            raise Refused(404, f"Could not resolve to a PullRequest with the number of {number}.")
        return self.pull(pull)

    def issue(self, issue: Issue) -> View:
        """An issue, or what a pull request has of one."""
        names = list(issue.labels)
        return {
            "__typename": "Issue",
            "id": f"I_{self.repository.id}_{issue.number}",
            "number": issue.number,
            "url": f"{self.url}/issues/{issue.number}",
            "state": _state(issue),
            "title": issue.title,
            "body": issue.body,
            "author": self._actor(issue.author),
            "viewerDidAuthor": issue.author == self.token.login,
            "editor": self._actor(issue.edits[-1][0]) if issue.edits else None,
            "lastEditedAt": issue.edits[-1][1] if issue.edits else None,
            "includesCreatedEdit": bool(issue.edits),
            "userContentEdits": connection("userContentEdits", lambda: _edits_of(issue), self._edit),
            "labels": connection("labels", lambda: names, lambda name: {"id": f"LA_{name}", "name": name}),
            "createdAt": issue.created_at,
            "updatedAt": issue.updated_at,
            "closedAt": issue.closed_at or None,
            "timelineItems": self._timeline(issue),
        }

    def _timeline(self, issue: Issue) -> Callable[..., View]:
        """What happened to it, oldest first; only events of ``itemTypes``, if the query has any."""

        def resolve(parent: object, itemTypes: Sequence[str] = (), **arguments: Any) -> View:  # noqa: N803 GitHub's name
            events = sorted(self._events(issue), key=lambda each: each["createdAt"])
            wanted = [each for each in events if not itemTypes or _EVENTS[each["__typename"]] in itemTypes]
            page: View = connection("timelineItems", lambda: wanted, lambda each: each)(parent, **arguments)
            return page

        return resolve

    def _events(self, issue: Issue) -> Iterator[View]:
        yield from (self._event("ClosedEvent", *each) for each in issue.closings)
        yield from (self._event("ReopenedEvent", *each) for each in issue.reopenings)
        for name, login, at in issue.labelings:
            yield {**self._event("LabeledEvent", login, at), "label": {"id": f"LA_{name}", "name": name}}
        if isinstance(issue, Pull):
            yield from (self._event("ReadyForReviewEvent", *each) for each in issue.readyings)

    def _event(self, kind: str, login: str, at: str) -> View:
        by = self._actor(login)
        return {"__typename": kind, "id": f"{kind}_{number_of(login + at)}", "actor": by, "createdAt": at}

    def _actor(self, login: str) -> View | None:
        """Who did something; nobody once the account is deleted."""
        return None if self.repository.role(login) == "gone" else actor(login, self.web)

    def _edit(self, edit: tuple[str, str]) -> View:
        login, at = edit
        return {"id": f"UCE_{number_of(login + at)}", "editor": self._actor(login), "editedAt": at}

    def _auto_merge(self, pull: Pull) -> View:
        return {"mergeMethod": pull.auto_merge.upper(), "enabledBy": self._actor(pull.auto_merge_by)}

    def pull(self, issue: Issue) -> View:
        """A pull request."""
        assert isinstance(issue, Pull)
        pull, store = issue, self.repository.store
        is_foreign = pull.head_owner != self.repository.owner
        fork = pull.merged_at and store.read(pull.merge_commit).parents
        base = (fork[0] if fork else "") or self.repository.head(pull.base) or pull.base_sha
        return {
            **self.issue(pull),
            "__typename": "PullRequest",
            "id": f"PR_{self.repository.id}_{pull.number}",
            "url": f"{self.url}/pull/{pull.number}",
            "permalink": f"{self.url}/pull/{pull.number}",
            "isDraft": pull.is_draft,
            "isInMergeQueue": pull.is_queued,
            "isCrossRepository": is_foreign,
            "baseRefName": pull.base,
            "baseRefOid": pull.base_sha,
            "headRefName": pull.head,
            "headRefOid": pull.head_sha,
            "headRef": lambda _: None if is_foreign else self.ref(pull.head),
            "headRepository": lambda _: None if is_foreign else self.whole(),
            "mergeable": lambda _: self.repository.mergeable(pull),
            "mergeStateStatus": lambda _: self.repository.merge_state(pull),
            "merged": bool(pull.merged_at),
            "mergedAt": pull.merged_at or None,
            "mergeCommit": lambda _: self.git_object(pull.merge_commit) if pull.merge_commit else None,
            "closed": pull.state != "open",
            "autoMergeRequest": self._auto_merge(pull) if pull.auto_merge else None,
            "commits": connection(
                "commits",
                lambda: tuple(reversed(store.ahead(base, pull.head_sha))) or (pull.head_sha,),
                lambda oid: {"id": f"PRC_{oid}", "commit": self.git_object(oid)},
            ),
        }


_EVENTS = {
    "ClosedEvent": "CLOSED_EVENT",
    "LabeledEvent": "LABELED_EVENT",
    "ReadyForReviewEvent": "READY_FOR_REVIEW_EVENT",
    "ReopenedEvent": "REOPENED_EVENT",
}


def _edits_of(issue: Issue) -> list[tuple[str, str]]:
    """Newest first, as GitHub has them. The first edit makes the text before it an entry of its own."""
    return [*reversed(issue.edits), (issue.author, issue.created_at)] if issue.edits else []


def _state(issue: Issue) -> str:
    return "MERGED" if isinstance(issue, Pull) and issue.merged_at else issue.state.upper()


def _sorted(issues: Sequence[Issue], arguments: Mapping[str, Any]) -> list[Issue]:
    wanted = set(arguments.get("labels") or ())
    order = arguments.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
    moment_of = {"CREATED_AT": "created_at", "UPDATED_AT": "updated_at", "COMMENTS": "created_at"}[order["field"]]
    found = [issue for issue in issues if not wanted or wanted & set(issue.labels)]
    return sorted(found, key=lambda each: (getattr(each, moment_of), each.number), reverse=order["direction"] == "DESC")
