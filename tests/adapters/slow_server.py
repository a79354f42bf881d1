"""A server on loopback that answers slowly, in each of the ways in which one can. It ends every answer in the end."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping

from loopback_server import LoopbackServer

from adapters.loopback import Handler, Served

FORMS = ("silent", "headers", "body", "chunks", "stalls")
_BEGIN = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
_BODY = b"x" * 64
_BYTES = 100  # That are sent one by one


class SlowServer(Served):
    """``form``: one of ``FORMS``; ``redirects``: each redirect takes a pause; ``handshake``: no TLS, but a record;
    ``tunnel``: the same, behind a proxy.

    ``pause``: seconds before each byte or chunk; ``count``: how many of them there are. ``asked`` has the path of
    each request. ``quick``: what it answers at once, by path.
    """

    def __init__(self, form: str, pause: float = 0.05, count: int = _BYTES, tls: ssl.SSLContext | None = None) -> None:
        self.form, self.pause, self.count = form, pause, count
        self.quick: Mapping[str, bytes] = {}
        self.asked: list[str] = []
        self._server = _Server(self, tls)


class _Server(LoopbackServer):
    def __init__(self, slow: SlowServer, tls: ssl.SSLContext | None) -> None:
        super().__init__(_Handler, tls)
        self.slow = slow


class _Handler(Handler):
    server: _Server

    def handle(self) -> None:
        slow = self.server.slow
        if slow.form == "handshake":
            self.rfile.read(1)
            slow.asked.append("")
        else:
            slow.asked.append(self.rfile.readline().decode().split()[1])
            while self.rfile.readline().strip():
                pass
        if (body := slow.quick.get(slow.asked[-1])) is not None:
            self.wfile.write(_BEGIN + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            return
        for piece in _answer(slow, slow.asked[-1]):
            if piece:
                self.wfile.write(piece)
            if self.server.closing.wait(slow.pause):
                return


def _answer(slow: SlowServer, path: str) -> Iterator[bytes]:
    """The answer, in the pieces between which there is a pause."""
    drops = [b"x"] * slow.count
    match slow.form:
        case "silent":
            yield from [b""] * slow.count
        case "headers":
            yield _BEGIN + b"X-Slow: "
            yield from drops
            yield b"\r\nContent-Length: 0\r\n\r\n"
        case "body":
            yield _BEGIN + b"Content-Length: %d\r\n\r\n" % slow.count
            yield from drops
        case "chunks":
            yield _BEGIN + b"Transfer-Encoding: chunked\r\n\r\n"
            yield from [b"1\r\nx\r\n"] * slow.count
            yield b"0\r\n\r\n"
        case "stalls":
            yield _BEGIN + b"Content-Length: %d\r\n\r\n" % len(_BODY)
            yield _BODY[: len(_BODY) // 2]
            yield from [b""] * slow.count
        case "redirects":
            yield b""
            number = int(path.strip("/")) + 1
            status = b"307 Temporary Redirect" if number < slow.count else b"200 OK"
            yield b"HTTP/1.1 %s\r\nLocation: /%d\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (status, number)
        case "handshake" | "tunnel":
            if slow.form == "tunnel":
                yield b"HTTP/1.1 200 OK\r\n\r\n"
            yield b"\x16\x03\x03\x40\x00"
            yield from drops
