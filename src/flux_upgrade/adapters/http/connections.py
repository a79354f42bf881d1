"""Connections that keep a whole request within one deadline.

A timeout of a socket bounds one read or write, so a server that sends a byte now and then never exceeds it.
Here, each read and write of a socket first sets the timeout to the time that is left of the request. This
bounds the status line, the headers, the body, its chunks and the answer of a proxy. Connecting shares the time
among the addresses of the host. Python itself bounds a TLS handshake as a whole by the timeout of its socket.
The system's resolver has its own timeouts. A SOCKS proxy, for which requests needs another package, brings
its own sockets: there, the timeout bounds each read.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util.ssl_ import create_urllib3_context

_FREE = 1_000_000  # bytes that give no more time
_RATE = 100_000  # bytes of a larger body that give another second


class Deadline:
    """The end of a request: ``seconds`` from now, and later with each byte of a large body that has arrived.

    ``limit``: the bytes of the body that the caller accepts. No more of them give time, so that framing, and
    compressed data that decodes to nothing, cannot extend it for ever. What is sent gives time as well.
    """

    def __init__(self, seconds: float, limit: int, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._limit, self._now = seconds, limit, now
        self._began = now()
        self._received = self._sent = 0

    @property
    def seconds(self) -> float:
        """The seconds that the request may take, by what has been transferred so far."""
        transferred = min(self._received, self._limit) + self._sent
        return self._seconds + max(0, transferred - _FREE) / _RATE

    @property
    def elapsed(self) -> float:
        return self._now() - self._began

    @property
    def is_missed(self) -> bool:
        return self.elapsed >= self.seconds

    def left(self) -> float:
        """The seconds that are left. Raises TimeoutError if there are none."""
        left = self.seconds - self.elapsed
        if left <= 0:
            raise TimeoutError
        return left

    def received(self, count: int) -> None:
        self._received += count

    def sent(self, count: int) -> None:
        self._sent += count


_current: ContextVar[Deadline] = ContextVar("_current")


@contextmanager
def bounded_by(deadline: Deadline) -> Iterator[None]:
    """Keep all that this thread's connections do in the block within ``deadline``."""
    before = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(before)


class _Socket(socket.socket):
    """A socket whose reads and writes end at the deadline of the request."""

    def recv(self, *arguments: Any) -> bytes:
        self.settimeout(_current.get().left())
        content = super().recv(*arguments)
        _current.get().received(len(content))
        return content

    def recv_into(self, *arguments: Any) -> int:
        self.settimeout(_current.get().left())
        count = super().recv_into(*arguments)
        _current.get().received(count)
        return count

    def send(self, *arguments: Any) -> int:
        self.settimeout(_current.get().left())
        count = super().send(*arguments)
        _current.get().sent(count)
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        with memoryview(data) as view, view.cast("B") as content:
            first = 0
            while first < len(content):
                first += self.send(content[first:], flags)


class _TlsSocket(_Socket, ssl.SSLSocket):
    pass


def resolved(host: str, port: int) -> tuple[str, ...]:
    """What the machine's resolver says of a name; of an address, itself."""
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(where[0]) for *_, where in found))


class Connection(HTTPConnection):
    """Connects to the addresses of its host in turn. The name stays for TLS and for the header ``Host``."""

    _dns_host: str

    def addresses(self, host: str, port: int) -> Iterable[str]:
        """The addresses to try. Raises OSError."""
        return resolved(host, port)

    def _new_conn(self) -> socket.socket:
        name = self._dns_host
        try:
            addresses = tuple(self.addresses(name, self.port))
        except OSError as error:
            raise NewConnectionError(self, "its name is unknown") from error
        failure: Exception = NewConnectionError(self, "it has no address")
        for number, address in enumerate(addresses):
            self._dns_host = address
            try:
                self.timeout = _current.get().left() / (len(addresses) - number)
                connected = super()._new_conn()
            except (NewConnectionError, ConnectTimeoutError) as error:
                failure = error
                continue
            finally:
                self._dns_host = name
            if _parsed(connected.getpeername()[0]) in map(_parsed, addresses):
                return _bounded(connected)
            connected.close()
        raise failure


class TlsConnection(Connection, HTTPSConnection):
    def connect(self) -> None:
        self.ssl_context = self.ssl_context or create_urllib3_context()
        self.ssl_context.sslsocket_class = _TlsSocket
        if self.proxy is not None and self.proxy.scheme == "https" and self._tunnel_host is not None:
            # The TLS of the server is inside that to the proxy, which has a context of its own.
            context = create_urllib3_context()
            context.sslsocket_class = _TlsSocket
            context.load_verify_locations(self.ca_certs, self.ca_cert_dir)
            self.proxy_config = self.proxy_config and self.proxy_config._replace(ssl_context=context)
        super().connect()


def pool_classes(plain: type[Connection] = Connection, tls: type[TlsConnection] = TlsConnection) -> dict[str, Any]:
    """Scheme → a class of pools of such connections, as ``PoolManager.pool_classes_by_scheme``."""
    return {
        "http": type("HTTPConnectionPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
        "https": type("HTTPSConnectionPool", (HTTPSConnectionPool,), {"ConnectionCls": tls}),
    }


def _bounded(connected: socket.socket) -> socket.socket:
    """The same connection, as a socket that keeps to the deadline. A TLS handshake takes over its timeout."""
    bounded = _Socket(fileno=connected.detach())
    bounded.settimeout(_current.get().left())
    return bounded


def _parsed(address: str) -> IPv4Address | IPv6Address:
    return ip_address(address.partition("%")[0])
