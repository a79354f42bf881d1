"""Issues and pull requests as the REST API shows them."""

from __future__ import annotations

from github_stand_in.gitstore import NO_OBJECT
from github_stand_in.model import Comment, Issue, Pull
from github_stand_in.shapes import Json, Shapes, number_of

_MERGEABLE = {"MERGEABLE": True, "CONFLICTING": False, "UNKNOWN": None}


class PullShapes(Shapes):
    """The shapes of one repository's issues and pull requests."""

    def label(self, name: str) -> Json:
        """A label."""
        return {
            "id": number_of(name),
            "node_id": f"LA_{number_of(name)}",
            "url": f"{self.url}/labels/{name}",
            "name": name,
            "description": "",
            "color": "ededed",
            "default": False,
        }

    def _common(self, issue: Issue, url: str, html_url: str) -> Json:
        assignees = [self.user(login) for login in issue.assignees]
        return {
            "url": url,
            "html_url": html_url,
            "number": issue.number,
            "state": issue.state,
            "locked": False,
            "title": issue.title,
            "user": self.user(issue.author),
            "body": issue.body or None,
            "labels": [self.label(name) for name in issue.labels],
            "milestone": None,
            "active_lock_reason": None,
            "created_at": issue.created_at,
            "updated_at": issue.updated_at,
            "closed_at": issue.closed_at or None,
            "assignee": assignees[0] if assignees else None,
            "assignees": assignees,
            "author_association": "CONTRIBUTOR",
        }

    def issue(self, issue: Issue) -> Json:
        """An issue, or a pull request as the issues' API shows it."""
        url = f"{self.url}/issues/{issue.number}"
        is_pull = isinstance(issue, Pull)
        shown = {
            **self._common(issue, url, f"{self.html}/{'pull' if is_pull else 'issues'}/{issue.number}"),
            "id": self.repository.id * 1000 + issue.number,
            "node_id": f"{'PR' if is_pull else 'I'}_{self.repository.id}_{issue.number}",
            "repository_url": self.url,
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "comments": len(issue.comments),
        }
        if is_pull:
            html = f"{self.html}/pull/{issue.number}"
            links = {"url": f"{self.url}/pulls/{issue.number}", "html_url": html}
            shown["pull_request"] = {**links, "diff_url": f"{html}.diff", "patch_url": f"{html}.patch"}
        return shown

    def comment(self, issue: Issue, comment: Comment) -> Json:
        """A comment on an issue or a pull request."""
        web = f"{self.html}/{'pull' if isinstance(issue, Pull) else 'issues'}/{issue.number}"
        return {
            "id": comment.id,
            "node_id": f"IC_{comment.id}",
            "url": f"{self.url}/issues/comments/{comment.id}",
            "html_url": f"{web}#issuecomment-{comment.id}",
            "issue_url": f"{self.url}/issues/{issue.number}",
            "user": self.user(comment.author),
            "body": comment.body,
            "author_association": "NONE",
            "created_at": comment.at,
            "updated_at": comment.at,
        }

    def pull(self, pull: Pull) -> Json:
        """A pull request as lists show it."""
        url, html = f"{self.url}/pulls/{pull.number}", f"{self.html}/pull/{pull.number}"
        issue = f"{self.url}/issues/{pull.number}"
        links = {
            "self": url,
            "html": html,
            "issue": issue,
            "comments": f"{issue}/comments",
            "review_comments": f"{url}/comments",
            "review_comment": f"{self.url}/pulls/comments{{/number}}",
            "commits": f"{url}/commits",
            "statuses": f"{self.url}/statuses/{pull.head_sha}",
        }
        return {
            **self._common(pull, url, html),
            "id": self.repository.id * 1000 + pull.number,
            "node_id": f"PR_{self.repository.id}_{pull.number}",
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "issue_url": issue,
            "commits_url": links["commits"],
            "review_comments_url": links["review_comments"],
            "review_comment_url": links["review_comment"],
            "comments_url": links["comments"],
            "statuses_url": links["statuses"],
            "merged_at": pull.merged_at or None,
            "merge_commit_sha": pull.merge_commit or None,
            "draft": pull.is_draft,
            "head": self._end(pull.head_owner, pull.head, pull.head_sha),
            "base": self._end(self.repository.owner, pull.base, pull.base_sha),
            "_links": {name: {"href": link} for name, link in links.items()},
            "auto_merge": self._auto_merge(pull),
            "requested_reviewers": [self.user(login) for login in pull.reviewers],
            "requested_teams": [self._team(name) for name in pull.team_reviewers],
        }

    def _auto_merge(self, pull: Pull) -> Json | None:
        if not pull.auto_merge:
            return None
        by = self.user(pull.auto_merge_by)
        return {"enabled_by": by, "merge_method": pull.auto_merge, "commit_title": "", "commit_message": ""}

    def _end(self, owner: str, branch: str, sha: str) -> Json:
        label = f"{owner}:{branch}"
        return {"label": label, "ref": branch, "sha": sha, "user": self.user(owner), "repo": self.full()}

    def _team(self, name: str) -> Json:
        url = f"{self.api}/organizations/{self.repository.owner}/team/{name}"
        return {
            "id": number_of(name),
            "node_id": f"T_{number_of(name)}",
            "name": name,
            "slug": name,
            "description": None,
            "privacy": "closed",
            "permission": "push",
            "url": url,
            "html_url": f"{self.web}/orgs/{self.repository.owner}/teams/{name}",
            "members_url": f"{url}/members{{/member}}",
            "repositories_url": f"{url}/repos",
            "type": "organization",
            "organization_id": number_of(self.repository.owner),
            "parent": None,
        }

    def whole_pull(self, pull: Pull, *, is_new: bool = False) -> Json:
        """A pull request by itself. Of a new one it is not known yet whether it can be merged."""
        base, store = self.repository.head(pull.base) or NO_OBJECT, self.repository.store
        files, added, deleted = store.changed(base, pull.head_sha)
        mergeable = None if is_new else _MERGEABLE[self.repository.mergeable(pull)]
        is_dirty = "dirty" if mergeable is False else "clean"
        return {
            **self.pull(pull),
            "merged": bool(pull.merged_at),
            "mergeable": mergeable,
            "mergeable_state": "unknown" if mergeable is None else "draft" if pull.is_draft else is_dirty,
            "merged_by": self.user(pull.merged_by) if pull.merged_by else None,
            "comments": len(pull.comments),
            "review_comments": 0,
            "maintainer_can_modify": False,
            "commits": len(store.ahead(base, pull.head_sha)),
            "additions": added,
            "deletions": deleted,
            "changed_files": files,
            "rebaseable": mergeable,
        }
