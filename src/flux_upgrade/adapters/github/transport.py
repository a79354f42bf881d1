"""PyGithub's requests, carried by our own client. Imports PyGithub: only a run that writes pays for it.

PyGithub knows paths and bodies. The client knows the token, which PyGithub never
sees, follows no redirect, and sends a write once: PyGithub by itself would repeat
a POST whose first copy may have been applied.

A server behind a proxy, or at another port, returns addresses that differ from the
API's URL. PyGithub would connect to them, or refuse them. Only their paths are used.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from github.Requester import Requester

from flux_upgrade.adapters.github import api
from flux_upgrade.adapters.http import origins
from flux_upgrade.model.text import one_line

_PATH = re.compile(r"/(?:repos|repositories)/.+")
"""Where the paths that we ask for begin: by name, and by number in the links to further pages."""


class Transport(Requester):
    """What PyGithub's objects ask to send their requests."""

    def __init__(self, github: api.GitHubApi) -> None:
        super().__init__(
            auth=None,
            base_url=github.url,
            timeout=0,
            user_agent="flux-upgrade",
            per_page=30,
            verify=True,
            retry=None,
            pool_size=None,
            lazy=True,
        )
        self._github = github

    @property
    def graphql_url(self) -> str:
        return self._github.graphql_url

    def requestJsonAndCheck(  # noqa: N802, PLR0913, PLR0917  (PyGithub's name and arguments)
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        input: Any | None = None,  # noqa: A002  (PyGithub's name)
        follow_302_redirect: bool = False,  # noqa: FBT001, FBT002  (as above)
    ) -> tuple[dict[str, Any], Any]:
        if not url.startswith("/") and url != self.graphql_url:
            url = _path_of(url)
        return super().requestJsonAndCheck(verb, url, parameters, headers, input, follow_302_redirect)

    def requestJson(  # noqa: N802, PLR0913, PLR0917  (PyGithub's name and arguments)
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        input: Any | None = None,  # noqa: A002  (PyGithub's name)
        cnx: object = None,
        follow_302_redirect: bool = False,  # noqa: FBT001, FBT002  (as above)
    ) -> tuple[int, dict[str, Any], str]:
        del cnx, follow_302_redirect
        address = f"{self._github.url}{url}" if url.startswith("/") else url
        address = self.add_parameters_to_url(address, parameters or {})
        response = self._github.send(verb, address, input, headers or {})
        return response.status, dict(response.headers), response.body.decode("utf-8", "replace")


def _path_of(address: str) -> str:
    """The path and query of an address that an object of the API has. Raises NotGitHub."""
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    path = None if origins.oddity(address) else _PATH.search(parts.path)
    if path is None:
        raise api.NotGitHub(f"{one_line(address)} is not an address of its API")
    return f"{path[0]}?{parts.query}" if parts.query else path[0]
