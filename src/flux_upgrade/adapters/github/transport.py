"""PyGithub's requests, carried by our own client. Imports PyGithub: only a run that writes pays for it.

PyGithub knows paths and bodies. The client knows the token, which PyGithub never
sees, follows no redirect, and sends a write once: PyGithub by itself would repeat
a POST whose first copy may have been applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from github.GithubException import GithubException
from github.Requester import Requester

from flux_upgrade.adapters.github import api, refusals
from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.adapters.http import origins


@contextmanager
def translated_errors(github: api.GitHubApi, attempt: Attempt) -> Iterator[None]:
    """Turns what goes wrong in PyGithub and in the transport into our errors."""
    try:
        with api.translated_errors(attempt):
            yield
    except GithubException as error:
        refusal = refusals.refusal_of(error.status, error.data, error.headers or {})
        raise refusals.error_of(refusal, attempt, github.timing.now()) from None


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
        base = self._github.url
        # PyGithub asks for a path, or for an address as an object of the API has it.
        address = f"{base}{url}" if url.startswith("/") else origins.followed(base, url, "names")
        address = self.add_parameters_to_url(address, parameters or {})
        response = self._github.send(verb, address, input, headers or {})
        return response.status, dict(response.headers), response.body.decode("utf-8", "replace")
