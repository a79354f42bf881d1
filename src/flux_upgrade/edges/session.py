"""A session of requests that leaves redirects alone. Imports requests: only a client pays for it."""

from __future__ import annotations

import requests


class Session(requests.Session):
    """One that reads no ``Location``.

    requests does so even with ``allow_redirects=False``: it prepares a request to follow, with the
    credentials that its own parser allows, and reads the whole answer for it.
    """

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None, whatever the answer is."""
        del resp
