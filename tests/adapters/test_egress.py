"""Hosts that a repository names: which ones are contacted, at which address, and where redirects end."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback, closed_port
from adapters.proxies import RecordingProxy
from adapters.registries import NoCredentials, allowing, own_certificate
from flux_upgrade.adapters.http.egress import Egress
from flux_upgrade.adapters.oci.repository import open_repository
from flux_upgrade.model.errors import HostNotAllowed, SourceUnavailable

NAME = "registry.example.com"


@pytest.fixture
def other(stack: ExitStack) -> Loopback:
    """Another server, which no test allows."""
    return stack.enter_context(Loopback())


@pytest.fixture
def proxy(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> RecordingProxy:
    found = stack.enter_context(RecordingProxy())
    monkeypatch.setenv("HTTPS_PROXY", found.url)
    monkeypatch.setenv("HTTP_PROXY", found.url)
    return found


@pytest.fixture
def named(tmp_path: Path, stack: ExitStack) -> tuple[Loopback, str]:
    """A server with a certificate for ``NAME``, which no resolver knows, and the file that holds it."""
    certificate, key = own_certificate(tmp_path, names=f"DNS:{NAME}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return stack.enter_context(Loopback(tls=context)), str(certificate)


class Rebinding:
    """A resolver that gives another answer each time."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers: Iterator[list[str]] = iter(answers)
        self.asked = 0

    def __call__(self, host: str, port: int) -> list[str]:
        del host, port
        self.asked += 1
        return next(self._answers)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "2130706433", "0x7f.1", "127.1"])  # noqa: S104
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_of_this_machine_is_not_asked(scheme: str, host: str, server: Loopback, clients: Clients) -> None:
    port = server.host.rpartition(":")[2]
    with pytest.raises(HostNotAllowed):
        clients(egress=allowing()).get(f"{scheme}://{host}:{port}/v2/")
    assert server.seen == []


def test_a_server_that_listens_on_ipv6_is_not_asked(clients: Clients) -> None:
    with Loopback(address="127.0.0.1") as server, pytest.raises(HostNotAllowed):
        clients(egress=allowing()).get(f"https://[::ffff:127.0.0.1]:{server.host.rpartition(':')[2]}/v2/")
    assert server.seen == []


def test_a_server_that_is_allowed_is_asked(server: Loopback, clients: Clients) -> None:
    server.route("/v2/", Answer(b"{}"))
    assert clients(egress=allowing(server.host)).get(f"{server.url}/v2/").body == b"{}"


@pytest.mark.parametrize("answers", [[["8.8.8.8"], ["127.0.0.1"]], [["127.0.0.1"], ["8.8.8.8"]]])
def test_a_name_is_judged_by_the_answer_that_is_connected_to(answers: list[list[str]], server: Loopback) -> None:
    resolve = Rebinding(*answers)
    found = Egress(list, NoCredentials().names, str, resolve)
    port = int(server.host.rpartition(":")[2])
    if answers[0] == ["127.0.0.1"]:
        with pytest.raises(HostNotAllowed):
            found.addresses(NAME, port)
    else:
        assert found.addresses(NAME, port) == ("8.8.8.8",)
    assert resolve.asked == 1


def test_the_name_stays_for_tls_and_for_the_server(named: tuple[Loopback, str], clients: Clients) -> None:
    server, certificate = named
    server.route("/v2/", Answer(b"{}"))
    # The second answer leads nowhere: it must not be asked for.
    resolve = Rebinding(["127.0.0.1"], ["127.0.0.2"])
    port = server.host.rpartition(":")[2]
    egress = Egress(lambda: [NAME], NoCredentials().names, str, resolve)
    client = clients(ca_file=certificate, egress=egress)
    assert client.get(f"https://{NAME}:{port}/v2/").body == b"{}"
    assert resolve.asked == 1
    assert [seen.headers["host"] for seen in server.seen] == [f"{NAME}:{port}"]


def test_a_certificate_for_another_name_is_refused(tls: tuple[Loopback, str], clients: Clients) -> None:
    server, certificate = tls
    port = server.host.rpartition(":")[2]
    egress = Egress(lambda: [NAME], NoCredentials().names, str, lambda *_: ["127.0.0.1"])
    with pytest.raises(SourceUnavailable, match="is not trusted"):
        clients(ca_file=certificate, egress=egress).get(f"https://{NAME}:{port}/v2/")
    assert server.seen == []


