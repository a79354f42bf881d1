"""The session of requests: it follows no redirect, and trusts a private CA if you name one.

It imports requests, which only a client pays for.
"""

from __future__ import annotations

import ssl
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.ssl_ import create_urllib3_context

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import one_line


class Session(requests.Session):
    """One that reads no ``Location``.

    requests does so even with ``allow_redirects=False``: it prepares a request to follow, with the
    credentials that its own parser allows, and reads the whole answer for it.
    """

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None, whatever the answer is."""
        del resp


def trust(session: Session, ca_file: str) -> None:
    """Have ``session`` trust the authorities in a PEM file, too. Raises UsageError where it holds none."""
    # requests adds the usual ones to it, or those of REQUESTS_CA_BUNDLE, with each connection.
    context = create_urllib3_context()
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:
        is_read = isinstance(error, ssl.SSLError)
        raise UsageError(
            f"the CA file {one_line(ca_file)} "
            + ("holds no certificate" if is_read else f"cannot be read: {error.strerror}"),
            hint="give a PEM file with the certificates of the authorities to trust",
        ) from error
    session.mount("https://", _Trusting(context))


class _Trusting(HTTPAdapter):
    """Connections, also by way of a proxy, that share one TLS context."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **options)

    def proxy_manager_for(self, proxy: Any, **options: Any) -> Any:
        return super().proxy_manager_for(proxy, ssl_context=self._context, **options)
