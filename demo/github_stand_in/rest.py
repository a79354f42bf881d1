"""The REST API: which path is served by what, and what a token needs for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote

from github_stand_in import access
from github_stand_in.exchange import Request, Response
from github_stand_in.hosting import Organization
from github_stand_in.limits import Limits
from github_stand_in.model import Clock, Token
from github_stand_in.refusals import Refused
from github_stand_in.repository import Repository
from github_stand_in.shapes import Shapes


class Hub(Protocol):
    """What handlers need of the server."""

    clock: Clock
    limits: Limits

    organizations: dict[str, Organization]
    people: set[str]
    host_keys: tuple[str, ...]
    renamed: dict[str, int]

    @property
    def repositories(self) -> Mapping[str, Repository]:
        """By full name."""
        ...

    def create_repository(
        self, full_name: str, files: Mapping[str, bytes] | None = None, **settings: Any
    ) -> Repository:
        """Make a repository."""
        ...

    def next_id(self) -> int:
        """A number that was not given to anything yet."""
        ...


S = TypeVar("S", bound=Shapes)


@dataclass
class Context:
    """One request to one repository."""

    hub: Hub
    request: Request
    repository: Repository
    parameters: Mapping[str, str]

    def shaped(self, kind: type[S]) -> S:
        """How this repository's records are shown to this request."""
        return kind(self.repository, self.request.api, self.request.host)

    @property
    def token(self) -> Token:
        """The token; routes that write are only reached with one."""
        if self.request.token is None:
            raise Refused(401, "Requires authentication")
        return self.request.token

    @property
    def json(self) -> dict[str, Any]:
        """The body. Raises Refused."""
        try:
            body = self.request.json
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None
        if not isinstance(body, dict):
            raise Refused(400, "Body should be a JSON object")
        return body

    def number(self, name: str = "number") -> int:
        """A number in the path. Raises Refused."""
        if not self.parameters[name].isdigit():
            raise Refused(404, "Not Found")
        return int(self.parameters[name])

    def need(self, permission: str, level: str) -> None:
        """Refuse what the token may not do."""
        repository = self.repository
        access.require(self.request.token, repository.full_name, repository.settings, permission, level)


Handler = Callable[[Context], Response]


@dataclass(frozen=True)
class Route:
    """A method and a path template as GitHub's description writes it; ``{ref}`` spans several segments."""

    method: str
    template: str
    permission: str
    handler: Handler

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters, where the path is of this template."""
        found = self._pattern.fullmatch(path)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\\\{(\w+)\\\}", _named, re.escape(self.template)))


def _named(found: re.Match[str]) -> str:
    return f"(?P<{found[1]}>{'.+' if found[1] in ('ref', 'name', 'path') else '[^/]+'})"


def serve(hub: Hub, routes: tuple[Route, ...], request: Request) -> Response:
    """Answer a request below ``/repos``. Raises Refused."""
    found = [(route, m) for route in routes if (m := route.match(request.path)) is not None]
    fitting = [(route, m) for route, m in found if route.method == request.method]
    if not fitting:
        raise Refused(404, "Not Found")
    route, parameters = fitting[0]
    repository = hub.repositories.get(f"{parameters['owner']}/{parameters['repo']}")
    if repository is None:
        raise Refused(404, "Not Found")
    request.repository = repository.full_name
    context = Context(hub, request, repository, parameters)
    context.need(route.permission, "write" if request.is_write else "read")
    if request.is_write and repository.settings.is_archived:
        raise Refused(403, "Repository was archived so is read-only.")
    return route.handler(context)


def paged(context: Context, records: list[Any]) -> Response:
    """One page of a list, with the links to the others (RFC 8288)."""
    query = context.request.query
    size = min(int(query.get("per_page", "30")), 100)
    page = max(int(query.get("page", "1")), 1)
    last = max((len(records) + size - 1) // size, 1)
    path = f"{context.request.api}{context.request.path}?"
    others = "".join(f"{name}={value}&" for name, value in query.items() if name not in ("page", "per_page"))
    links = {"next": page + 1, "last": last} if page < last else {}
    link = ", ".join(f'<{path}{others}per_page={size}&page={to}>; rel="{rel}"' for rel, to in links.items())
    return Response(body=records[(page - 1) * size : page * size], headers={"Link": link} if link else {})