def test_of_several_addresses_the_first_that_answers(server: Loopback, clients: Clients) -> None:
    server.route("/", Answer(b"{}"))
    resolve = Rebinding(["127.0.0.3", "127.0.0.1"])
    port = server.host.rpartition(":")[2]
    egress = Egress(lambda: [NAME], NoCredentials().names, str, resolve)
    assert clients(egress=egress).get(f"http://{NAME}:{port}/").body == b"{}"


def test_a_name_that_is_unknown(clients: Clients) -> None:
    with pytest.raises(SourceUnavailable, match="is unreachable") as error:
        clients(egress=allowing()).get("https://registry.invalid/v2/")
    assert not isinstance(error.value, HostNotAllowed)


REDIRECTS = (
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://metadata.google.internal/",
    "https://10.0.0.1/",
    "https://[::1]/",
    "http://example.com/",
    "http://OTHER/",
    "https://OTHER/",
)


@pytest.mark.parametrize("target", REDIRECTS)
def test_a_redirect_is_judged_again(target: str, server: Loopback, other: Loopback, clients: Clients) -> None:
    target = target.replace("OTHER", other.host)
    server.route("/v2/", Answer(status=307, headers={"Location": target}))
    client = clients(egress=allowing(server.host))
    with pytest.raises(HostNotAllowed):
        client.get(f"{server.url}/v2/")
    assert (server.paths(), other.seen, client.sent) == (["/v2/"], [], 2)


@pytest.mark.parametrize("realm", [each for each in REDIRECTS if each.startswith("https://")])
def test_a_service_for_tokens_is_judged_too(realm: str, server: Loopback, other: Loopback, clients: Clients) -> None:
    challenge = f'Bearer realm="{realm.replace("OTHER", other.host)}token",service="here"'
    server.route("/v2/fluxcd/flux-manifests/manifests/v2.9.4", Answer(b"{}", 401, {"WWW-Authenticate": challenge}))
    repository = open_repository(clients(egress=allowing(server.host)), f"{server.host}/fluxcd/flux-manifests")
    with pytest.raises(HostNotAllowed):
        repository.manifest("v2.9.4")
    assert (len(server.seen), other.seen) == (1, [])


def test_a_refusal_is_final(clients: Clients) -> None:
    client = clients(egress=allowing())
    with pytest.raises(HostNotAllowed) as refusal:
        client.get("https://127.0.0.1:5000/v2/")
    assert client.sent == 1
    assert refusal.value.message == "127.0.0.1:5000 is not a public address, and is not allowed"
    assert refusal.value.hint == "allow 127.0.0.1:5000"


def test_a_proxy_looks_names_up(proxy: RecordingProxy, clients: Clients) -> None:
    egress = replace_resolver(allowing())
    with pytest.raises(SourceUnavailable) as error:
        clients(egress=egress).get("https://registry.internal/v2/")
    assert not isinstance(error.value, HostNotAllowed)
    assert set(proxy.asked) == {"registry.internal:443"}


@pytest.mark.parametrize(
    "url",
    [
        "https://169.254.169.254/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://2852039166/",
        "https://localhost:5000/",
        "https://metadata.google.internal/",
        "http://registry.internal/",
    ],
)
def test_a_proxy_is_not_asked_for_what_is_refused_by_its_name(
    url: str, proxy: RecordingProxy, clients: Clients
) -> None:
    with pytest.raises(HostNotAllowed):
        clients(egress=replace_resolver(allowing())).get(url)
    assert proxy.asked == []


def test_what_goes_past_the_proxy_is_judged_by_its_address(
    proxy: RecordingProxy, server: Loopback, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", NAME)
    egress = allowing()._replace(resolve=lambda *_: ["127.0.0.1"])
    with pytest.raises(HostNotAllowed, match="has no public address"):
        clients(egress=egress).get(f"https://{NAME}:{server.host.rpartition(':')[2]}/v2/")
    assert (proxy.asked, server.seen) == ([], [])


def test_a_host_that_you_name_yourself_is_not_judged(server: Loopback, clients: Clients) -> None:
    server.route("/v2/", Answer(b"{}"))
    assert clients().get(f"{server.url}/v2/").body == b"{}"
    with pytest.raises(SourceUnavailable) as error:
        clients().get(f"https://127.0.0.1:{closed_port()}/")
    assert not isinstance(error.value, HostNotAllowed)


def replace_resolver(egress: Egress) -> Egress:
    """With one that may not be asked."""

    def never(host: str, port: int) -> list[str]:
        raise AssertionError(f"{host}:{port} is looked up")

    return egress._replace(resolve=never)
