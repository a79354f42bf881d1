"""An HTTP server on loopback that leaves nothing behind: neither a thread nor an open connection."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class LoopbackServer(ThreadingHTTPServer):
    """Listens from the beginning, on a port of its own; answers between `start` and `stop`."""

    daemon_threads = False  # http.server waits for no others
    request_queue_size = 64

    def __init__(
        self,
        handler: Callable[..., BaseHTTPRequestHandler],
        tls: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        super().__init__((address, 0), handler)
        self._address = address
        self.scheme = "http"
        if tls is not None:
            self.scheme = "https"
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.closing = threading.Event()
        """Set by `stop`: handlers wait for this instead of sleeping."""
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def host(self) -> str:
        """Address and port."""
        return f"{self._address}:{self.server_port}"

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return f"{self.scheme}://{self.host}"

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more. Connections that clients keep open are closed."""
        self.closing.set()
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        for connection in list(self._open):
            with suppress(OSError):
                # Not by TLS, which its own thread may be reading.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget it."""
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leave it out of the output, if a client hung up; everything else is a defect of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
