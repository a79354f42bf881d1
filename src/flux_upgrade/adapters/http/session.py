"""What requests does for the client: a session that follows nothing by itself, and bodies, bounded."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Protocol

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util.ssl_ import create_urllib3_context

from flux_upgrade.adapters.http import origins
from flux_upgrade.adapters.http.connections import pool_classes
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import one_line

_CHUNK = 16 * 1024


class Session(requests.Session):
    """Keeps no cookie, reads no ``~/.netrc``, and no ``Location``.

    requests does read it even with ``allow_redirects=False``: it prepares a request to follow, with the
    credentials that its own parser allows, and reads the whole answer for it. ``ca_file``: a PEM file with
    authorities to trust, too. Raises UsageError where it holds none. ``guarded`` makes what
    guards its connections, of what they trust.
    """

    def __init__(
        self, ca_file: str | None, guarded: Callable[[ssl.SSLContext | None], HTTPAdapter] | None = None
    ) -> None:
        super().__init__()
        # requests reads ~/.netrc only where it has no auth of its own
        self.auth = lambda request: request
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        context = None if ca_file is None else _context(ca_file)
        for scheme in ("https://", "http://"):
            self.mount(scheme, (guarded or TrustingAdapter)(context))

    def merge_environment_settings(self, url: Any, *others: Any) -> Any:
        """Without a proxy for plain http on the loopback interface.

        A proxy would read the password in it, and has another loopback interface. Go's programs ask none either
        (net/http: ProxyFromEnvironment), so that HTTP_PROXY means the same for us as for docker and helm.
        """
        settings = super().merge_environment_settings(url, *others)
        scheme, host, _ = origins.origin(url)
        return {**settings, "proxies": {}} if scheme == "http" and origins.is_loopback(host) else settings

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None, whatever the answer is."""
        del resp


def _context(ca_file: str) -> ssl.SSLContext:
    # requests adds the usual authorities to it, or those of REQUESTS_CA_BUNDLE, with each connection.
    context = create_urllib3_context()
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:
        is_read = isinstance(error, ssl.SSLError)
        raise UsageError(
            f"the CA file {one_line(ca_file)} "
            + ("has no certificate" if is_read else f"is not readable: {error.strerror}"),
            hint="set a PEM file with the trusted CA certificates",
        ) from error
    return context


class TrustingAdapter(HTTPAdapter):
    """Bounded connections, also by way of a proxy, that share one TLS context; with None, each has its own."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._shared: dict[str, Any] = {} if context is None else {"ssl_context": context}
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **{**self._shared, **options})
        self.poolmanager.pool_classes_by_scheme = pool_classes()

    def proxy_manager_for(self, proxy: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **self._shared, **options)
        if not proxy.lower().startswith("socks"):
            manager.pool_classes_by_scheme = pool_classes()
        return manager


class Sink(Protocol):
    """Where a long body goes, piece by piece."""

    def restart(self) -> None:
        """Forget what was written: the body comes again from its beginning."""

    def write(self, chunk: bytes) -> None:
        """Take the next piece."""


class TooLong(Exception):
    """There is more of it than is taken."""


def read_body(answer: requests.Response, limit: int, *, verbatim: bool, into: Sink | None) -> bytes:
    """The body, or nothing where it went ``into`` a sink.

    Raises TooLong for more than ``limit`` bytes, and what requests and urllib3 raise for a body that
    breaks off.
    """
    body, length = bytearray(), 0
    if into is not None:
        into.restart()
    for chunk in answer.raw.stream(_CHUNK, decode_content=not verbatim):
        length += len(chunk)
        if length > limit:
            raise TooLong
        if into is None:
            body += chunk
        else:
            into.write(chunk)
    declared = answer.headers.get("content-length", "")
    has_body = answer.request.method != "HEAD"
    if has_body and declared.isdigit() and answer.raw.tell() < int(declared):
        raise ConnectionResetError  # requests over urllib3 1.26 does not notice
    return bytes(body)


def drain(answer: requests.Response) -> None:
    """Read a body that is of no use, so that its connection can be used again; not all of a long one."""
    with suppress(OSError, HTTPError):
        answer.raw.read(_CHUNK)
