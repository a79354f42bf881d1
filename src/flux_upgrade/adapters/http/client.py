"""One thin client over requests, with everything that goes wrong on the way. Imports requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO, TypeVar

import requests
from urllib3.exceptions import HTTPError

from flux_upgrade.adapters.http import failures, origins
from flux_upgrade.adapters.http.budget import Budget
from flux_upgrade.adapters.http.cache import CachedResponse, EtagCache
from flux_upgrade.adapters.http.connections import Deadline, bounded_by
from flux_upgrade.adapters.http.session import Session, Sink, TooLong, drain, read_body
from flux_upgrade.model.errors import SourceUnavailable, UsageError
from flux_upgrade.model.ports import Progress
from flux_upgrade.model.timing import Patience, Timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.adapters.http.egress import Egress

MAX_BODY = 32 * 1024 * 1024  # bytes of an answer that are read, after decoding, unless a call says otherwise

_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_READING = ("GET", "HEAD")
_NOT_MODIFIED = 304
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Credential:
    """A bearer token and the one origin (``https://api.github.com``) that may see it.

    Raises UsageError for a token that no header can carry.
    """

    origin: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        if not self.token or not self.token.isascii() or not self.token.isprintable() or " " in self.token:
            raise UsageError(
                "the token is empty, or contains spaces, line ends or non-ASCII characters",
                hint="store the token again without a line end",
            )


@dataclass(frozen=True, slots=True)
class RequestOptions:
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """An ``Authorization`` here goes to the origin of the URL, and to none that it redirects to."""
    limit: int = MAX_BODY  # bytes; a longer answer raises BodyTooLarge
    accept_status: tuple[int, ...] = (404,)
    """Statuses to return, beside those of success; not where they tell of a rate limit."""
    conditional: bool = False  # send the ETag that is kept, keep the new one
    verbatim: bool = False  # take the body's bytes as they are sent, without decoding a Content-Encoding
    keeps_plain_host: bool = False  # Follow no redirect to another host over plain http, though this one is asked so
    charged_to: str = ""  # The host whose budget a failure is charged to; empty: that of the URL
    method: str = "GET"  # set by the client; none but GET and HEAD follow a redirect
    body: bytes | BinaryIO | None = field(default=None, repr=False)
    """What to send, a file from where it stands; JSON unless ``headers`` say otherwise. Set by the client."""
    into: Sink | None = field(default=None, repr=False)
    """Where the body of a successful answer goes, as it comes; ``Response.body`` is empty then."""


PLAIN = RequestOptions()
CONDITIONAL = RequestOptions(conditional=True)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, read whole; header names in lower case."""

    url: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def is_found(self) -> bool:
        """Whether the status is one of success (RFC 9110, 15.3)."""
        return 200 <= self.status < 300  # noqa: PLR2004  (statuses are clearer as numbers)


class BodyTooLarge(SourceUnavailable):
    """An answer is longer than the caller is willing to read."""


class Client:
    """http and https: deadlines, retries, redirects, ETags, one token for one origin.

    ``timeout``: the seconds for a request, its redirects included; see ``Deadline``. ``budget``: what requests that
    fail may cost; None: there is no limit. ``ca_file`` is a
    PEM file with authorities to trust besides the usual ones. Proxies are
    those that requests finds in its environment; ``~/.netrc`` is not read.
    ``egress``: which hosts it may ask; None: all, since you named them yourself.
    ``advice``: what else to do where a host cannot be had, to follow the hint.
    """

    def __init__(  # noqa: PLR0913 each is its own, and has a default
        self,
        timing: Timing,
        *,
        credential: Credential | None = None,
        etags: EtagCache | None = None,
        ca_file: str | None = None,
        timeout: float = Patience().request,
        budget: Budget | None = None,
        progress: Progress | None = None,
        egress: Egress | None = None,
        advice: str = "",
    ) -> None:
        self._timing = timing
        self._progress = progress
        self._advice = advice
        self._credential = credential
        self._etags = etags or EtagCache(None)
        self._timeout = timeout
        self._budget = budget
        self.sent = 0  # requests so far, those of retries and redirects included
        self._session = Session(ca_file, None if egress is None else egress.adapter)

    def close(self) -> None:
        self._session.close()

    def get(self, url: str, options: RequestOptions = PLAIN) -> Response:
        """The answer to a GET, with a status of success or one of ``options.accept_status``.

        Raises SourceUnavailable (its message names the host, never a query or a
        token), BodyTooLarge.
        """
        return self.persist(lambda: self._tried(url, options, self._exchange))

    def query(self, url: str, body: bytes, options: RequestOptions = PLAIN) -> Response:
        """The answer to a POST of JSON that only reads, as in GraphQL: tried again like a GET.

        Raises what ``get`` raises.
        """
        return self.get(url, replace(options, method="POST", body=body))

    def send(self, method: str, url: str, body: bytes | None, options: RequestOptions = PLAIN) -> Response:
        """The answer to a request that may change something, whatever its status: sent once.

        Raises SourceUnavailable, BodyTooLarge; then nobody knows whether it was done.
        """
        outcome = self._tried(url, replace(options, method=method, body=body), self._follow)
        if isinstance(outcome, Response):
            return outcome
        raise outcome.error

    def attempt(
        self, method: str, url: str, body: bytes | BinaryIO | None, options: RequestOptions = PLAIN
    ) -> Response | failures.FailedAttempt:
        """As ``send``, for a step of ``persist``: a failure that may pass is returned, not raised."""
        return self._tried(url, replace(options, method=method, body=body), self._step)

    def persist(self, step: Callable[[], _Result | failures.FailedAttempt]) -> _Result:
        """What ``step`` comes to, tried again after the usual waits. Raises the error of the last attempt."""
        attempt, waited = 0, 0.0
        while True:
            attempt += 1
            outcome = step()
            if not isinstance(outcome, failures.FailedAttempt):
                return outcome
            wait = failures.backoff(attempt, self._timing.jitter()) if outcome.wait is None else outcome.wait
            is_over = outcome.is_final or attempt >= outcome.attempts or waited + wait > failures.MAX_WAIT
            if is_over or not (self._budget is None or self._budget.allows(outcome.host, wait)):
                raise _after(outcome.error, attempt)
            if self._progress is not None:
                self._progress.waiting(
                    f"{outcome.error.message}; trying again in {wait:.0f} s ({attempt} of {outcome.attempts - 1})"
                )
            self._charge(outcome.host, wait)
            self._timing.sleep(wait)
            waited += wait

    def _tried(
        self,
        url: str,
        options: RequestOptions,
        exchange: Callable[[str, RequestOptions], Response | failures.FailedAttempt],
    ) -> Response | failures.FailedAttempt:
        """What ``exchange`` comes to within the deadline. A failure is charged to the host."""
        host, deadline = options.charged_to or origins.host(url), Deadline(self._timeout, options.limit)
        given_up = None if self._budget is None else self._budget.given_up(host)
        if given_up is not None:
            return failures.FailedAttempt(given_up, attempts=1).advised(self._advice)
        try:
            with bounded_by(deadline):
                outcome = exchange(url, options)
        except SourceUnavailable as error:
            outcome = failures.FailedAttempt(error, is_final=True)
        except (OSError, ValueError, HTTPError) as error:
            overdue = deadline.seconds if deadline.is_missed else None
            outcome = failures.on_the_way(url, error, overdue).advised(self._advice)
        if isinstance(outcome, Response):
            return outcome
        self._charge(host, deadline.elapsed)
        return outcome._replace(host=host)

    def _charge(self, host: str, seconds: float) -> None:
        if self._budget is not None:
            self._budget.charge(host, seconds)

    def _step(self, url: str, options: RequestOptions) -> Response | failures.FailedAttempt:
        response = self._follow(url, options)
        if failures.is_worth_retrying(response.status, response.headers):
            return self._refusal(response)
        return response

    def _exchange(self, url: str, options: RequestOptions) -> Response | failures.FailedAttempt:
        # What a password was needed for is kept for that password.
        token = self._token_for(url) or options.headers.get("Authorization", "")
        kept = self._etags.get(url, token) if options.conditional else None
        response = self._follow(url, options, kept)
        if response.status == _NOT_MODIFIED and kept is not None:
            return Response(url, 200, {**response.headers, "link": kept.link}, kept.body)
        if response.is_found:
            if options.conditional and (etag := response.headers.get("etag")):
                self._etags.put(url, token, CachedResponse(etag, response.headers.get("link", ""), response.body))
            return response
        is_limited = failures.is_rate_limited(response.status, response.headers)
        if response.status in options.accept_status and not is_limited:
            return response
        return self._refusal(response)

    def _refusal(self, response: Response) -> failures.FailedAttempt:
        had_token = bool(self._token_for(response.url))
        now = self._timing.now()
        failed = failures.refusal(response.url, response.status, response.headers, now, had_token=had_token)
        return failed.advised(self._advice)

    def _follow(self, url: str, options: RequestOptions, kept: CachedResponse | None = None) -> Response:
        target = url
        for _ in range(_MAX_REDIRECTS + 1):
            self.sent += 1
            if self._progress is not None:
                self._progress.doing(f"asking {origins.host(target)}")
            with self._session.request(
                options.method,
                target,
                data=options.body,
                headers=self._headers(url, target, options, kept),
                allow_redirects=False,
                stream=True,
                timeout=self._timeout,
                verify=True,
            ) as answer:
                location = answer.headers.get("location") if options.method in _READING else None
                if answer.status_code not in _REDIRECTS or location is None:
                    return self._read(target, answer, options)
                drain(answer)
            target = origins.redirected(target, location, keeps_plain_host=options.keeps_plain_host)
        raise SourceUnavailable(
            f"{origins.host(url)} redirects more than {_MAX_REDIRECTS} times", hint="check the URL of --release-source"
        )

    def _headers(self, url: str, target: str, options: RequestOptions, kept: CachedResponse | None) -> dict[str, str]:
        headers = {
            "User-Agent": "flux-upgrade",
            "Accept-Encoding": "identity" if options.verbatim else "gzip",
            **({} if kept is None else {"If-None-Match": kept.etag}),
            **({} if options.body is None else {"Content-Type": "application/json"}),
            **options.headers,
        }
        if origins.origin(target) != origins.origin(url):
            headers.pop("Authorization", None)
        if token := self._token_for(target):
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _token_for(self, url: str) -> str:
        credential = self._credential
        if credential is None or origins.origin(url) != origins.origin(credential.origin):
            return ""
        return credential.token

    def _read(self, url: str, answer: requests.Response, options: RequestOptions) -> Response:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        found = Response(url, answer.status_code, headers, b"")
        into = options.into if found.is_found else None
        # The limit is that of what was asked for, not of what is said in its place.
        limit = options.limit if into is options.into else MAX_BODY
        try:
            body = read_body(answer, limit, verbatim=options.verbatim, into=into)
        except TooLong:
            raise BodyTooLarge(
                f"{origins.host(url)} returned more than {limit} bytes",
                hint="check the URL of --release-source: no Flux release is that large",
            ) from None
        return replace(found, body=body)


def _after(error: SourceUnavailable, attempts: int) -> SourceUnavailable:
    """The error of the last of several attempts, which says how many there were."""
    if attempts == 1:
        return error
    return type(error)(f"{error.message} (tried {attempts} times)", hint=error.hint)
