"""The stand-in itself: repositories, tokens, and the way of a request through limits, faults and log."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from github_stand_in import (
    access,
    faults,
    graphql_api,
    rest,
    rest_accounts,
    rest_actions,
    rest_git,
    rest_hosting,
    rest_other,
    rest_pulls,
    smart_http,
)
from github_stand_in.exchange import Call, Fault, Observer, Planned, Request, Response
from github_stand_in.hosting import HOST_KEYS, Organization
from github_stand_in.limits import Limits
from github_stand_in.model import Clock, Settings, Token
from github_stand_in.refusals import Refused
from github_stand_in.repository import Repository
from github_stand_in.server import Server
from github_stand_in.shapes import etag

_ROUTES = (*rest_git.ROUTES, *rest_pulls.ROUTES, *rest_hosting.ROUTES, *rest_actions.ROUTES, *rest_other.ROUTES)


def _nothing(number: int, request: Request) -> None:
    """Before a call, by default."""


def _no_more(call: Call) -> None:
    """After a call, by default."""


class StandIn:
    """GitHub, on loopback. See the package.

    ``folder`` will hold the Git repositories; ``tls`` makes it an https server.
    """

    def __init__(self, folder: Path, clock: Clock | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.clock = clock or Clock()
        self.limits = Limits(self.clock)
        self.repositories: dict[str, Repository] = {}
        self.organizations: dict[str, Organization] = {}
        """By name; whoever owns a repository that is not personal is one."""
        self.people: set[str] = {"alice", "bob"}
        self.host_keys: tuple[str, ...] = HOST_KEYS
        """Of its SSH server; none, as GitHub Enterprise Server tells none."""
        self.enterprise_version = ""
        """Of GitHub Enterprise Server, `3.17.0`; empty: it is github.com."""
        self.named = ""
        """What its addresses begin with if it names itself otherwise than it is asked, as behind a proxy."""
        self.renamed: dict[str, int] = {}
        """Former name of a repository → its number."""
        self.log: list[Call] = []
        self.before_call: Callable[[int, Request], None] = _nothing
        self.after_call: Callable[[Call], None] = _no_more
        self.observers: list[Observer] = []
        """Called with each exchange over the API: the request and the true answer to it."""
        self.drop_seconds = 0.02
        """Between two of the eight drops of a slow answer."""
        self._folder = folder
        self._tokens: dict[str, Token] = {}
        self._planned: list[Planned] = []
        self._ids = 0
        self._calls = 0
        self._lock = threading.RLock()
        self._server = Server(self, tls)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """For a browser; no slash at the end."""
        return self._server.url

    @property
    def api_url(self) -> str:
        """Of the REST API, as on GitHub Enterprise Server (``GITHUB_API_URL``)."""
        return f"{self.url}/api/v3"

    @property
    def graphql_url(self) -> str:
        """Of the GraphQL API, as on GitHub Enterprise Server (``GITHUB_GRAPHQL_URL``)."""
        return f"{self.url}/api/graphql"

    # What there is

    def create_repository(
        self, full_name: str, files: Mapping[str, bytes] | None = None, **settings: Any
    ) -> Repository:
        """Make a repository with one commit of ``files`` (None: empty); ``settings`` as in Settings."""
        folder = self._folder / f"{full_name}.git"
        number = 1000 + len(self.repositories)
        repository = Repository(folder, full_name, number, self.clock, Settings(**settings))
        self.repositories[full_name] = repository
        if not repository.settings.is_personal:
            self.add_organization(repository.owner)
        if files is not None:
            repository.commit(files, "Begin\n")
        return repository

    def add_organization(self, login: str) -> Organization:
        """Make an organization, or find it."""
        return self.organizations.setdefault(login, Organization(login))

    def rename(self, full_name: str, name: str) -> None:
        """Give a repository another name; the former one redirects from now on."""
        repository = self.repositories.pop(full_name)
        self.renamed[full_name] = repository.id
        repository.full_name, repository.name = f"{repository.owner}/{name}", name
        self.repositories[repository.full_name] = repository

    def token(self, kind: str = "actions", permissions: Mapping[str, str] | None = None, **more: Any) -> Token:
        """Issue a token: ``actions``, ``app``, ``classic`` or ``fine-grained``; see access.make_token."""
        token = access.make_token(len(self._tokens), kind, permissions, **more)
        self._tokens[token.value] = token
        return token

    def revoke(self, token: Token) -> None:
        """From now on, ``Bad credentials``."""
        del self._tokens[token.value]

    def exhaust(self, token: Token) -> None:
        """Use up what a token may call in this hour. Until then calls are counted, and no limit strikes."""
        self.limits.exhaust(token)

    # What goes wrong, and what was asked

    def fail(
        self, fault: Fault, matches: Callable[[Request], bool] | None = None, *, at_call: int = 1, times: int = 1
    ) -> None:
        """Let a fault strike at the nth call to the API (of those that match) from now on, ``times`` times."""
        self._planned.append(Planned(fault, matches or _any, at_call, times))

    def heal(self) -> None:
        """Forget the faults that did not strike yet."""
        self._planned.clear()

    def forget(self) -> None:
        """Empty the log, and count calls from 1 again."""
        self.log.clear()
        self._calls = 0

    @property
    def calls(self) -> list[Call]:
        """Those to the API."""
        return [call for call in self.log if call.is_api]

    @property
    def reads(self) -> list[Call]:
        """Those that cannot have changed anything."""
        return [call for call in self.calls if not call.is_write]

    @property
    def writes(self) -> list[Call]:
        """Those that were meant to change something."""
        return [call for call in self.calls if call.is_write]

    @property
    def downloads(self) -> list[Call]:
        """Those of files, not of the API."""
        return [call for call in self.log if not call.is_api and ".git/" not in call.path]

    def next_id(self) -> int:
        """A number that was not given to anything yet."""
        self._ids += 1
        return self._ids

    # The way of a request

    def answer(self, request: Request) -> tuple[Response, Fault | None]:
        """Serve a request: the answer, and what is to go wrong while it is sent."""
        value = smart_http.credential(request)
        request.token = self._tokens.get(value)
        request.host = self.named or request.host
        if request.path == "/graphql":
            request.operation = graphql_api.operation_of(request)
        with self._lock:
            if request.is_api:
                self._calls += 1
                request.number = self._calls
            fault = next((p.fault for p in self._planned if request.is_api and p.take(request)), None)
        if request.is_api:
            self.before_call(request.number, request)
        with self._lock:
            response, is_applied = self._served(request, value, fault)
            status = 0 if fault is not None and fault.how == "reset" else response.status
            kind = "" if request.token is None else request.token.kind
            call = Call(
                request.number,
                request.method,
                request.path,
                kind,
                request.repository,
                request.operation,
                request.is_write,
                request.is_api,
                status,
                is_applied,
            )
            self.log.append(call)
        self.after_call(call)
        return response, fault

    def _served(self, request: Request, value: str, fault: Fault | None) -> tuple[Response, bool]:
        if fault is not None and not fault.is_applied:
            return faults.answer_of(fault, request, self.limits.ends), False
        response = self._work(request, value)
        if request.is_api:
            for observer in self.observers:
                observer(request, response)
        if fault is not None and fault.how == "answer":
            response = faults.answer_of(fault, request, self.limits.ends)
        return response, True

    def _work(self, request: Request, value: str) -> Response:
        try:
            response = self._answered(request, is_known=not value or request.token is not None)
        except Refused as refused:
            response = Response(refused.status, refused.body(), refused.headers)
        if not request.is_api:
            return response
        if request.method == "GET" and response.status == 200:
            response.headers["ETag"] = etag(response.content(), value)
            if request.headers.get("if-none-match") == response.headers["ETag"]:
                self.limits.give_back(request.token)
                response = Response(304, None, {"ETag": response.headers["ETag"]})
        resource = "graphql" if request.path == "/graphql" else "core"
        token = request.token
        limits = {
            **({"x-oauth-scopes": ", ".join(token.scopes)} if token and token.kind == "classic" else {}),
            **self.limits.headers(request.token, resource),
            **({"x-github-enterprise-version": self.enterprise_version} if self.enterprise_version else {}),
            "x-github-request-id": f"0000:{request.number:04}",
        }
        response.headers = {**limits, **response.headers}
        return response

    def _answered(self, request: Request, *, is_known: bool) -> Response:
        if not is_known:
            raise Refused(401, "Bad credentials")
        if not request.is_api:
            return smart_http.serve(self, request) or rest_other.download(self, request)
        if request.path == "/rate_limit":
            return Response(200, self.limits.overview(request.token))
        if self.limits.count(request.token):
            return faults.answer_of(faults.FAULTS["403 primary limit"], request, self.limits.ends)
        if request.path == "/graphql":
            return graphql_api.serve(self, request)
        if request.path == "/user":
            return rest_other.who(self, request)
        rest_accounts.resolve(self, request)
        found = rest_accounts.serve(self, request) or rest_accounts.moved(self, request, request.repository)
        return found or rest.serve(self, _ROUTES, request)


def _any(_: Request) -> bool:
    return True
