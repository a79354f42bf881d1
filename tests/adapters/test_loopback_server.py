"""A loopback server of the tests stops with all its threads and connections."""

from __future__ import annotations

import http.client
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from loopback_server import LoopbackServer

from adapters.registries import own_certificate


class Patient(BaseHTTPRequestHandler):
    """Keeps connections open. ``/slow`` is answered once the server stops."""

    protocol_version = "HTTP/1.1"
    server: LoopbackServer

    def do_GET(self) -> None:
        if self.path == "/slow":
            self.server.closing.wait(30)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is http.server's)
        del format, args


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_connections_that_clients_keep_open_are_closed(tmp_path: Path, scheme: str) -> None:
    before = threading.active_count()
    tls, trust = None, ssl.create_default_context()
    if scheme == "https":
        certificate, key = own_certificate(tmp_path)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        trust.load_verify_locations(certificate)
    with LoopbackServer(Patient, tls) as server:
        assert server.url == f"{scheme}://{server.host}"
        client: http.client.HTTPConnection = (
            http.client.HTTPConnection(server.host)
            if tls is None
            else http.client.HTTPSConnection(server.host, context=trust)
        )
        client.request("GET", "/")
        assert client.getresponse().read() == b""
        assert threading.active_count() == before + 2, "one that accepts, one for the connection"
    assert threading.active_count() == before
    assert client.sock.recv(1) == b""
    client.close()


def test_an_answer_that_is_being_made_ends_first() -> None:
    before = threading.active_count()
    with LoopbackServer(Patient) as server:
        client = http.client.HTTPConnection(server.host)
        client.request("GET", "/slow")
        while threading.active_count() < before + 2:
            pass
    assert threading.active_count() == before
    client.close()


def test_one_that_was_never_started_can_be_stopped() -> None:
    server = LoopbackServer(Patient)
    server.stop()
    assert server.socket.fileno() == -1
