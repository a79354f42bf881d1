"""One thin client over requests, with everything that goes wrong on the way.

requests is imported when a client is built, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flux_upgrade.edges import retry, trouble
from flux_upgrade.edges.cache import EtagCache, Kept
from flux_upgrade.errors import SourceUnavailable, UsageError
from flux_upgrade.ports import Timing

if TYPE_CHECKING:
    import requests

MAX_BODY = 32 * 1024 * 1024
"""Bytes of an answer that are read, after decoding, unless a call says otherwise."""

_CHUNK = 16 * 1024
_MAX_REDIRECTS = 5
_MAX_TRANSFER = 300.0  # seconds: one body may not drip in for ever
_REDIRECTS = (301, 302, 303, 307, 308)
_NOT_MODIFIED = 304


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
                "the token holds spaces, line ends or characters outside ASCII, or nothing",
                hint="check how it is stored: a line end is often copied with it",
            )


@dataclass(frozen=True, slots=True)
class Ask:
    """What is special about one request."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """An ``Authorization`` here goes to the origin of the URL, and to none that it redirects to."""
    limit: int = MAX_BODY
    """Bytes; a longer answer raises BodyTooLarge."""
    accept_status: tuple[int, ...] = (404,)
    """Statuses to return, beside those of success; not where they tell of a rate limit."""
    conditional: bool = False
    """Send the ETag that is kept, keep the new one."""
    verbatim: bool = False
    """Take the body's bytes as they are sent, without decoding a Content-Encoding."""
    method: str = "GET"
    """Set by the client; none but GET follows a redirect."""
    body: bytes | None = field(default=None, repr=False)
    """JSON to send; set by the client."""


