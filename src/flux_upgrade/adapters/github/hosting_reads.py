"""Reading about a repository, an account or GitHub itself: our own client, which tries again. No PyGithub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from flux_upgrade.adapters.github import refusals
from flux_upgrade.adapters.github.query import Json, Query
from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.adapters.http import failures
from flux_upgrade.adapters.http.client import Client, RequestOptions, Response
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.ports import Timing

_OPTIONS = RequestOptions(
    headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
    accept_status=(400, 401, 403, 404, 409, 410, 422, 451),
)
_MAX_PAGES = 20
"""Of 100 each: no repository has that many deploy keys."""


class GitHubReads:
    """GETs below ``api_url``, and queries."""

    def __init__(self, client: Client, timing: Timing, api_url: str, graphql_url: str) -> None:
        self._client = client
        self._timing = timing
        self._api_url = api_url.rstrip("/")
        self._graphql_url = graphql_url

    def found(self, path: str, attempt: Attempt) -> Response | None:
        """The answer to a GET; None for 404. Raises what ``attempt`` makes of anything else."""
        response = self._answer(f"{self._api_url}{path}", attempt)
        return None if response.status == HTTPStatus.NOT_FOUND else self.require(response, attempt)

    def answer(self, path: str, attempt: Attempt) -> Response:
        """The answer to a GET, whatever GitHub says. Raises ForgeUnavailable where it says nothing."""
        return self._answer(f"{self._api_url}{path}", attempt)

    def require(self, response: Response, attempt: Attempt) -> Response:
        """An answer of success. Raises what ``attempt`` makes of another one."""
        if response.is_found:
            return response
        with_body = refusals.refusal_of(response.status, _parsed(response), response.headers)
        raise refusals.error_of(with_body, attempt, self._timing.now())

    def listed(self, path: str, attempt: Attempt, key: str = "") -> list[Any]:
        """All pages of a list; ``key``: of objects, where it stands."""
        url: str | None = f"{self._api_url}{path}?per_page=100"
        entries: list[Any] = []
        for _ in range(_MAX_PAGES):
            response = self.require(self._answer(url or "", attempt), attempt)
            page = _parsed(response)
            if key and isinstance(page, dict):
                page = page.get(key)
            if not isinstance(page, list):
                raise refusals.nonsense(attempt)
            entries += page
            with _translated_errors(attempt):
                url = failures.next_page(response.headers.get("link", ""), response.url)
            if url is None:
                return entries
        raise refusals.nonsense(attempt, "its list has no end")

    def viewer(self, attempt: Attempt) -> str:
        """The login that the token acts as, of apps too: ``github-actions[bot]``."""
        with sensible(attempt):
            return str(self.asked(Query("{ viewer { login } }", {}), attempt)["viewer"]["login"])

    def asked(self, query: Query, attempt: Attempt) -> Json:
        """The ``data`` of an answer without errors. Raises what ``attempt`` makes of another one."""
        body = json.dumps({"query": query.text, "variables": query.variables}).encode()
        with _translated_errors(attempt):
            response = self._client.query(self._graphql_url, body, _OPTIONS)
        answer = _parsed(response)
        if not response.is_found or (isinstance(answer, dict) and answer.get("errors")):
            refusal = refusals.refusal_of(response.status, answer, response.headers)
            raise refusals.error_of(refusal, attempt, self._timing.now())
        with sensible(attempt):
            data: Json = answer["data"]
            return data

    def _answer(self, url: str, attempt: Attempt) -> Response:
        with _translated_errors(attempt):
            return self._client.get(url, _OPTIONS)


def json_object(response: Response, attempt: Attempt) -> dict[str, Any]:
    """The JSON object that an answer holds. Raises ForgeUnavailable."""
    parsed = _parsed(response)
    if not isinstance(parsed, dict):
        raise refusals.nonsense(attempt)
    return parsed


@contextmanager
def sensible(attempt: Attempt) -> Iterator[None]:
    """An answer that has not what GitHub's answers have is none of GitHub's."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError):
        raise refusals.nonsense(attempt) from None


@contextmanager
def _translated_errors(attempt: Attempt) -> Iterator[None]:
    try:
        yield
    except SourceUnavailable as error:
        raise refusals.unreachable(error, attempt) from None


def _parsed(response: Response) -> Any:
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        return None
