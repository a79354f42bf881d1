"""What each kind of token may do, and the words in which it is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from github_stand_in.gitstore import GitStore
from github_stand_in.model import Settings, Token
from github_stand_in.refusals import Refused

DEFAULT_PERMISSIONS = {"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write"}
_PREFIXES = {"actions": "ghs_", "app": "ghs_", "classic": "ghp_", "fine-grained": "github_pat_"}
_LOGINS = {"actions": "github-actions[bot]", "app": "acme-upgrades[bot]"}
_WHO = {"fine-grained": "personal access token"}
WORKFLOWS = ".github/workflows/"
_NOT_FOR_ACTIONS = frozenset(("administration", "secrets", "environments", "members"))
"""What no workflow can give its GITHUB_TOKEN."""


def make_token(  # noqa: PLR0913  (a token is what it may do)
    number: int,
    kind: str,
    permissions: Mapping[str, str] | None = None,
    *,
    login: str = "",
    scopes: tuple[str, ...] = ("repo",),
    repositories: tuple[str, ...] = (),
    is_sso_authorized: bool = False,
) -> Token:
    """A token of its kind; permissions are named as a workflow or as the API names them."""
    value = _PREFIXES[kind] + hashlib.sha256(f"{kind} {number}".encode()).hexdigest()[:36]
    given = DEFAULT_PERMISSIONS if permissions is None else permissions
    named = {name.replace("-", "_"): level for name, level in given.items()} | {"metadata": "read"}
    return Token(
        value=value,
        kind=kind,
        login=login or _LOGINS.get(kind, "alice"),
        permissions={} if kind == "classic" else named,
        scopes=scopes if kind == "classic" else (),
        repositories=repositories,
        is_sso_authorized=is_sso_authorized,
    )


def require_visible(token: Token | None, full_name: str, settings: Settings) -> None:
    """404 for what the token must not even know of, 403 for an organization's single sign-on."""
    if token is not None and token.kind in ("classic", "fine-grained"):
        require_sso(token, settings)
    if not settings.is_private:
        return
    is_given = token is not None and (not token.repositories or full_name in token.repositories)
    if token is not None and token.kind == "classic":
        is_given = "repo" in token.scopes
    if not is_given:
        raise Refused(404, "Not Found")


def require_sso(token: Token, settings: Settings) -> None:
    """403 where the organization demands an authorization that a personal token lacks."""
    if settings.requires_sso and not token.is_sso_authorized:
        raise Refused(
            403,
            "Resource protected by organization SAML enforcement. You must grant your Personal Access"
            " token access to this organization.",
            headers={"X-GitHub-SSO": "required; url=https://github.example/orgs/acme/sso?authorization_request=A"},
            docs="https://docs.github.com/articles/authenticating-to-a-github-organization-with-saml-single-sign-on/",
        )


def require(token: Token | None, full_name: str, settings: Settings, permission: str, level: str) -> None:
    """Refuse what the token may not do. ``permission`` may name several, with ``|``: one suffices."""
    require_visible(token, full_name, settings)
    if level == "read" and not settings.is_private:
        return
    if token is None:
        raise Refused(401, "Requires authentication")
    if token.kind == "classic":
        wanted = {"repo"} if settings.is_private else {"repo", "public_repo"}
        if not wanted & set(token.scopes):
            raise Refused(404, "Not Found")
        return
    _require_given(token, full_name, permission, level)


def _require_given(token: Token, full_name: str, permission: str, level: str) -> None:
    levels = ("read", "write", "admin") if level == "read" else ("write", "admin")
    is_given = not token.repositories or full_name in token.repositories
    if not is_given or not any(_level(token, name) in levels for name in permission.split("|")):
        raise Refused(
            403,
            f"Resource not accessible by {_WHO.get(token.kind, 'integration')}",
            headers={"X-Accepted-GitHub-Permissions": "; ".join(f"{n}={level}" for n in permission.split("|"))},
        )


def _level(token: Token, permission: str) -> str:
    if token.kind == "actions" and permission in _NOT_FOR_ACTIONS:
        return ""
    return token.permissions.get(permission, "")


def require_admin(token: Token | None, full_name: str, settings: Settings, level: str) -> None:
    """Refuse who does not run the repository: keys and teams are not for readers, be it public or not."""
    if token is None:
        raise Refused(401, "Requires authentication")
    require_visible(token, full_name, settings)
    if token.kind == "classic" and "repo" not in token.scopes:
        raise Refused(404, "Not Found")
    if not token.is_installation and token.login not in settings.admins:
        raise Refused(403, "Must have admin rights to Repository.")
    if token.kind != "classic":
        _require_given(token, full_name, "administration", level)


def require_creation(token: Token | None, full_name: str, *, is_private: bool) -> Token:
    """Refuse who may not create a repository, wherever that may be. The token."""
    if token is None:
        raise Refused(401, "Requires authentication")
    if token.kind == "classic":
        if not ({"repo"} if is_private else {"repo", "public_repo"}) & set(token.scopes):
            raise Refused(404, "Not Found")
    else:
        # One that was given for chosen repositories was not given for this one, which is not there yet.
        _require_given(token, full_name, "administration", "write")
    return token


def may_write_workflows(token: Token) -> bool:
    """GITHUB_TOKEN never may: ``workflows`` is no permission that a workflow can give itself."""
    if token.kind == "classic":
        return "workflow" in token.scopes
    return token.kind != "actions" and token.permissions.get("workflows") == "write"


def require_workflows(token: Token, store: GitStore, commit: str, *, by_push: bool = False) -> None:
    """403 for a commit (or tree) with a workflow file that no branch has in this very form.

    The REST API gives installations no reason; pushes and GraphQL do.
    """
    if may_write_workflows(token):
        return
    wanted = _workflows(store, commit)
    for head in set(store.refs("refs/heads/").values()) if wanted else ():
        wanted -= _workflows(store, head)
    if not wanted:
        return
    if token.is_installation and not by_push:
        raise Refused(403, "Resource not accessible by integration")
    who = "a GitHub App" if token.is_installation else "a Personal Access Token"
    permission = "`workflow` scope" if token.kind == "classic" else "`workflows` permission"
    path = min(wanted)[0]
    raise Refused(403, f"refusing to allow {who} to create or update workflow `{path}` without {permission}")


def _workflows(store: GitStore, commit: str) -> set[tuple[str, str]]:
    """Path and blob of each workflow file of a commit."""
    folder = store.entry(commit, WORKFLOWS.rstrip("/"))
    if folder is None or folder.kind != "tree":
        return set()
    return {(WORKFLOWS + each.path, each.oid) for each in store.entries(folder.oid, recursive=True)}
