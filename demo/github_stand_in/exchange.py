"""What goes over the wire: a request, its answer, the log's line, a fault put in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from github_stand_in.model import Token


@dataclass
class Request:
    """A request as it came in. Header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    host: str
    """``http://127.0.0.1:8080``."""
    token: Token | None = None
    number: int = 0
    """Counts the calls to the API from 1; 0 for downloads and Git."""
    prefix: str = ""
    """What stands before the API's path, as on GitHub Enterprise Server: ``/api/v3``."""
    path: str = ""
    """Of the API, without prefix and query; for others the whole path."""
    repository: str = ""
    """Full name, as soon as it is known."""
    operation: str = ""
    """Of GraphQL: ``query``, or the names of the mutations."""

    def __post_init__(self) -> None:
        path = urlsplit(self.target).path
        for prefix in ("/api/v3", "/api"):
            if path.startswith(prefix + "/") and (prefix == "/api/v3" or path == "/api/graphql"):
                self.prefix, path = prefix, path[len(prefix) :]
                break
        self.path = path
        parts = path.split("/")
        if parts[1:2] == ["repos"] and len(parts) > 3:
            self.repository = "/".join(parts[2:4])

    @property
    def query(self) -> dict[str, str]:
        """The last value of each parameter."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def json(self) -> Any:
        """The body as JSON. Raises ValueError."""
        return json.loads(self.body or b"{}")

    @property
    def api(self) -> str:
        """The address that the API's paths are put after."""
        return self.host + ("/api/v3" if self.prefix else "")

    @property
    def is_api(self) -> bool:
        """Whether it goes to the API: not a download, nor Git's own protocol."""
        begins = ("/repos/", "/repositories/", "/user", "/orgs/")
        return self.path.startswith(begins) or self.path in ("/graphql", "/rate_limit", "/meta")

    @property
    def is_write(self) -> bool:
        """Whether it is meant to change something."""
        if self.path == "/graphql":
            return self.operation not in ("", "query")
        return self.method not in ("GET", "HEAD")


@dataclass
class Response:
    """An answer. ``body`` is JSON unless it is bytes; None: there is none."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        """The body's bytes."""
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Call:
    """A line of the log. The token itself is never kept, only what kind it was."""

    number: int
    method: str
    path: str
    token_kind: str
    """Empty: there was none, or one that is not known."""
    repository: str
    operation: str
    is_write: bool
    is_api: bool
    status: int
    """What was answered; 0: nothing was, the connection was cut."""
    is_applied: bool
    """Whether it got as far as the handler, whatever was answered then."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong instead of, or after, the call's work."""

    name: str
    status: int = 0
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    how: str = "answer"
    """``answer``, ``reset``, ``truncated`` (half of the true answer), ``slow`` (all of it, in drops)."""
    is_applied: bool = False
    """The work is done before it goes wrong."""

    def after_the_work(self) -> Fault:
        """The same, but what was asked for has been done."""
        return replace(self, name=f"{self.name}, applied", is_applied=True)


@dataclass
class Planned:
    """A fault that waits for its call."""

    fault: Fault
    matches: Callable[[Request], bool]
    at_call: int
    times: int

    def take(self, request: Request) -> bool:
        """Whether it strikes now."""
        if not self.matches(request):
            return False
        self.at_call -= 1
        if self.at_call >= 1 or self.times == 0:
            return False
        self.times -= 1
        return True


Observer = Callable[[Request, Response], None]
