"""A credential is sent to its own origin only, whatever URL a server answers with."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from contextlib import ExitStack, suppress

import pytest
from github.GithubException import GithubException

from adapters.conftest import Clients, Clock
from adapters.loopback import Answer, Loopback, Seen
from adapters.odd_addresses import API, ELSEWHERE, REFUSED, ROWS, Row
from flux_upgrade.adapters.github.api import GitHubApi, NotGitHub
from flux_upgrade.adapters.github.transport import Transport
from flux_upgrade.adapters.http.client import Credential, RequestOptions
from flux_upgrade.adapters.oci.registry_credentials import GivenCredentials
from flux_upgrade.adapters.oci.registry_writes import RegistryWrites
from flux_upgrade.adapters.oci.repository import RegistryRepository
from flux_upgrade.adapters.releases.http import asset_url
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.oci.manifest import Descriptor

SECRET = "ghp_notARealToken0123456789"
SECRETS = (SECRET, b64encode(f"me:{SECRET}".encode()).decode())
TAGS = "/v2/org/app/tags/list?n=1000"
UPLOADS = "/v2/org/app/blobs/uploads/"


class Evil(Loopback):
    """One that has an answer for everything, and keeps everything."""

    def answer(self, seen: Seen) -> Answer:
        self.seen.append(seen)
        return Answer(b'{"token": "abc", "tags": []}')

    @property
    def overheard(self) -> list[str]:
        """What it got with a secret in it."""
        every = [f"{seen.method} {seen.path} {seen.headers} {seen.body!r}" for seen in self.seen]
        return [text for text in every if "authorization" in text or any(each in text for each in SECRETS)]


@pytest.fixture(autouse=True)
def _no_proxy_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def evil(stack: ExitStack) -> Evil:
    return stack.enter_context(Evil())


@pytest.fixture
def far(stack: ExitStack) -> Evil:
    """The same on an address that plain http is not spoken to."""
    return stack.enter_context(Evil(address="127.0.0.2"))


@pytest.fixture(params=ROWS, ids=lambda row: ascii(row.written))
def row(request: pytest.FixtureRequest) -> Row:
    assert isinstance(request.param, Row)
    return request.param


def in_a_header(address: str) -> str:
    """The address as http.server sends it: the bytes of UTF-8."""
    return address.encode().decode("latin-1")


def redirecting(to: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": in_a_header(to)})


def message_of(error: SourceUnavailable) -> str:
    """What an error says, which is fit to be shown."""
    assert error.message.isprintable()
    assert not any(each in error.message + error.hint for each in (*SECRETS, "private"))
    return error.message


def test_a_redirect(server: Loopback, evil: Evil, clients: Clients, row: Row) -> None:
    server.route("/x", redirecting(row.at(server.host, evil.host)))
    text = ""
    try:
        clients(Credential(server.url, SECRET), timeout=1.0).get(f"{server.url}/x")
    except SourceUnavailable as error:
        text = message_of(error)
    assert evil.overheard == []
    assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    followed = [seen.headers.get("authorization") for seen in server.seen[1:] if seen.path != "/x"]
    if row.outcome == REFUSED:
        assert (followed, evil.seen) == ([], [])
        assert text.startswith(f"{server.host} redirects to ")
        assert text.endswith(", which is not followed")
    if row.outcome == ELSEWHERE:  # another name of the same server is another one
        aliased = [seen for seen in server.seen if seen.headers["host"] != server.host]
        assert not any("authorization" in seen.headers for seen in aliased)
    if row.outcome == API:
        assert set(followed) == {f"Bearer {SECRET}"}


def test_a_redirect_with_a_header_of_its_own(server: Loopback, evil: Evil, clients: Clients, row: Row) -> None:
    server.route("/x", redirecting(row.at(server.host, evil.host), 307))
    with suppress(SourceUnavailable):
        clients(timeout=1.0).get(f"{server.url}/x", RequestOptions({"Authorization": f"Basic {SECRETS[1]}"}))
    assert "authorization" in server.seen[0].headers
    assert evil.overheard == []


def test_a_realm(server: Loopback, far: Evil, clients: Clients, row: Row) -> None:
    realm = in_a_header(row.at(server.host, far.host))
    server.route(TAGS, Answer(status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}"'}))
    credentials = GivenCredentials(server.host, "me", SECRET)
    with suppress(SourceUnavailable):
        RegistryRepository(clients(timeout=1.0), server.url, "org/app", credentials=credentials).tags()
    assert far.overheard == []
    if row.outcome == REFUSED:
        assert [seen.path for seen in far.seen] == []
        assert [seen.path for seen in server.seen] == [TAGS]


def test_the_next_page(server: Loopback, evil: Evil, clients: Clients, row: Row) -> None:
    link = f'<{in_a_header(row.at(server.host, evil.host))}>; rel="next"'
    server.route(TAGS, Answer(b'{"tags": ["a"]}', headers={"Link": link}))
    client = clients(Credential(server.url, SECRET), timeout=1.0)
    with suppress(SourceUnavailable):
        RegistryRepository(client, server.url, "org/app").tags()
    assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert evil.seen == []  # not even without a token


def test_an_upload(server: Loopback, evil: Evil, clients: Clients, row: Row) -> None:
    basic = Answer(status=401, headers={"WWW-Authenticate": "Basic"})
    server.route(UPLOADS, basic, redirecting(row.at(server.host, evil.host), 202))
    repository = RegistryRepository(
        clients(timeout=1.0), server.url, "org/app", credentials=GivenCredentials(server.host, "me", SECRET)
    )
    writes = RegistryWrites(repository._client, repository)  # noqa: SLF001  (the one that it asks with)
    with suppress(SourceUnavailable):
        writes.blob(io.BytesIO(b"content"), Descriptor("a/b", f"sha256:{'0' * 64}", 7))
    assert server.seen[1].headers["authorization"] == f"Basic {SECRETS[1]}"
    assert evil.overheard == []
    if row.outcome == REFUSED:
        assert ([seen.method for seen in server.seen], evil.seen) == (["POST", "POST"], [])


def test_a_download_that_the_api_names(server: Loopback, evil: Evil, clients: Clients, row: Row) -> None:
    client = clients(Credential(server.url, SECRET), timeout=1.0)
    with suppress(SourceUnavailable):
        asset: dict[str, object] = {"browser_download_url": row.at(server.host, evil.host)}
        client.get(asset_url(asset, "It", api_url=server.url))
    assert evil.overheard == []
    if row.outcome == REFUSED:
        assert evil.seen == server.seen == []


def test_an_object_that_the_api_names(server: Loopback, evil: Evil, clients: Clients, clock: Clock, row: Row) -> None:
    address = row.at(server.host, evil.host)
    api = f"{server.url}/api"
    client = clients(Credential(server.url, SECRET), timeout=1.0)
    transport = Transport(GitHubApi(client, clock.timing, api_url=api, graphql_url=f"{api}/graphql", pause=0))
    with suppress(SourceUnavailable, NotGitHub, GithubException):
        transport.requestJsonAndCheck("PATCH", address, input=json.loads("{}"))
    # The path of an address is all that is used: the API's own server is asked, and no other.
    assert evil.seen == []
    if row.outcome == REFUSED and not address.startswith("/"):
        assert server.seen == []
