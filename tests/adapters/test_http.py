"""The HTTP client retries what may pass, bounds what it reads, and sends the token to its own origin only."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from adapters.conftest import Clients, Clock, own_authority
from adapters.loopback import Answer, Loopback, closed_port
from flux_upgrade.adapters.http.client import BodyTooLarge, Credential, RequestOptions, Response
from flux_upgrade.adapters.http.failures import FailedAttempt
from flux_upgrade.model.errors import SourceUnavailable, UsageError

BODY = b"content " * 5000
OK = Answer(BODY)
SECRET = "ghp_notARealToken0123456789"


def failure(clients: Clients, url: str, ask: RequestOptions | None = None, **options: Any) -> SourceUnavailable:
    with pytest.raises(SourceUnavailable) as caught:
        clients(**options).get(url, ask or RequestOptions())
    error = caught.value
    assert error.hint
    assert error.message.isprintable()
    return error


def test_reads_a_body(server: Loopback, clients: Clients) -> None:
    server.route("/x", OK)
    response = clients().get(f"{server.url}/x?q=1")
    assert (response.status, response.body, response.is_found) == (200, BODY, True)
    assert server.seen[0].headers["user-agent"].startswith("flux-upgrade")


def test_returns_a_404_without_trying_again(server: Loopback, clients: Clients, clock: Clock) -> None:
    assert not clients().get(f"{server.url}/none").is_found
    assert (len(server.seen), clock.slept) == (1, [])


@pytest.mark.parametrize(
    "fault",
    [
        Answer(status=500),
        Answer(status=503),
        Answer(status=429),
        Answer(BODY, fault="reset"),
        Answer(BODY, fault="truncated"),
        Answer(BODY, fault="cut chunk"),
        Answer(b"not gzip", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_tries_again(server: Loopback, clients: Clients, clock: Clock, fault: Answer) -> None:
    server.route("/x", fault, fault, OK)
    assert clients().get(f"{server.url}/x").body == BODY
    assert clock.slept == [0.5, 1.0]


def test_gives_up_after_five_attempts(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/a/path", Answer(status=502))
    error = failure(clients, f"{server.url}/a/path?signature=private")
    assert error.message == f"{server.host} returned status 502 for /a/path (tried 5 times)"
    assert (len(server.seen), clock.slept) == (5, [0.5, 1.0, 2.0, 4.0])


def test_a_silent_server(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/x", Answer(fault="silent"))
    error = failure(clients, f"{server.url}/x?private", timeout=0.05)
    assert error.message == f"{server.host} did not answer in full within 0.05 s"
    assert (len(server.seen), clock.slept) == (1, [])


def test_nobody_listens(clients: Clients, clock: Clock) -> None:
    port = closed_port()
    error = failure(clients, f"http://127.0.0.1:{port}/x?private")
    assert error.message == f"127.0.0.1:{port} is unreachable: Connection refused (tried 5 times)"
    assert len(clock.slept) == 4


@pytest.mark.parametrize(
    "url", ["http://", "ftp://host/x", "nonsense", "http://[::1/x", "http://host:99999/x", "http://a b/"]
)
def test_addresses_that_are_none(clients: Clients, clock: Clock, url: str) -> None:
    assert "not valid" in failure(clients, url).message
    assert clock.slept == []


@pytest.mark.parametrize("seconds", ["0", "1"])
def test_honours_retry_after(server: Loopback, clients: Clients, clock: Clock, seconds: str) -> None:
    server.route("/x", Answer(status=503, headers={"Retry-After": seconds}), OK)
    assert clients().get(f"{server.url}/x").body == BODY
    assert clock.slept == [float(seconds)]


@pytest.mark.parametrize("status", [403, 429])
def test_honours_a_rate_limit_that_ends_soon(server: Loopback, clients: Clients, clock: Clock, status: int) -> None:
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(clock.now) + 9)}
    server.route("/x", Answer(status=status, headers=headers), OK)
    assert clients().get(f"{server.url}/x").body == BODY
    assert clock.slept == [9]


@pytest.mark.parametrize("status", [403, 429])
def test_does_not_sleep_until_a_limit_far_away(server: Loopback, clients: Clients, clock: Clock, status: int) -> None:
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(clock.now) + 1800)}
    server.route("/x", Answer(status=status, headers=headers))
    error = failure(clients, f"{server.url}/x")
    assert error.message == f"the rate limit of {server.host} is exceeded until 2023-11-14 22:43:20 UTC"
    assert "GITHUB_TOKEN" in error.hint
    assert (len(server.seen), clock.slept) == (1, [])


def test_a_secondary_limit(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/x", Answer(status=403, headers={"Retry-After": "40"}))
    assert "rate limit" in failure(clients, f"{server.url}/x").message
    assert clock.slept == [40]  # a second one would make it 80 s


def test_a_long_maintenance(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/x", Answer(status=503, headers={"Retry-After": "3600"}))
    assert "asks to wait until 2023-11-14 23:13:20 UTC" in failure(clients, f"{server.url}/x").message
    assert clock.slept == []


@pytest.mark.parametrize("status", [401, 403])
def test_says_whether_a_token_was_given(server: Loopback, clients: Clients, clock: Clock, status: int) -> None:
    server.route("/x", Answer(status=status))
    assert "set a token for this host" in failure(clients, f"{server.url}/x").hint
    refused = failure(clients, f"{server.url}/x", credential=Credential(server.url, SECRET))
    assert "check that the token is valid" in refused.hint
    assert clock.slept == []


def test_bounds_the_body(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/x", OK)
    server.route("/packed", Answer(gzip.compress(bytes(100_000)), headers={"Content-Encoding": "gzip"}))
    for path in ("/x", "/packed"):
        with pytest.raises(BodyTooLarge):
            clients().get(server.url + path, RequestOptions(limit=len(BODY) - 1))
    assert clock.slept == []
    assert clients().get(f"{server.url}/x", RequestOptions(limit=len(BODY))).body == BODY


def test_decodes_unless_asked_for_the_bytes_as_sent(server: Loopback, clients: Clients) -> None:
    packed = gzip.compress(BODY)
    server.route("/x", Answer(packed, headers={"Content-Encoding": "gzip"}))
    assert clients().get(f"{server.url}/x").body == BODY
    assert clients().get(f"{server.url}/x", RequestOptions(verbatim=True)).body == packed
    assert [seen.headers["accept-encoding"] for seen in server.seen] == ["gzip", "identity"]


def test_the_token_goes_to_its_origin_only(server: Loopback, clients: Clients, stack: ExitStack) -> None:
    other = stack.enter_context(Loopback({"/y": OK}))
    server.route("/x", Answer(status=302, headers={"Location": f"{other.url}/y?q"}))
    client = clients(Credential(server.url, SECRET))
    assert client.get(f"{server.url}/x").body == BODY
    assert client.get(f"{other.url}/y").body == BODY
    assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert [SECRET in str(seen) or "authorization" in seen.headers for seen in other.seen] == [False, False]
    assert SECRET not in repr(client) + str(vars(client))


def test_a_header_of_one_call_stays_with_its_origin(server: Loopback, clients: Clients, stack: ExitStack) -> None:
    other = stack.enter_context(Loopback({"/y": OK}))
    server.route("/x", Answer(status=307, headers={"Location": "/z"}))
    server.route("/z", Answer(status=308, headers={"Location": f"{other.url}/y"}))
    ask = RequestOptions(headers={"Authorization": f"Bearer {SECRET}"})
    assert clients().get(f"{server.url}/x", ask).body == BODY
    assert ["authorization" in seen.headers for seen in (*server.seen, *other.seen)] == [True, True, False]
    assert SECRET not in repr(ask)


def test_a_redirect_back_gets_the_token_again(server: Loopback, clients: Clients, stack: ExitStack) -> None:
    other = stack.enter_context(Loopback({"/y": Answer(status=301, headers={"Location": f"{server.url}/z"})}))
    server.route("/x", Answer(status=303, headers={"Location": f"{other.url}/y"}))
    server.route("/z", OK)
    clients(Credential(server.url, SECRET)).get(f"{server.url}/x")
    assert "authorization" not in other.seen[0].headers
    assert "authorization" in server.seen[1].headers


@pytest.mark.parametrize(
    "answer", [Answer(status=403), Answer(status=500), Answer(BODY, fault="reset"), Answer(status=429)]
)
def test_no_message_holds_the_token(server: Loopback, clients: Clients, answer: Answer) -> None:
    server.route("/x", answer)
    credential = Credential(server.url, SECRET)
    error = failure(clients, f"{server.url}/x?token={SECRET}", credential=credential)
    assert SECRET not in error.message + error.hint + repr(error) + repr(credential)


@pytest.mark.parametrize("token", ["", "a b", "a\n", "schlüssel"])
def test_a_token_that_no_header_can_carry(token: str) -> None:
    with pytest.raises(UsageError):
        Credential("https://api.github.com", token)


def test_netrc_is_not_read(server: Loopback, clients: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password private\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server.route("/x", OK)
    clients().get(f"{server.url}/x")
    assert "authorization" not in server.seen[0].headers


def test_user_names_in_addresses_are_neither_sent_nor_shown(server: Loopback, clients: Clients) -> None:
    server.route("/y", Answer(status=418))
    message = failure(clients, f"http://me:private@{server.host}/y").message
    assert message == f"{server.host} returned status 418 for /y"
    assert "authorization" not in server.seen[0].headers


def test_cookies_are_not_kept(server: Loopback, clients: Clients) -> None:
    server.route("/x", Answer(headers={"Set-Cookie": "a=b"}))
    client = clients()
    client.get(f"{server.url}/x")
    client.get(f"{server.url}/x")
    assert "cookie" not in server.seen[1].headers


@pytest.mark.parametrize("location", ["/x", "file:///etc/passwd", "gopher://127.0.0.1/"])
def test_redirects_that_are_not_followed(server: Loopback, clients: Clients, clock: Clock, location: str) -> None:
    server.route("/x", Answer(status=302, headers={"Location": location}))
    assert "redirects" in failure(clients, f"{server.url}/x").message
    assert len(server.seen) <= 6
    assert clock.slept == []


def test_a_redirect_without_a_location(server: Loopback, clients: Clients) -> None:
    server.route("/x", Answer(status=302))
    assert "returned status 302" in failure(clients, f"{server.url}/x").message


def test_a_certificate_that_is_not_trusted(clients: Clients, clock: Clock, tls: tuple[Loopback, str]) -> None:
    server, certificate = tls
    server.route("/x", OK)
    assert "certificate" in failure(clients, f"{server.url}/x").message
    assert clock.slept == []
    assert clients(ca_file=certificate).get(f"{server.url}/x").body == BODY


def test_https_is_never_given_up(server: Loopback, clients: Clients, tls: tuple[Loopback, str]) -> None:
    secure, certificate = tls
    secure.route("/x", Answer(status=302, headers={"Location": f"{server.url}/y"}))
    message = failure(clients, f"{secure.url}/x", ca_file=certificate).message
    assert "not followed" in message
    assert server.seen == []


def test_a_ca_file_is_trusted_besides_the_usual_ones(
    clients: Clients, tls: tuple[Loopback, str], tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    (usual, of_the_machine), (own, certificate) = tls, own_authority(tmp_path / "own", stack)
    usual.route("/x", OK)
    own.route("/x", OK)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", of_the_machine)
    client = clients(ca_file=certificate)
    for server in (own, usual, own):
        assert client.get(f"{server.url}/x").body == BODY
    assert "certificate" in failure(clients, f"{own.url}/x").message


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"", "no certificate"), (b"-----BEGIN CERTIFICATE-----\nx\n", "no certificate")],
)
def test_a_ca_file_that_holds_no_certificate(
    clients: Clients, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "odd\nca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=r"ca\.pem") as caught:
        clients(ca_file=str(file))
    assert reason in caught.value.message
    assert "\n" not in caught.value.message


def test_a_query_is_tried_again(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/graphql", Answer(status=502), Answer(BODY, fault="reset"), OK)
    client = clients()
    assert client.query(f"{server.url}/graphql", b'{"query": ""}').body == BODY
    assert [(s.method, s.body, s.headers["content-type"]) for s in server.seen] == [
        ("POST", b'{"query": ""}', "application/json")
    ] * 3
    assert (client.sent, len(clock.slept)) == (3, 2)


def test_a_write_is_sent_once_whatever_comes(server: Loopback, clients: Clients, clock: Clock) -> None:
    client = clients()
    for status in (201, 404, 429, 502):
        server.route("/x", Answer(b"answer", status, headers={"Retry-After": "1"}))
        response = client.send("PATCH", f"{server.url}/x", b"{}")
        assert (response.status, response.body) == (status, b"answer")
    server.route("/x", Answer(BODY, fault="truncated"))
    with pytest.raises(SourceUnavailable, match="is unreachable"):
        client.send("PATCH", f"{server.url}/x", b"{}")
    assert (len(server.seen), client.sent, clock.slept) == (5, 5, [])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_what_has_a_body_is_redirected_nowhere(server: Loopback, clients: Clients, status: int) -> None:
    server.route("/x", Answer(status=status, headers={"Location": "/y"}))
    assert clients().send("POST", f"{server.url}/x", b"{}").status == status
    with pytest.raises(SourceUnavailable, match=f"returned status {status} for /x"):
        clients().query(f"{server.url}/x", b"{}")
    assert server.paths() == ["/x", "/x"]


class Kept:
    """A sink in memory."""

    def __init__(self) -> None:
        self.body = b""
        self.began = 0

    def restart(self) -> None:
        self.body = b""
        self.began += 1

    def write(self, chunk: bytes) -> None:
        self.body += chunk


@pytest.mark.parametrize("fault", [Answer(status=500), Answer(BODY, fault="reset"), Answer(BODY, fault="truncated")])
def test_a_body_that_goes_elsewhere_is_there_once(server: Loopback, clients: Clients, fault: Answer) -> None:
    server.route("/x", fault, OK)
    kept = Kept()
    response = clients().get(f"{server.url}/x", RequestOptions(into=kept))
    assert (response.body, kept.body, kept.began) == (b"", BODY, 1 if fault.status == 500 else 2)


def test_a_body_that_goes_elsewhere_is_bounded_and_no_refusal_goes_there(server: Loopback, clients: Clients) -> None:
    server.route("/x", OK)
    server.route("/no", Answer(BODY, 404))
    kept = Kept()
    with pytest.raises(BodyTooLarge):
        clients().get(f"{server.url}/x", RequestOptions(into=kept, limit=len(BODY) - 1))
    assert len(kept.body) < len(BODY)
    kept = Kept()
    assert clients().get(f"{server.url}/no", RequestOptions(into=kept, limit=1)).body == BODY
    assert (kept.body, kept.began) == (b"", 0)


def test_a_head_has_no_body_and_is_redirected(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/x", Answer(status=503), Answer(status=302, headers={"Location": "/y"}))
    server.route("/y", Answer(BODY, headers={"Docker-Content-Digest": "z"}))
    client = clients()
    response = client.get(f"{server.url}/x", RequestOptions(method="HEAD"))
    assert (response.status, response.body, response.headers["docker-content-digest"]) == (200, b"", "z")
    assert [(seen.method, seen.path) for seen in server.seen] == [("HEAD", "/x"), ("HEAD", "/x"), ("HEAD", "/y")]
    assert (client.sent, clock.slept) == (3, [0.5])


def test_a_write_that_is_retried_starts_from_its_first_byte(
    server: Loopback, clients: Clients, clock: Clock, tmp_path: Path
) -> None:
    (tmp_path / "body").write_bytes(BODY)
    server.route(
        "/x", Answer(status=503, headers={"Retry-After": "2"}), Answer(BODY, fault="reset"), Answer(status=409)
    )
    client = clients()
    with (tmp_path / "body").open("rb") as body:

        def step() -> Response | FailedAttempt:
            body.seek(0)
            return client.attempt("PUT", f"{server.url}/x", body, RequestOptions({"Content-Type": "a/b"}))

        assert client.persist(step).status == 409
    assert [(seen.body, seen.headers["content-type"]) for seen in server.seen] == [(BODY, "a/b")] * 3
    assert clock.slept == [2.0, 1.0]


def test_plain_http_may_be_kept_to_one_host(server: Loopback, clients: Clients) -> None:
    server.route("/x", Answer(status=302, headers={"Location": "http://localhost.example/y"}))
    server.route("/z", Answer(status=302, headers={"Location": f"{server.url}/y"}))
    server.route("/y", OK)
    assert "not followed" in failure(clients, f"{server.url}/x", RequestOptions(keeps_plain_host=True)).message
    assert clients().get(f"{server.url}/z", RequestOptions(keeps_plain_host=True)).body == BODY


def test_a_server_without_tls(server: Loopback, clients: Clients, clock: Clock) -> None:
    error = failure(clients, f"https://{server.host}/x")
    assert error.message == f"{server.host} does not speak https"
    assert clock.slept == []


def test_a_limit_is_waited_for_though_its_status_is_accepted(server: Loopback, clients: Clients, clock: Clock) -> None:
    server.route("/x", Answer(status=403, headers={"Retry-After": "3"}), Answer(b"no", 403))
    assert clients().query(f"{server.url}/x", b"{}", RequestOptions(accept_status=(403,))).body == b"no"
    assert clock.slept == [3.0]
