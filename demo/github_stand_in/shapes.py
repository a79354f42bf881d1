"""Users and repositories as the REST API shows them. Tests hold every answer against GitHub's description."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from github_stand_in.model import Settings
from github_stand_in.repository import Repository

Json = dict[str, Any]
_USER_LINKS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
_REPOSITORY_LINKS = """
archive/{archive_format}{/ref} assignees{/user} blobs|git/blobs{/sha} branches{/branch}
collaborators{/collaborator} comments{/number} commits{/sha} compare/{base}...{head} contents/{+path}
contributors deployments downloads events forks git_commits|git/commits{/sha} git_refs|git/refs{/sha}
git_tags|git/tags{/sha} hooks issue_comment|issues/comments{/number} issue_events|issues/events{/number}
issues{/number} keys{/key_id} labels{/name} languages merges milestones{/number}
notifications{?since,all,participating} pulls{/number} releases{/id} stargazers statuses/{sha}
subscribers subscription tags teams trees|git/trees{/sha}
"""
_ZEROES = ("forks", "forks_count", "open_issues", "open_issues_count", "size", "stargazers_count")
_WATCHED = ("watchers", "watchers_count", "network_count", "subscribers_count")


def number_of(text: str) -> int:
    """A number for a name, always the same."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:3], "big")


def user(login: str, api: str, web: str, *, is_organization: bool = False) -> Json:
    """A user, an organization or a bot."""
    url = f"{api}/users/{login}"
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {
        "login": login,
        "id": number_of(login),
        "node_id": f"U_{number_of(login)}",
        "avatar_url": f"{web}/avatars/{login}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{web}/{login}",
        **{name: url + rest for name, rest in _USER_LINKS.items()},
        "type": "Organization" if is_organization else kind,
        "site_admin": False,
    }


@dataclass(frozen=True)
class Shapes:
    """The shapes of one repository's records; ``api`` and ``web`` are the addresses that links begin with."""

    repository: Repository
    api: str
    web: str

    @property
    def url(self) -> str:
        """Of the repository, in the API."""
        return f"{self.api}/repos/{self.repository.full_name}"

    @property
    def html(self) -> str:
        """Of the repository, for a browser."""
        return f"{self.web}/{self.repository.full_name}"

    def user(self, login: str) -> Json:
        """A user, an organization or a bot."""
        return user(login, self.api, self.web, is_organization=self._is_organization(login))

    def _is_organization(self, login: str) -> bool:
        return login == self.repository.owner and not self.repository.settings.is_personal

    def full(self) -> Json:
        """The repository itself."""
        repository = self.repository
        settings = repository.settings
        links = {}
        for entry in _REPOSITORY_LINKS.split():
            name, _, path = entry.partition("|")
            stem = name.partition("{")[0].partition("/")[0]
            links[f"{stem}_url"] = f"{self.url}/{path or name}"
        return {
            "id": repository.id,
            "node_id": repository.node_id,
            "name": repository.name,
            "full_name": repository.full_name,
            "private": settings.is_private,
            "visibility": _visibility(settings),
            "owner": self.user(repository.owner),
            "html_url": self.html,
            "description": settings.description or None,
            "fork": settings.is_fork,
            "url": self.url,
            **links,
            "git_url": f"{self.html}.git",
            "ssh_url": f"{self.html}.git",
            "clone_url": f"{self.html}.git",
            "svn_url": self.html,
            "mirror_url": None,
            "homepage": None,
            "language": None,
            "license": None,
            **dict.fromkeys((*_ZEROES, *_WATCHED), 0),
            "default_branch": repository.default_branch,
            "topics": [],
            "is_template": False,
            **self._features(settings),
            "created_at": repository.created_at,
            "updated_at": repository.created_at,
            "pushed_at": repository.created_at,
            "permissions": {"admin": False, "push": True, "pull": True},
        }

    @staticmethod
    def _features(settings: Settings) -> Json:
        return {
            "has_issues": settings.has_issues,
            "has_projects": False,
            "has_wiki": False,
            "has_pages": False,
            "has_downloads": False,
            "has_discussions": False,
            "archived": settings.is_archived,
            "disabled": False,
            "allow_auto_merge": settings.auto_merge,
            "delete_branch_on_merge": settings.delete_branch_on_merge,
            "web_commit_signoff_required": False,
        }


def _visibility(settings: Settings) -> str:
    if settings.is_internal:
        return "internal"
    return "private" if settings.is_private else "public"


def etag(content: bytes, token: str) -> str:
    """Bound to the token: another one's is worth nothing."""
    return f'W/"{hashlib.sha256(content + json.dumps(token).encode()).hexdigest()}"'
