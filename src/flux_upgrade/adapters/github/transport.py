"""PyGithub's requests, carried by our own client. Imports PyGithub: only a run that writes pays for it.

PyGithub knows paths and bodies. The client knows the token, which PyGithub never
sees, follows no redirect, and sends a write once: PyGithub by itself would repeat
a POST whose first copy may have been applied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from github.GithubException import GithubException
from github.Requester import Requester

from flux_upgrade.adapters.github import refusals
from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.adapters.http import failures
from flux_upgrade.adapters.http.client import Client, RequestOptions, Response
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.ports import Timing

_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class NotGitHub(Exception):
    """An answer that GitHub's API does not give: a redirect, a page, half of a JSON document."""


@contextmanager
def translated_errors(attempt: Attempt, now: Callable[[], float]) -> Iterator[None]:
    """Turns what goes wrong in PyGithub and in the transport into our errors."""
    try:
        yield
    except GithubException as error:
        refusal = refusals.refusal_of(error.status, error.data, error.headers or {})
        raise refusals.error_of(refusal, attempt, now()) from None
    except SourceUnavailable as error:
        raise refusals.unreachable(error, attempt) from None
    except NotGitHub as error:
        raise refusals.nonsense(attempt, str(error)) from None


class Transport(Requester):
    """What PyGithub's objects ask to send their requests.

    ``pause``: seconds between two writes, as GitHub asks for
    (https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
    """

    def __init__(
        self, client: Client, timing: Timing, *, api_url: str, graphql_url: str, pause: float
    ) -> None:
        super().__init__(
            auth=None,
            base_url=api_url,
            timeout=0,
            user_agent="flux-upgrade",
            per_page=30,
            verify=True,
            retry=None,
            pool_size=None,
            lazy=True,
        )
        self._client = client
        self._timing = timing
        self._api_url = api_url.rstrip("/")
        self._graphql_url = graphql_url
        self._pause = pause
        self._next_write = 0.0

    @property
    def graphql_url(self) -> str:
        """Where PyGithub sends mutations."""
        return self._graphql_url

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
        """The status, the headers (names in lower case) and the text of an answer. Raises NotGitHub."""
        del cnx, follow_302_redirect
        address = self.add_parameters_to_url(self._address(url), parameters or {})
        body = None if input is None else json.dumps(input).encode()
        response = self._sent(verb, address, body, RequestOptions(headers={**_HEADERS, **(headers or {})}))
        if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
            raise NotGitHub("it redirects, as it does for a repository that was renamed a moment ago")
        if response.is_found and not _is_json(response.body):
            raise NotGitHub("it answers with something that is no JSON")
        return response.status, dict(response.headers), response.body.decode("utf-8", "replace")

    def _address(self, url: str) -> str:
        """What PyGithub asks for: a path, or an address as an object of the API has it."""
        if url.startswith("/"):
            return f"{self._api_url}{url}"
        return failures.followed(self._api_url, url, "names")

    def _sent(self, verb: str, url: str, body: bytes | None, options: RequestOptions) -> Response:
        """An answer. One that tells of a rate limit was given before anything was done: send it again."""
        waited = 0.0
        for _ in range(failures.ATTEMPTS):
            if (pause := self._next_write - self._timing.now()) > 0:
                self._timing.sleep(pause)
            response = self._client.send(verb, url, body, options)
            now = self._timing.now()
            self._next_write = now + self._pause
            if not failures.is_rate_limited(response.status, response.headers):
                break
            wait = failures.asked_wait(response.headers, now)
            if wait is None or waited + wait > failures.MAX_WAIT:
                break
            self._timing.sleep(wait)
            waited += wait
        return response


def _is_json(body: bytes) -> bool:
    """Whether PyGithub can make something of it: an object, a list, or nothing at all."""
    try:
        return not body or isinstance(json.loads(body), dict | list)
    except (ValueError, RecursionError):
        return False
