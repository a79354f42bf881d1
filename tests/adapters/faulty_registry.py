"""A proxy in front of a real registry, on loopback, that spoils what a test asks it to."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from loopback_server import LoopbackServer

from adapters.loopback import Handler, Served

_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Fault:
    """What happens to one request; without anything said, it goes to the registry and back."""

    status: int = 0
    """Answered in the registry's place, which is not asked; 0: it is."""
    body: bytes = b""
    """With ``status``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the answer, in place of those that the registry gives; an empty value leaves one out."""
    drop: str = ""
    """``request``: the connection breaks off before the registry is asked; ``answer``: after the registry
    did what was asked; ``body``: in the middle of the answer's body."""
    tampered: bool = False
    """The last byte of the answer's body is another."""
    delay: float = 0.0
    """Seconds before anything is done."""
    first: Callable[[], object] | None = None
    """Called before the registry is asked."""


@dataclass(frozen=True)
class Passed:
    """A request that came by."""

    method: str
    path: str
    """With its query."""
    status: int
    """0: nothing was answered."""
    authorization: str


@dataclass
class _Rule:
    method: str
    part: str
    fault: Fault
    times: int
    skip: int


class FaultyRegistry(Served):
    """``url`` in place of the registry's; ``spoil`` says what goes wrong, ``passed`` what came by."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.passed: list[Passed] = []
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self._server = _Server(self)

    def spoil(self, method: str, part: str, fault: Fault, times: int = 1, skip: int = 0) -> None:
        """Spoil requests with ``part`` in their path: ``times`` of them (-1: all), after ``skip``."""
        self._rules.append(_Rule(method, part, fault, times, skip))

    def heal(self) -> None:
        """Forget all rules."""
        self._rules.clear()

    @property
    def asked(self) -> list[str]:
        """``PUT /v2/…``, without query, of the requests that no challenge answered."""
        return [f"{each.method} {each.path.partition('?')[0]}" for each in self.passed if each.status != 401]

    def fault_for(self, method: str, path: str) -> Fault:
        with self._lock:
            for rule in self._rules:
                if rule.method == method and rule.part in path and rule.times != 0:
                    if rule.skip > 0:
                        rule.skip -= 1
                        continue
                    rule.times -= 1
                    return rule.fault
        return Fault()


class _Server(LoopbackServer):
    def __init__(self, registry: FaultyRegistry) -> None:
        super().__init__(_Handler)
        self.registry = registry


class _Handler(Handler):
    server: _Server
    protocol_version = "HTTP/1.0"

    def _handle(self) -> None:
        fault = self.server.registry.fault_for(self.command, self.path)
        if fault == Fault():
            self._forward(fault)
        else:
            self._spoil(fault)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = _handle  # noqa: N815  (http.server's names)

    def _spoil(self, fault: Fault) -> None:
        if fault.delay:
            self.server.closing.wait(fault.delay)
        if fault.first is not None:
            fault.first()
        if fault.drop == "request":
            self._note(0)
            self._drop()
            return
        if not fault.status:
            self._forward(fault)
            return
        self._swallow()
        self._note(fault.status)
        self.send_response(fault.status)
        for name, value in {"Content-Length": str(len(fault.body)), **fault.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(fault.body)

    def _forward(self, fault: Fault) -> None:
        connection = http.client.HTTPConnection(self.server.registry.upstream, timeout=30)
        try:
            # The host stays the proxy's, so that the registry's addresses lead back here.
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            self._swallow(connection)
            answer = connection.getresponse()
            if fault.drop == "answer":
                answer.read()
                self._note(0)
                self._drop()
                return
            self._note(answer.status)
            self._pass_back(answer, fault)
        finally:
            connection.close()

    def _pass_back(self, answer: http.client.HTTPResponse, fault: Fault) -> None:
        self.send_response_only(answer.status)
        changed = {name.lower() for name in fault.headers}
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in changed]
        for name, value in (*kept, *fault.headers.items()):
            if value and name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        self.end_headers()
        length = int(answer.getheader("Content-Length") or 0)
        sent = 0
        while chunk := answer.read(_CHUNK):
            sent += len(chunk)
            if fault.tampered and sent >= length:
                chunk = chunk[:-1] + bytes([chunk[-1] ^ 1])
            if fault.drop == "body" and sent * 2 >= length:
                self.wfile.write(chunk[: len(chunk) // 2])
                self._drop()
                return
            self.wfile.write(chunk)

    def _note(self, status: int) -> None:
        """Before the client knows: it may look at once."""
        sent = self.headers.get("Authorization", "")
        self.server.registry.passed.append(Passed(self.command, self.path, status, sent))

    def _swallow(self, connection: http.client.HTTPConnection | None = None) -> None:
        """Read the request's body, and pass it on."""
        left = int(self.headers.get("Content-Length") or 0)
        while left > 0 and (chunk := self.rfile.read(min(left, _CHUNK))):
            left -= len(chunk)
            if connection is not None:
                connection.send(chunk)

    def _drop(self) -> None:
        self.wfile.flush()
        time.sleep(0.01)  # what was written reaches the client first
        self.reset()
