"""A registry's challenge is answered with the credential that is for it, and an unsafe realm is never asked."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback
from adapters.registries import NoCredentials
from flux_upgrade.adapters.http.client import Client, RequestOptions, Response
from flux_upgrade.adapters.oci.registry_credentials import GivenCredentials, RegistryCredential
from flux_upgrade.adapters.oci.registry_login import RegistryLogin, bearer_challenge
from flux_upgrade.model.errors import ForbiddenByRegistry, SourceUnavailable

SECRET = "right-horse"
BASIC = f"Basic {b64encode(f'me:{SECRET}'.encode()).decode()}"
PATH = "org/app"


def challenge(header: str) -> Answer:
    return Answer(status=401, headers={"WWW-Authenticate": header})


def token(text: str = "a.b.c") -> Answer:
    return Answer(json.dumps({"token": text}).encode())


def login(client: Client, base: str, credentials: object = None) -> RegistryLogin:
    host = base.partition("://")[2]
    assert credentials is None or isinstance(credentials, NoCredentials)
    return RegistryLogin(client, base, PATH, credentials or GivenCredentials(host, "me", SECRET))


def asked(client: Client, base: str, tried: RegistryLogin) -> int:
    """The status of what comes back for ``/x``."""
    response = tried.ask(lambda headers: client.get(f"{base}/x", RequestOptions(headers, accept_status=(401, 403))))
    tried.check(response)
    return response.status


def refusal(client: Client, base: str, tried: RegistryLogin) -> SourceUnavailable:
    with pytest.raises(SourceUnavailable) as caught:
        asked(client, base, tried)
    for secret in (SECRET, BASIC.partition(" ")[2]):
        assert secret not in caught.value.message + caught.value.hint + repr(vars(tried)["_credential"])
    return caught.value


@pytest.mark.parametrize(
    ("header", "parameters"),
    [
        ('Bearer realm="https://a/b",service="s",scope="c d,e"', {"realm": "https://a/b", "service": "s", "scope": "c d,e"}),
        ('bearer REALM="x"', {"realm": "x"}),
        ("Bearer realm=https://a/b?c,service=s", {"realm": "https://a/b?c", "service": "s"}),
        ('Basic realm="a", Bearer realm="b",error="insufficient_scope"', {"realm": "b", "error": "insufficient_scope"}),
        ('Basic realm="a"', None),
        ("", None),
        ("Bearer ", {}),
    ],
)  # fmt: skip
def test_bearer_challenges(header: str, parameters: dict[str, str] | None) -> None:
    assert bearer_challenge(header) == parameters


@pytest.mark.parametrize("header", ['Basic realm="x"', "basic", 'Negotiate, Basic realm="x"'])
def test_basic(server: Loopback, clients: Clients, header: str) -> None:
    server.route("/x", challenge(header), Answer())
    client = clients()
    tried = login(client, server.url)
    assert asked(client, server.url, tried) == asked(client, server.url, tried) == 200
    assert [seen.headers.get("authorization") for seen in server.seen] == [None, BASIC, BASIC]
    assert len(server.seen) == 3


@pytest.mark.parametrize("header", ["", "Negotiate", 'Digest realm="basic"'])
def test_a_challenge_of_an_unsupported_scheme(server: Loopback, clients: Clients, header: str) -> None:
    server.route("/x", challenge(header))
    client = clients()
    assert isinstance(refusal(client, server.url, login(client, server.url)), ForbiddenByRegistry)
    assert [seen.headers.get("authorization") for seen in server.seen] == [None]


def test_the_realm_gets_the_password_and_the_registry_the_token(
    server: Loopback, clients: Clients, stack: ExitStack
) -> None:
    realm = stack.enter_context(Loopback({"/token": token()}))
    server.route("/x", challenge(f'Bearer realm="{realm.url}/token",service="s"'), Answer())
    client = clients()
    assert asked(client, server.url, login(client, server.url)) == 200
    assert [seen.headers.get("authorization") for seen in server.seen] == [None, "Bearer a.b.c"]
    assert [seen.headers.get("authorization") for seen in realm.seen] == [BASIC]
    assert realm.paths() == ["/token?service=s&scope=repository%3Aorg%2Fapp%3Apull"]


def test_a_redirect_of_a_realm_gets_no_credential(server: Loopback, clients: Clients, stack: ExitStack) -> None:
    realm, other = stack.enter_context(Loopback()), stack.enter_context(Loopback({"/token": token()}))
    realm.route("/token", Answer(status=307, headers={"Location": f"{other.url}/token"}))
    server.route("/x", challenge(f'Bearer realm="{realm.url}/token"'), Answer())
    client = clients()
    asked(client, server.url, login(client, server.url))
    assert "authorization" not in other.seen[0].headers


@pytest.mark.parametrize("realm", ["http://localhost.example/token", "ftp://127.0.0.1/", "http://[::1/x", "", "/token"])
def test_a_realm_that_is_not_safe_is_not_asked(server: Loopback, clients: Clients, realm: str) -> None:
    server.route("/x", challenge(f'Bearer realm="{realm}"'))
    client = clients()
    assert isinstance(refusal(client, server.url, login(client, server.url)), ForbiddenByRegistry)
    assert server.paths() == ["/x"]


def test_a_realm_without_tls_of_a_registry_with(server: Loopback, clients: Clients, tls: tuple[Loopback, str]) -> None:
    secure, certificate = tls
    secure.route("/x", challenge(f'Bearer realm="{server.url}/token"'))
    client = clients(ca_file=certificate)
    assert isinstance(refusal(client, secure.url, login(client, secure.url)), ForbiddenByRegistry)
    assert server.seen == []


def test_a_realm_with_tls_of_a_registry_without(server: Loopback, clients: Clients, tls: tuple[Loopback, str]) -> None:
    secure, certificate = tls
    secure.route("/token", token())
    server.route("/x", challenge(f'Bearer realm="{secure.url}/token"'), Answer())
    client = clients(ca_file=certificate)
    assert asked(client, server.url, login(client, server.url)) == 200


def test_a_scope_to_push_is_asked_for_whatever_the_challenge_says(server: Loopback, clients: Clients) -> None:
    server.route("/token", token())
    odd = f'Bearer realm="{server.url}/token",scope="repository:user/image:pull"'
    server.route("/x", challenge(odd), Answer(), challenge(odd), Answer())
    client = clients()
    tried = login(client, server.url)
    for writes in (True, False):
        tried.ask(
            lambda headers: client.get(f"{server.url}/x", RequestOptions(headers, accept_status=(401,))), writes=writes
        )
    tokens = [seen.path for seen in server.seen if seen.path.startswith("/token")]
    assert tokens == [
        "/token?scope=repository%3Aorg%2Fapp%3Apull%2Cpush",
        "/token?scope=repository%3Auser%2Fimage%3Apull",
    ]
    assert len(server.seen) == 6


@pytest.mark.parametrize(
    "answer", [b"{}", b'{"token": 1}', b'{"token": ""}', b'{"token": "a\\nb"}', b"[]", b"junk", b"[" * 100_000]
)
def test_a_realm_that_gives_no_token(server: Loopback, clients: Clients, answer: bytes) -> None:
    server.route("/token", Answer(answer))
    server.route("/x", challenge(f'Bearer realm="{server.url}/token"'))
    client = clients()
    assert isinstance(refusal(client, server.url, login(client, server.url)), ForbiddenByRegistry)


def test_what_a_registry_says_is_shown_but_not_a_secret(server: Loopback, clients: Clients) -> None:
    body = {"errors": [{"code": "DENIED", "message": "no\nentry"}, {"code": "X"}, 7]}
    server.route("/x", challenge("Basic"), Answer(json.dumps(body).encode(), 403))
    client = clients()
    message = refusal(client, server.url, login(client, server.url)).message
    assert message.endswith(r"do not allow you to pull from org/app: DENIED: no\nentry; X")
    for echoed in (SECRET, BASIC):
        body = {"errors": [{"code": "DENIED", "message": f"not {echoed}"}]}
        server.route("/x", challenge("Basic"), Answer(json.dumps(body).encode(), 403))
        assert refusal(client, server.url, login(client, server.url)).message.endswith(
            "do not allow you to pull from org/app"
        )


def test_nobody_is_asked_for_credentials_where_there_are_none(server: Loopback, clients: Clients) -> None:
    server.route("/x", Answer(status=403))
    client = clients()
    error = refusal(client, server.url, login(client, server.url, NoCredentials()))
    assert "requires credentials" in error.message


def test_a_limit_of_the_realm_is_waited_for(server: Loopback, clients: Clients) -> None:
    server.route("/token", Answer(status=503), token())
    server.route("/x", challenge(f'Bearer realm="{server.url}/token"'), Answer())
    client = clients()
    assert asked(client, server.url, login(client, server.url)) == 200


def test_those_who_ask_at_the_same_time_share_a_token(server: Loopback, clients: Clients) -> None:
    server.route("/token", token())
    denied = challenge(f'Bearer realm="{server.url}/token"')
    server.route("/x", denied, denied, Answer())
    client, both = clients(), threading.Barrier(2, timeout=5)
    tried = login(client, server.url)

    def send(headers: Mapping[str, str]) -> Response:
        response = client.get(f"{server.url}/x", RequestOptions(headers, accept_status=(401,)))
        if not headers:
            both.wait()  # neither has a token yet
        return response

    with ThreadPoolExecutor(2) as pool:
        found = [each.result() for each in [pool.submit(tried.ask, send) for _ in range(2)]]
    assert [each.status for each in found] == [200, 200]
    assert [path.partition("?")[0] for path in server.paths()].count("/token") == 1


def test_what_a_credential_shows_of_itself() -> None:
    credential = RegistryCredential("a file", "me", SECRET, "identity")
    assert repr(credential) == "RegistryCredential(source='a file')"
    assert credential.basic == BASIC
