"""One GitHub: reads and writes by our own client, each refusal in our words. No PyGithub."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from flux_upgrade.adapters.github import refusals
from flux_upgrade.adapters.github.query import Json, Query, Who
from flux_upgrade.adapters.github.refusals import Attempt, Refusal
from flux_upgrade.adapters.http import failures, origins
from flux_upgrade.adapters.http.client import Client, RequestOptions, Response
from flux_upgrade.model.errors import FluxUpgradeError, LimitReached, SourceUnavailable, UsageError
from flux_upgrade.model.text import json_of, one_line
from flux_upgrade.model.timing import Timing

_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_OPTIONS = RequestOptions(headers=_HEADERS, accept_status=(400, 401, 403, 404, 409, 410, 422, 451))
_RESERVE = 50  # Calls that a run leaves: other jobs share the limit, and a step of ours takes a dozen
_MAX_PAGES = 20  # of 100 each: no repository has that many deploy keys


class NotGitHub(Exception):
    """An answer that GitHub's API does not give: a redirect, a page, half of a JSON document."""


class GitHubApi:
    """github.com or a GitHub Enterprise Server.

    ``client`` has the token, for the origin of both addresses. ``pause``: seconds between two writes, as
    GitHub asks for (https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
    Raises UsageError for addresses that are not those of one server.
    """

    def __init__(
        self,
        client: Client,
        timing: Timing,
        *,
        api_url: str = "https://api.github.com",
        graphql_url: str = "https://api.github.com/graphql",
        pause: float = 1.0,
    ) -> None:
        # The token goes to one origin: what looks has to be what acts.
        try:
            found = {origins.origin(api_url), origins.origin(graphql_url)}
        except ValueError:
            found = set()
        if len(found) != 1 or next(iter(found)).scheme not in origins.PORTS:
            raise UsageError(
                f"{one_line(api_url)} and {one_line(graphql_url)} do not belong to the same GitHub server",
                hint="set GITHUB_API_URL and GITHUB_GRAPHQL_URL as the runner sets them, https://host/...",
            )
        self.client = client
        self.timing = timing
        self.url = api_url.rstrip("/")
        self.graphql_url = graphql_url
        self._pause = pause
        self._next_write = 0.0
        self._left: dict[str, tuple[int, float]] = {}
        """What each of GitHub's rate limits counts → the calls that are left, and until when."""
        self._limit: LimitReached | None = None  # The last answer that refused a request for its rate

    @property
    def is_limited(self) -> bool:
        """Whether GitHub has said to send nothing, and that time is not over."""
        return self._limit is not None and self._limit.until > self.timing.now()

    @property
    def exhausted(self) -> str:
        if self._limit is not None and self.is_limited:
            return self._limit.message
        now = self.timing.now()
        ends = [end for left, end in self._left.values() if left < _RESERVE and end > now]
        return f"GitHub's API rate limit is nearly used up until {failures.utc(max(ends))}" if ends else ""

    def refused(self, refusal: Refusal, attempt: Attempt) -> FluxUpgradeError:
        """The error for a refusal. After a rate limit, no request is sent until it ends."""
        error = refusals.error_of(refusal, attempt, self.timing.now())
        if isinstance(error, LimitReached):
            self._limit = error
        return error

    def _require_no_limit(self) -> None:
        limit = self._limit
        if limit is not None and self.is_limited:
            raise LimitReached(limit.message, hint=limit.hint, until=limit.until)

    def found(self, path: str, attempt: Attempt) -> Response | None:
        """The answer to a GET; None for 404. Raises what ``attempt`` makes of anything else."""
        response = self.answer(path, attempt)
        return None if response.status == HTTPStatus.NOT_FOUND else self.require(response, attempt)

    def answer(self, path: str, attempt: Attempt) -> Response:
        """The answer to a GET, whatever GitHub says. Raises ForgeUnavailable where it says nothing."""
        self._require_no_limit()
        with translated_errors(attempt):
            return self._counted(self.client.get(f"{self.url}{path}", _OPTIONS))

    def download(self, path: str, attempt: Attempt, limit: int) -> bytes:
        """What a GET leads to, on another host as a rule, which gets no token.

        Raises ForgeUnavailable for more than ``limit`` bytes, and what ``attempt`` makes of a refusal.
        """
        options = replace(_OPTIONS, limit=limit)
        with translated_errors(attempt):
            return self.require(self._counted(self.client.get(f"{self.url}{path}", options)), attempt).body

    def require(self, response: Response, attempt: Attempt) -> Response:
        """An answer of success. Raises what ``attempt`` makes of another one."""
        if response.is_found:
            return response
        refusal = refusals.refusal_of(response.status, json_of(response.body), response.headers)
        raise self.refused(refusal, attempt)

    def listed(self, path: str, attempt: Attempt, key: str = "") -> list[Any]:
        """All pages of a list; ``key``: of objects, where it stands."""
        url: str | None = f"{self.url}{path}?per_page=100"
        entries: list[Any] = []
        for _ in range(_MAX_PAGES):
            with translated_errors(attempt):
                response = self.client.get(url or "", _OPTIONS)
            page = json_of(self.require(response, attempt).body)
            if key and isinstance(page, dict):
                page = page.get(key)
            if not isinstance(page, list):
                raise refusals.nonsense(attempt)
            entries += page
            with translated_errors(attempt):
                url = origins.next_page(response.headers.get("link", ""), response.url)
            if url is None:
                return entries
        raise refusals.nonsense(attempt, "its list does not end")

    def viewer(self, attempt: Attempt) -> str:
        """The login that the token acts as, of apps too: ``github-actions[bot]``."""
        with sensible(attempt):
            return str(self.asked(Query("{ viewer { login } }", {}), attempt)["viewer"]["login"])

    def asked(self, query: Query, attempt: Attempt) -> Json:
        """The ``data`` of an answer without errors. Raises what ``attempt`` makes of another one."""
        response, answer = self.graphql(query, attempt)
        if not response.is_found or (isinstance(answer, dict) and answer.get("errors")):
            refusal = refusals.refusal_of(response.status, answer, response.headers)
            raise self.refused(refusal, attempt)
        with sensible(attempt):
            data: Json = answer["data"]
            return data

    def graphql(self, query: Query, attempt: Attempt) -> tuple[Response, Any]:
        """The answer to a query, and what it holds as JSON. Raises ForgeUnavailable where there is none."""
        self._require_no_limit()
        body = json.dumps({"query": query.text, "variables": query.variables}).encode()
        with translated_errors(attempt):
            response = self._counted(self.client.query(self.graphql_url, body, _OPTIONS))
        return response, json_of(response.body)

    def write(self, verb: str, path: str, attempt: Attempt, body: object = None) -> Response:
        """The answer to something that changes what is at ``path``, whatever GitHub says: see ``send``."""
        with translated_errors(attempt):
            return self.send(verb, f"{self.url}{path}", body)

    def send(self, verb: str, url: str, body: object = None, headers: Mapping[str, str] = {}) -> Response:
        """A write is sent once, unless GitHub says that it did not look at it. Raises NotGitHub, LimitReached."""
        self._require_no_limit()
        content = None if body is None else json.dumps(body).encode()
        response = self._sent(verb, url, content, RequestOptions(headers={**_HEADERS, **headers}))
        if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
            raise NotGitHub("it redirects, as for a repository that was just renamed")
        if response.is_found and response.body and not isinstance(json_of(response.body), dict | list):
            raise NotGitHub("its response is not JSON")
        return response

    def _sent(self, verb: str, url: str, body: bytes | None, options: RequestOptions) -> Response:
        waited = 0.0
        for _ in range(failures.ATTEMPTS):
            if (pause := self._next_write - self.timing.now()) > 0:
                self.timing.sleep(pause)
            response = self._counted(self.client.send(verb, url, body, options))
            now = self.timing.now()
            self._next_write = now + self._pause
            if not failures.is_rate_limited(response.status, response.headers):
                break
            wait = failures.asked_wait(response.headers, now)
            if wait is None or waited + wait > failures.MAX_WAIT:
                break
            self.timing.sleep(wait)
            waited += wait
        return response

    def _counted(self, response: Response) -> Response:
        found = failures.calls_left(response.headers)
        if found is not None:
            self._left[response.headers.get("x-ratelimit-resource", "")] = found
        return response


def owner_and_name(repository: str) -> Who:
    """The two parts of ``owner/name``. Raises UsageError."""
    owner, _, name = repository.partition("/")
    if not owner or not name or "/" in name:
        raise UsageError(f"{one_line(repository)} is not a repository name", hint="write it as owner/name")
    return owner, name


def json_object(response: Response, attempt: Attempt) -> dict[str, Any]:
    """The JSON object that an answer holds. Raises ForgeUnavailable."""
    parsed = json_of(response.body)
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
def translated_errors(attempt: Attempt) -> Iterator[None]:
    """For a block that sends requests: what it raises where there is no answer, or none of GitHub's."""
    try:
        yield
    except SourceUnavailable as error:
        raise refusals.unreachable(error, attempt) from None
    except NotGitHub as error:
        raise refusals.nonsense(attempt, str(error)) from None
