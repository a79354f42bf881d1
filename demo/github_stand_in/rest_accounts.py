"""REST: what is asked of an account or of the server, not of a repository: creating one, who is who, meta."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from github_stand_in import access
from github_stand_in.exchange import Request, Response
from github_stand_in.refusals import Refused, invalid
from github_stand_in.rest import Hub
from github_stand_in.shapes import Json
from github_stand_in.shapes_hosting import HostingShapes, account


def serve(hub: Hub, request: Request) -> Response | None:
    """Answer a request; None: it is of another kind. Raises Refused."""
    for method, pattern, handler in _ROUTES:
        found = re.fullmatch(pattern, request.path)
        if found is not None and method == request.method:
            return handler(hub, request, {name: unquote(value) for name, value in found.groupdict().items()})
    return None


def resolve(hub: Hub, request: Request) -> None:
    """A repository may be asked for by its number, as redirects do."""
    for repository in hub.repositories.values():
        begin = f"/repositories/{repository.id}"
        if request.path == begin or request.path.startswith(f"{begin}/"):
            request.path = f"/repos/{repository.full_name}{request.path.removeprefix(begin)}"


def moved(hub: Hub, request: Request, full_name: str) -> Response | None:
    """What is answered for a repository that was renamed; None: it was not.

    https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
    """
    number = hub.renamed.get(full_name)
    if number is None or full_name in hub.repositories:
        return None
    url = f"{request.api}/repositories/{number}"
    body = {"message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest"}
    return Response(301 if request.method == "GET" else 307, body, {"Location": url})


def _create_for_organization(hub: Hub, request: Request, parameters: Mapping[str, str]) -> Response:
    organization = hub.organizations.get(parameters["org"])
    body = _body(request)
    visibility = body.get("visibility") or ("private" if body.get("private") else "public")
    token = access.require_creation(request.token, "", is_private=visibility != "public")
    if organization is None:
        raise Refused(404, "Not Found")
    if not organization.members_may_create and not token.is_installation:
        raise Refused(403, "You need admin access to the organization before adding a repository to it.")
    if visibility == "internal" and not organization.is_of_enterprise:
        raise Refused(422, "Validation Failed", [{"code": "invalid", "field": "visibility"}])
    return _create(hub, request, organization.login, body, visibility)


def _create_for_user(hub: Hub, request: Request, _: Mapping[str, str]) -> Response:
    body = _body(request)
    token = access.require_creation(request.token, "", is_private=bool(body.get("private")))
    if token.is_installation:
        raise Refused(403, "Resource not accessible by integration")
    visibility = "private" if body.get("private") else "public"
    return _create(hub, request, token.login, body, visibility, is_personal=True)


def _create(  # noqa: PLR0913  (what a repository begins with)
    hub: Hub, request: Request, owner: str, body: Json, visibility: str, *, is_personal: bool = False
) -> Response:
    name = re.sub(r"[^A-Za-z0-9._-]", "-", str(body.get("name") or ""))
    if not name:
        raise invalid("Repository", "name", "missing_field")
    if f"{owner}/{name}".lower() in (known.lower() for known in hub.repositories):
        error = {"resource": "Repository", "code": "custom", "field": "name"}
        error["message"] = "name already exists on this account"
        raise Refused(422, "Repository creation failed.", [error])
    repository = hub.create_repository(
        f"{owner}/{name}",
        {"README.md": f"# {name}\n".encode()} if body.get("auto_init") else None,
        is_private=visibility != "public",
        is_internal=visibility == "internal",
        is_personal=is_personal,
        description=str(body.get("description") or ""),
        admins=(request.token.login,) if request.token else (),
    )
    shapes = HostingShapes(repository, request.api, request.host)
    return Response(201, shapes.full(), {"Location": shapes.url})


def _body(request: Request) -> Json:
    try:
        body = request.json
    except ValueError:
        raise Refused(400, "Problems parsing JSON") from None
    if not isinstance(body, dict):
        raise Refused(400, "Body should be a JSON object")
    return body


def _account(hub: Hub, request: Request, parameters: Mapping[str, str]) -> Response:
    login = parameters["login"]
    is_organization = login in hub.organizations
    if not is_organization and login not in hub.people:
        raise Refused(404, "Not Found")
    shown = account(login, request.api, request.host, hub.clock.text, is_organization=is_organization)
    return Response(200, shown)


def _meta(hub: Hub, request: Request, _: Mapping[str, str]) -> Response:
    del request
    body: Json = {"verifiable_password_authentication": False}
    return Response(200, {**body, "ssh_keys": list(hub.host_keys)} if hub.host_keys else body)


_Handler = Callable[[Hub, Request, Mapping[str, str]], Response]
_ROUTES: tuple[tuple[str, str, _Handler], ...] = (
    ("POST", r"/orgs/(?P<org>[^/]+)/repos", _create_for_organization),
    ("POST", r"/user/repos", _create_for_user),
    ("GET", r"/users/(?P<login>[^/]+)", _account),
    ("GET", r"/meta", _meta),
)