PLAIN = Ask()
CONDITIONAL = Ask(conditional=True)


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
    """http and https: timeouts, retries, redirects, ETags, one token for one origin.

    ``timeout`` is in seconds, to connect and between two reads. ``ca_file`` is a
    PEM file with authorities to trust besides the usual ones. Proxies are
    those that requests finds in its environment; ``~/.netrc`` is not read.
    """

    def __init__(
        self,
        timing: Timing,
        *,
        credential: Credential | None = None,
        etags: EtagCache | None = None,
        ca_file: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        from http.cookiejar import DefaultCookiePolicy

        import requests

        self._timing = timing
        self._credential = credential
        self._etags = etags or EtagCache(None)
        self._timeout = timeout
        self._sent = 0
        self._session = requests.Session()
        if ca_file is not None:
            from flux_upgrade.edges.authorities import trust

            trust(self._session, ca_file)
        # requests reads ~/.netrc only where it has no auth of its own
        self._session.auth = _leave_alone
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._session.close()

    @property
    def sent(self) -> int:
        """Requests sent so far, those of retries and redirects included."""
        return self._sent

    def get(self, url: str, ask: Ask = PLAIN) -> Response:
        """The answer to a GET, with a status of success or one of ``ask.accept_status``.

        Raises SourceUnavailable (its message names the host, never a query or a
        token), BodyTooLarge.
        """
        attempt, waited = 0, 0.0
        while True:
            attempt += 1
            outcome = self._attempt(url, lambda: self._exchange(url, ask))
            if isinstance(outcome, Response):
                return outcome
            wait = retry.backoff(attempt, self._timing.jitter()) if outcome.wait is None else outcome.wait
            if outcome.is_final or attempt >= retry.ATTEMPTS or waited + wait > retry.MAX_WAIT:
                raise outcome.error
            self._timing.sleep(wait)
            waited += wait

    def query(self, url: str, body: bytes, ask: Ask = PLAIN) -> Response:
        """The answer to a POST of JSON that only reads, as in GraphQL: tried again like a GET.

        Raises what ``get`` raises.
        """
        return self.get(url, replace(ask, method="POST", body=body))

    def send(self, method: str, url: str, body: bytes | None, ask: Ask = PLAIN) -> Response:
        """The answer to a request that may change something, whatever its status: sent once.

        Raises SourceUnavailable, BodyTooLarge; then nobody knows whether it was done.
        """
        outcome = self._attempt(url, lambda: self._follow(url, replace(ask, method=method, body=body), None))
        if isinstance(outcome, Response):
            return outcome
        raise outcome.error

    def _attempt(
        self, url: str, exchange: Callable[[], Response | trouble.Trouble]
    ) -> Response | trouble.Trouble:
        import urllib3

        try:
            return exchange()
        except SourceUnavailable as error:
            return trouble.Trouble(error, is_final=True)
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
            return trouble.on_the_way(url, error, self._timeout)

    def _exchange(self, url: str, ask: Ask) -> Response | trouble.Trouble:
        token = self._token_for(url)
        kept = self._etags.get(url, token) if ask.conditional else None
        response = self._follow(url, ask, kept)
        if response.status == _NOT_MODIFIED and kept is not None:
            return Response(url, 200, {**response.headers, "link": kept.link}, kept.body)
        if response.is_found:
            if ask.conditional and (etag := response.headers.get("etag")):
                self._etags.put(url, token, Kept(etag, response.headers.get("link", ""), response.body))
            return response
        is_limited = retry.is_rate_limited(response.status, response.headers)
        if response.status in ask.accept_status and not is_limited:
            return response
        had_token = bool(self._token_for(response.url))
        now = self._timing.now()
        return trouble.refusal(response.url, response.status, response.headers, now, had_token=had_token)

    def _follow(self, url: str, ask: Ask, kept: Kept | None) -> Response:
        """Send the request, and again wherever it is redirected to."""
        target = url
        for _ in range(_MAX_REDIRECTS + 1):
            self._sent += 1
            with self._session.request(
                ask.method,
                target,
                data=ask.body,
                headers=self._headers(url, target, ask, kept),
                allow_redirects=False,
                stream=True,
                timeout=self._timeout,
                verify=True,
            ) as answer:
                location = answer.headers.get("location") if ask.method == "GET" else None
                if answer.status_code not in _REDIRECTS or location is None:
                    return self._read(target, answer, ask)
            target = trouble.redirected(target, location)
        raise SourceUnavailable(
            f"{trouble.host(url)} redirects more than {_MAX_REDIRECTS} times",
            hint="check the release source's address",
        )

    def _headers(self, url: str, target: str, ask: Ask, kept: Kept | None) -> dict[str, str]:
        headers = {
            "User-Agent": "flux-upgrade",
            "Accept-Encoding": "identity" if ask.verbatim else "gzip",
            **({} if kept is None else {"If-None-Match": kept.etag}),
            **({} if ask.body is None else {"Content-Type": "application/json"}),
            **ask.headers,
        }
        if trouble.origin(target) != trouble.origin(url):
            headers.pop("Authorization", None)
        if token := self._token_for(target):
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _token_for(self, url: str) -> str:
        credential = self._credential
        if credential is None or trouble.origin(url) != trouble.origin(credential.origin):
            return ""
        return credential.token

    def _read(self, url: str, answer: requests.Response, ask: Ask) -> Response:
        deadline = self._timing.now() + _MAX_TRANSFER
        body = bytearray()
        for chunk in answer.raw.stream(_CHUNK, decode_content=not ask.verbatim):
            body += chunk
            if len(body) > ask.limit:
                raise BodyTooLarge(
                    f"{trouble.host(url)} answers with more than {ask.limit} bytes",
                    hint="that is no release of Flux; check the release source's address",
                )
            if self._timing.now() > deadline:
                raise TimeoutError
        declared = answer.headers.get("content-length", "")
        if declared.isdigit() and answer.raw.tell() < int(declared):
            raise ConnectionResetError  # requests over urllib3 1.26 does not notice
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Response(url, answer.status_code, headers, bytes(body))


def _leave_alone(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
