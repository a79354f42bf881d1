"""Certificate authorities of the user's own, beside the usual ones."""

from __future__ import annotations

import ssl
from typing import Any

from requests import Session
from requests.adapters import HTTPAdapter
from urllib3.util.ssl_ import create_urllib3_context

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import UsageError


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
