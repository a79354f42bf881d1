"""A scripted web server on loopback: real sockets, real faults."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Self

from loopback_server import LoopbackServer


@dataclass(frozen=True)
class Answer:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    """``reset`` and ``truncated``: half the body; ``cut chunk``: half of a chunk; ``silent``: no answer."""


@dataclass(frozen=True)
class Seen:
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    method: str = "GET"
    body: bytes = b""


class _Server(LoopbackServer):
    def __init__(self, loopback: Loopback, tls: ssl.SSLContext | None, address: str) -> None:
        super().__init__(_Handler, tls, address)
        self.loopback = loopback


class Handler(BaseHTTPRequestHandler):
    """One that is silent, and that can break a connection off."""

    def reset(self) -> None:
        self.wfile.flush()
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


class _Handler(Handler):
    server: _Server

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.loopback.answer(Seen(self.path, headers, self.command, body))
        if answer.fault == "silent":
            self.server.closing.wait(5)
            return
        response_headers = {"Content-Length": str(len(answer.body)), **answer.headers}
        if answer.fault == "cut chunk":
            response_headers = {"Transfer-Encoding": "chunked"}
        self.send_response(answer.status)
        for name, value in response_headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = _handle  # noqa: N815  (http.server's names)

    def _send(self, answer: Answer) -> None:
        half = answer.body[: len(answer.body) // 2]
        if answer.fault == "cut chunk":
            self.wfile.write(f"{len(answer.body):x}\r\n".encode() + half)
        elif answer.fault in ("truncated", "reset"):
            self.wfile.write(half)
            if answer.fault == "reset":
                self.reset()
        else:
            self.wfile.write(answer.body)


class Served:
    """A server, for as long as a block."""

    _server: LoopbackServer

    def __enter__(self) -> Self:
        self._server.start()
        return self

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def host(self) -> str:
        return self._server.host

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()


class Loopback(Served):
    """Answers by path, with its query or without; of several answers the last one stays.

    What there is no answer for is 404. Every request is kept in ``seen``.
    """

    def __init__(
        self,
        routes: Mapping[str, Answer | Sequence[Answer]] | None = None,
        tls: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.routes: dict[str, list[Answer]] = {}
        for path, answers in (routes or {}).items():
            self.route(path, *([answers] if isinstance(answers, Answer) else answers))
        self.seen: list[Seen] = []
        self._server = _Server(self, tls, address)

    def route(self, path: str, *answers: Answer) -> None:
        self.routes[path] = list(answers)

    def answer(self, seen: Seen) -> Answer:
        self.seen.append(seen)
        answers = self.routes.get(seen.path) or self.routes.get(seen.path.partition("?")[0])
        if not answers:
            return Answer(b"not found", 404)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        etag = answer.headers.get("ETag")
        if etag and seen.headers.get("if-none-match") == etag:
            return Answer(status=304, headers={"ETag": etag})
        return answer

    def paths(self) -> list[str]:
        return [seen.path for seen in self.seen]


def closed_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
