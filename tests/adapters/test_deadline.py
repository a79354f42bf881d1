"""A request has one deadline, whatever the server does meanwhile; a host that wastes time is given up."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from loopback_server import LoopbackServer

from adapters.conftest import Clients, Clock
from adapters.loopback import Answer, Handler, Loopback
from adapters.registries import NoCredentials, own_certificate
from adapters.slow_server import FORMS, SlowServer
from flux_upgrade.adapters.github.api import GitHubApi
from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.adapters.http.budget import Budget
from flux_upgrade.adapters.http.client import Client, RequestOptions
from flux_upgrade.adapters.http.connections import Deadline
from flux_upgrade.adapters.http.egress import Egress
from flux_upgrade.adapters.oci.repository import RegistryRepository
from flux_upgrade.model.errors import ForgeUnavailable, SourceUnavailable
from flux_upgrade.model.timing import LostTime, Patience

SECONDS = 1.5
MEGABYTE = 1_000_000


def refused(client: Client, url: str) -> str:
    """What the error of a GET says."""
    with pytest.raises(SourceUnavailable) as caught:
        client.get(url)
    return caught.value.message


def overdue(host: str, seconds: float = SECONDS) -> str:
    return f"{host} did not answer in full within {seconds:g} s"


def own_tls(folder: Path) -> tuple[ssl.SSLContext, str]:
    """What a server on loopback serves with, and the file with its certificate."""
    certificate, key = own_certificate(folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls, str(certificate)


@pytest.mark.parametrize("form", FORMS)
def test_a_slow_server_is_asked_once(form: str, clients: Clients, clock: Clock) -> None:
    client = clients(timeout=SECONDS)
    with SlowServer(form) as server:
        assert refused(client, f"{server.url}/x?private") == overdue(server.host)
    assert (server.asked, client.sent, clock.slept) == (["/x?private"], 1, [])


@pytest.mark.parametrize("form", FORMS)
def test_a_slow_server_that_speaks_https(form: str, clients: Clients, clock: Clock, tmp_path: Path) -> None:
    tls, certificate = own_tls(tmp_path)
    client = clients(ca_file=certificate, timeout=SECONDS)
    with SlowServer(form, tls=tls) as server:
        assert refused(client, f"{server.url}/x") == overdue(server.host)
    assert (server.asked, client.sent, clock.slept) == (["/x"], 1, [])


def test_a_tls_handshake_that_does_not_end(clients: Clients, stack: ExitStack, clock: Clock) -> None:
    server = stack.enter_context(SlowServer("handshake"))
    assert refused(clients(timeout=SECONDS), f"https://{server.host}/") == overdue(server.host)
    assert (len(server.asked), clock.slept) == (1, [])


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_takes_no_connection(scheme: str, clients: Clients, clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        assert refused(clients(timeout=SECONDS), f"{scheme}://{host}/") == overdue(host)
    assert clock.slept == []


def test_redirects_have_one_deadline(clients: Clients, stack: ExitStack, clock: Clock) -> None:
    server = stack.enter_context(SlowServer("redirects", pause=SECONDS / 2, count=5))
    assert refused(clients(timeout=SECONDS), f"{server.url}/0") == overdue(server.host)
    assert clock.slept == []


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("form", ["silent", "headers"])
def test_a_slow_proxy(form: str, scheme: str, clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    client = clients(timeout=SECONDS)
    with SlowServer(form) as proxy:
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", proxy.url)
        assert refused(client, f"{scheme}://releases.example/x") == overdue("releases.example")
    assert (len(proxy.asked), client.sent) == (1, 1)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_slow_handshake_behind_a_proxy(
    scheme: str, clients: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls, certificate = own_tls(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", certificate)
    client = clients(timeout=SECONDS)
    with SlowServer("tunnel", tls=tls if scheme == "https" else None) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        assert refused(client, "https://releases.example/x") == overdue("releases.example")
    assert (proxy.asked, client.sent) == (["releases.example:443"], 1)


def test_a_host_that_the_repository_names(clients: Clients, stack: ExitStack, clock: Clock) -> None:
    server = stack.enter_context(SlowServer("body"))
    egress = Egress(lambda: ["charts.example"], NoCredentials().names, str, lambda *_: ["127.0.0.1"])
    host = f"charts.example:{server.host.rpartition(':')[2]}"
    assert refused(clients(timeout=SECONDS, egress=egress), f"http://{host}/index.yaml") == overdue(host)
    assert (len(server.asked), clock.slept) == (1, [])


@pytest.mark.parametrize("form", FORMS)
def test_a_slow_git_host(form: str, clients: Clients, clock: Clock) -> None:
    attempt = Attempt("ask who you are", "metadata: read")
    with SlowServer(form) as server:
        github = GitHubApi(clients(timeout=SECONDS), clock.timing, api_url=server.url, graphql_url=f"{server.url}/g")
        with pytest.raises(ForgeUnavailable, match="did not answer in full"):
            github.viewer(attempt)
        with pytest.raises(ForgeUnavailable, match="did not answer in full"):
            github.write("POST", "/pulls", attempt, {})
    assert (server.asked, clock.slept) == (["/g", "/pulls"], [])


def test_what_is_sent_has_the_same_deadline(clients: Clients, stack: ExitStack, clock: Clock) -> None:
    server = stack.enter_context(SlowServer("silent"))
    with pytest.raises(SourceUnavailable, match="did not answer in full"):
        clients(timeout=SECONDS).send("POST", f"{server.url}/x", bytes(MEGABYTE // 2))
    step = clients(timeout=SECONDS)
    with pytest.raises(SourceUnavailable, match="did not answer in full"):
        step.persist(lambda: step.attempt("PUT", f"{server.url}/y", b"body"))
    assert (server.asked, clock.slept) == (["/x", "/y"], [])


class _Pausing(Handler):
    """Waits before the last byte of a body. ``/SECONDS/BYTES``."""

    protocol_version = "HTTP/1.1"
    server: LoopbackServer
    ports: list[int]

    def _answer(self) -> None:
        self.ports.append(self.client_address[1])
        _, pause, length = self.path.split("/")
        self.send_response(200)
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(bytes(int(length) - 1))
        self.server.closing.wait(float(pause))
        self.wfile.write(b"x")

    do_GET = _answer  # noqa: N815  (http.server's name)


def pausing() -> tuple[LoopbackServer, list[int]]:
    """A server, and the ports that requests come from."""
    ports: list[int] = []
    return LoopbackServer(type("Pausing", (_Pausing,), {"ports": ports})), ports


def test_each_request_on_a_connection_has_its_own_deadline(clients: Clients, stack: ExitStack) -> None:
    server, ports = pausing()
    stack.enter_context(server)
    client = clients(timeout=3.0)
    for path in ("/0/1", "/1.6/1", "/1.6/1", "/0/1"):
        assert client.get(f"{server.url}{path}").is_found
    assert (len(ports), len(set(ports))) == (4, 1)


def test_bytes_that_arrive_give_time(clients: Clients, stack: ExitStack) -> None:
    server, _ = pausing()
    stack.enter_context(server)
    assert len(clients(timeout=3.0).get(f"{server.url}/3.3/{2 * MEGABYTE}").body) == 2 * MEGABYTE
    assert refused(clients(timeout=1.5), f"{server.url}/3.3/{MEGABYTE // 2}") == overdue(server.host, 1.5)


@dataclass
class Watch:
    """A clock that a test sets."""

    now: float = 0.0


def test_the_time_for_a_large_body() -> None:
    watch = Watch()
    deadline = Deadline(60, 3 * MEGABYTE, lambda: watch.now)
    assert (deadline.seconds, deadline.left(), deadline.is_missed) == (60, 60, False)
    deadline.received(MEGABYTE)
    assert deadline.seconds == 60
    deadline.received(100_000)
    assert deadline.seconds == 61
    watch.now = 61.0
    assert deadline.is_missed
    with pytest.raises(TimeoutError):
        deadline.left()
    # What is not part of an acceptable body gives no time.
    deadline.received(10 * MEGABYTE)
    assert deadline.seconds == 80
    deadline.sent(200_000)
    assert (deadline.seconds, deadline.left()) == (82, 21)


def test_a_run_has_the_patience_of_the_documentation(clock: Clock) -> None:
    assert clock.timing.patience == Patience(request=60, host=120)


def test_an_acceptable_body_that_is_small_gives_no_time() -> None:
    deadline = Deadline(60, 4096)
    deadline.received(10 * MEGABYTE)
    assert deadline.seconds == 60


# Names that do not resolve


def test_a_name_that_does_not_resolve_is_tried_twice(clients: Clients, clock: Clock) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        del port
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    egress = Egress(list, NoCredentials().names, str, resolve)
    message = refused(clients(egress=egress), "https://charts.example/index.yaml")
    assert message == "charts.example is unreachable: Name or service not known (tried 2 times)"
    assert (asked, clock.slept) == (["charts.example"] * 2, [0.5])


def test_any_host_whose_name_does_not_resolve(clients: Clients, clock: Clock) -> None:
    client = clients()
    assert refused(client, "https://releases.invalid/x").endswith("(tried 2 times)")
    assert (client.sent, clock.slept) == (2, [0.5])


# Budgets


@pytest.fixture
def budgeted(stack: ExitStack, clock: Clock) -> Callable[..., Client]:
    def made(lost: LostTime, seconds: float, name: str = "", timeout: float = 1.5) -> Client:
        client = Client(clock.timing, timeout=timeout, budget=Budget(lost, seconds, name))
        stack.callback(client.close)
        return client

    return made


def given_up(name: str, lost: LostTime) -> str:
    return f"{name} was given up after {lost.total(name):.0f} s of failed requests"


def test_a_host_that_wastes_time_is_given_up(
    budgeted: Callable[..., Client], stack: ExitStack, server: Loopback
) -> None:
    slow, lost = stack.enter_context(SlowServer("body")), LostTime()
    server.route("/x", Answer(b"fine"))
    clients = (budgeted(lost, 2.7), budgeted(lost, 2.7))
    for client in clients:
        assert refused(client, f"{slow.url}/x") == overdue(slow.host, 1.5)
    for client in clients:
        assert refused(client, f"{slow.url}/y") == given_up(slow.host, lost)
        assert client.get(f"{server.url}/x").body == b"fine"
    assert slow.asked == ["/x", "/x"]


def test_a_release_source_is_given_up_with_all_of_its_hosts(
    budgeted: Callable[..., Client], stack: ExitStack, server: Loopback
) -> None:
    slow, lost = stack.enter_context(SlowServer("headers")), LostTime()
    client = budgeted(lost, 0.1, "the source")
    assert refused(client, f"{slow.url}/x") == overdue(slow.host, 1.5)
    assert refused(client, f"{server.url}/x") == given_up("the source", lost)
    assert server.seen == []


def test_without_a_budget_no_host_is_given_up(clients: Clients, stack: ExitStack) -> None:
    slow = stack.enter_context(SlowServer("body"))
    client = clients(timeout=1.5)
    assert [refused(client, f"{slow.url}/{number}") for number in range(3)] == [overdue(slow.host, 1.5)] * 3


def test_time_in_successful_requests_costs_nothing(budgeted: Callable[..., Client], stack: ExitStack) -> None:
    slow, lost = stack.enter_context(SlowServer("body", count=3)), LostTime()
    client = budgeted(lost, 0.1, timeout=5.0)
    for _ in range(3):
        assert client.get(f"{slow.url}/x").body == b"xxx"
    assert lost.total(slow.host) == 0


def test_waits_for_another_try_count(budgeted: Callable[..., Client], server: Loopback, clock: Clock) -> None:
    server.route("/x", Answer(status=503, headers={"Retry-After": "50"}))
    lost = LostTime()
    client = budgeted(lost, 120.0, timeout=5.0)
    for _ in range(3):
        assert "returned status 503 for /x" in refused(client, f"{server.url}/x")
    assert clock.slept == [50, 50]
    assert 100 < lost.total(server.host) < 120


def test_a_refusal_that_is_expected_costs_nothing(budgeted: Callable[..., Client], server: Loopback) -> None:
    lost = LostTime()
    assert not budgeted(lost, 1.0, timeout=5.0).get(f"{server.url}/none").is_found
    assert lost.total(server.host) == 0


def test_a_registry_pays_for_its_token_services(
    budgeted: Callable[..., Client], stack: ExitStack, server: Loopback
) -> None:
    services = [stack.enter_context(SlowServer("headers")) for _ in range(3)]
    lost = LostTime()
    client = budgeted(lost, 2.7)
    for service in services:
        challenge = {"WWW-Authenticate": f'Bearer realm="{service.url}/token",service="here"'}
        server.route("/v2/flux/tags/list", Answer(status=401, headers=challenge))
        with pytest.raises(SourceUnavailable):
            RegistryRepository(client, server.url, "flux").tags()
    assert [len(service.asked) for service in services] == [1, 1, 0]
    assert lost.total(server.host) >= 2.7


def test_an_attempt_to_write_is_charged(budgeted: Callable[..., Client], stack: ExitStack) -> None:
    slow, lost = stack.enter_context(SlowServer("silent")), LostTime()
    client = budgeted(lost, 0.1)
    options = RequestOptions(charged_to="registry.example")
    for words in ("did not answer in full", "registry.example was given up"):
        with pytest.raises(SourceUnavailable, match=words):
            client.persist(lambda: client.attempt("PUT", f"{slow.url}/x", b"", options))
