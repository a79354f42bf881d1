"""REST: the repository itself, releases, who one is, and files that are not of the API."""

from __future__ import annotations

from urllib.parse import unquote

from github_stand_in import access
from github_stand_in.exchange import Request, Response
from github_stand_in.model import Release
from github_stand_in.refusals import Refused
from github_stand_in.rest import Context, Hub, Route, paged
from github_stand_in.shapes_hosting import account
from github_stand_in.shapes_releases import ReleaseShapes


def read_repository(context: Context) -> Response:
    """GET /repos/{owner}/{repo}."""
    return Response(200, context.shaped(ReleaseShapes).full())


def _published(context: Context) -> list[Release]:
    """Drafts are for those who may push."""
    try:
        context.need("contents", "write")
    except Refused:
        return [each for each in context.repository.releases if not each.draft]
    return list(context.repository.releases)


def list_releases(context: Context) -> Response:
    """GET /releases, newest first."""
    found = sorted(_published(context), key=lambda each: each.published_at, reverse=True)
    return paged(context, [context.shaped(ReleaseShapes).release(each) for each in found])


def read_release(context: Context) -> Response:
    """GET /releases/tags/{tag}."""
    for release in context.repository.releases:
        if release.tag == context.parameters["tag"] and not release.draft:
            return Response(200, context.shaped(ReleaseShapes).release(release))
    raise Refused(404, "Not Found")


def download(hub: Hub, request: Request) -> Response:
    """Assets of releases, and files at a tag or commit below ``/raw``, for who may see the repository."""
    parts = [unquote(part) for part in request.path.strip("/").split("/")]
    is_raw = parts[0] == "raw"
    full_name, rest = "/".join(parts[is_raw : is_raw + 2]), parts[is_raw + 2 :]
    repository = hub.repositories.get(full_name)
    if repository is None:
        raise Refused(404, "Not Found")
    request.repository = full_name
    access.require_visible(request.token, full_name, repository.settings)
    if is_raw and len(rest) > 1:
        commit = repository.resolve(rest[0])
        entry = repository.store.entry(commit, "/".join(rest[1:])) if commit else None
        if entry is not None and entry.kind == "blob":
            return _bytes(repository.store.content(entry.oid))
    if rest[:2] == ["releases", "download"] and len(rest) == 4:
        for release in repository.releases:
            for asset in release.assets:
                if [release.tag, asset.name] == rest[2:]:
                    return _bytes(asset.content)
    raise Refused(404, "Not Found")


def _bytes(content: bytes) -> Response:
    return Response(200, content, {"Content-Type": "application/octet-stream"})


def who(hub: Hub, request: Request) -> Response:
    """GET /user: an installation is no user."""
    if request.token is None:
        raise Refused(401, "Requires authentication")
    if request.token.is_installation:
        raise Refused(403, "Resource not accessible by integration")
    return Response(200, account(request.token.login, request.api, request.host, hub.clock.text))


_BASE_ROLES = {"maintain": "write", "triage": "read"}


def read_permission(context: Context) -> Response:
    """GET /collaborators/{username}/permission: an app is no user, and neither is an account that is gone."""
    login = context.parameters["username"]
    role = context.repository.role(login)
    if login.endswith("[bot]") or role == "gone":
        raise Refused(404, f"{login} is not a user")
    user = {**context.shaped(ReleaseShapes).user(login), "role_name": role}
    return Response(200, {"permission": _BASE_ROLES.get(role, role), "role_name": role, "user": user})


_REPOSITORY = "/repos/{owner}/{repo}"
ROUTES = (
    Route("GET", f"{_REPOSITORY}/collaborators/{{username}}/permission", "metadata", read_permission),
    Route("GET", f"{_REPOSITORY}/releases", "contents", list_releases),
    Route("GET", f"{_REPOSITORY}/releases/tags/{{tag}}", "contents", read_release),
    Route("GET", _REPOSITORY, "metadata", read_repository),
)
