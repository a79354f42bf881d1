"""A service that gives tokens for a real registry: Docker's "Token Authentication" and "OAuth2 token"."""

from __future__ import annotations

import base64
import json
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jwt
from loopback_server import LoopbackServer

from adapters.loopback import Handler
from adapters.registries import PASSWORD, USERNAME, own_certificate

_SERVICE, _ISSUER = "registry.test", "tokens.test"
IDENTITY_TOKEN = "identity-token-of-the-tests"


@dataclass
class TokenService:
    """Gives each user the actions that stand here, of those that are asked for."""

    certificate: Path
    key: Path
    url: str = ""
    actions: dict[str, set[str]] = field(default_factory=lambda: {USERNAME: {"pull", "push"}})
    """Of each user; the one without a name is anybody."""
    lifetime: int = 300
    """Seconds."""
    takes_post: bool = True
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, user and scope of each request."""
    given: list[str] = field(default_factory=list)
    """Tokens."""

    @property
    def auth(self) -> str:
        """What a registry's config file says of it."""
        options = {
            "realm": f"{self.url}/token",
            "service": _SERVICE,
            "issuer": _ISSUER,
            "rootcertbundle": str(self.certificate),
        }
        return f"auth: {json.dumps({'token': options})}\n"

    def token(self, user: str, scope: str) -> str:
        access = []
        for each in scope.split():
            kind, name, actions = each.rsplit(":", 2)
            allowed = sorted(set(actions.split(",")) & self.actions.get(user, set()))
            access.append({"type": kind, "name": name.partition(":")[2] or name, "actions": allowed})
        now = int(time.time())
        claims = {
            "iss": _ISSUER,
            "aud": _SERVICE,
            "sub": user,
            "iat": now,
            "nbf": now - 10,
            "exp": now + self.lifetime,
            "jti": str(len(self.given)),
            "access": access,
        }
        der = ssl.PEM_cert_to_DER_cert(self.certificate.read_text())
        headers = {"x5c": [b64encode(der).decode()]}
        token = jwt.encode(claims, self.key.read_text(), algorithm="RS256", headers=headers)
        self.given.append(token)
        return token


class _Handler(Handler):
    server: _Server

    def do_GET(self) -> None:  # noqa: N802  (http.server's name)
        query = parse_qs(urlsplit(self.path).query)
        header = self.headers.get("Authorization", "")
        user = ""
        if header:
            user, _, password = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
            if (user, password) != (USERNAME, PASSWORD):
                self._answer(401, {"details": "incorrect username or password"})
                return
        self._give("GET", user, query)

    def do_POST(self) -> None:  # noqa: N802  (http.server's name)
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if not self.server.service.takes_post:
            self._answer(404, {})
        elif form["grant_type"] != ["refresh_token"] or form["refresh_token"] != [IDENTITY_TOKEN]:
            self._answer(401, {"details": "no such token"})
        else:
            self._give("POST", USERNAME, form)

    def _give(self, method: str, user: str, asked: dict[str, list[str]]) -> None:
        assert asked["service"] == [_SERVICE]
        scope = " ".join(asked.get("scope", []))
        self.server.service.seen.append((method, user, scope))
        token = self.server.service.token(user, scope)
        self._answer(200, {"access_token" if method == "POST" else "token": token})

    def _answer(self, status: int, content: dict[str, str]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(LoopbackServer):
    def __init__(self, service: TokenService) -> None:
        super().__init__(_Handler)
        self.service = service


@contextmanager
def run_token_service(folder: Path) -> Iterator[TokenService]:
    """It, listening; its certificate is made in ``folder``."""
    service = TokenService(*own_certificate(folder, "rsa:2048"))
    with _Server(service) as server:
        service.url = server.url
        yield service
