"""Requests to an API server, real or the stand-in's, as a controller makes them."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Object = dict[str, Any]
AGENT = "controllers"
_PATIENCE, _PAUSE = 20.0, 0.05
_TOO_EARLY = 429
"""A kind that has just been established: its storage is initializing."""


@dataclass
class Api:
    """Requests to an API server."""

    url: str
    token: str
    authority: str = ""
    """The file of its certificate authority; empty: it is not https."""

    @cached_property
    def _context(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.authority) if self.authority else None

    def ask(self, method: str, path: str, body: Object | None = None) -> Object | None:
        """None where there is no such thing, or somebody was faster."""
        request = urllib.request.Request(  # noqa: S310  (loopback)
            f"{self.url}/{path}", None if body is None else json.dumps(body).encode(), method=method
        )
        kind = "merge-patch+json" if method == "PATCH" else "json"
        request.add_header("Content-Type", f"application/{kind}")
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("User-Agent", AGENT)
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10, context=self._context) as answer:  # noqa: S310  (as above)
                    found: Object = json.load(answer)
                    return found
            except urllib.error.HTTPError as error:
                with error:
                    if error.code in (404, 409):
                        return None
                    if error.code != _TOO_EARLY or time.monotonic() > until:
                        raise AssertionError(f"{method} {path}: {error.code} {error.read()!r}") from None
            time.sleep(_PAUSE)

    def items(self, path: str) -> list[Object]:
        """All objects at an address; none where there is no such kind."""
        items: list[Object] = (self.ask("GET", path) or {}).get("items", [])
        return items
