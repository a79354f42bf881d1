"""The HTTP server around it: one request after the other, faults, limits, ETags, the log."""

from __future__ import annotations

import socket
import ssl
import struct
from http.server import BaseHTTPRequestHandler
from typing import Protocol

from loopback_server import LoopbackServer

from github_stand_in.exchange import Fault, Request, Response

_DROPS = 8
"""Pieces that a slow answer comes in."""


class Answers(Protocol):
    """Who answers the requests."""

    drop_seconds: float

    def answer(self, request: Request) -> tuple[Response, Fault | None]:
        """The answer, and what is to go wrong while it is sent."""
        ...


class Server(LoopbackServer):
    """Listens on loopback, on a port of its own."""

    def __init__(self, answers: Answers, tls: ssl.SSLContext | None) -> None:
        super().__init__(_Handler, tls)
        self.answers = answers


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 60

    def _handle(self) -> None:
        request = Request(
            method=self.command,
            target=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self._body(),
            host=f"{self.server.scheme}://{self.headers.get('Host', '')}",
        )
        response, fault = self.server.answers.answer(request)
        if fault is not None and fault.how == "reset":
            self._reset()
            return
        content = response.content()
        self.send_response(response.status)
        headers = {"Content-Type": "application/json; charset=utf-8", **response.headers}
        headers["Content-Length"] = str(len(content))
        if response.status in (204, 304):
            headers.pop("Content-Type")
            headers.pop("Content-Length")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._send(content, fault)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle  # noqa: N815  (http.server's names)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, content: bytes, fault: Fault | None) -> None:
        if fault is not None and fault.how == "truncated":
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        elif fault is not None and fault.how == "slow":
            size = len(content) // _DROPS + 1
            for begin in range(0, len(content), size):
                self.wfile.write(content[begin : begin + size])
                self.wfile.flush()
                self.server.closing.wait(self.server.answers.drop_seconds)
        else:
            self.wfile.write(content)
        self.wfile.flush()

    def _reset(self) -> None:
        self.close_connection = True
        # linger of 0 s: closing sends RST instead of FIN
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is http.server's)
        del format, args

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:
            self.rfile.close()
