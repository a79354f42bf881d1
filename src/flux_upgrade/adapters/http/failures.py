"""Failed requests: which to send again, and when; our errors. Pure.

The messages of requests and urllib3 name whole URLs, with queries and what else
stands in them; ours name the host and the path.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from flux_upgrade.adapters.http import origins
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

ATTEMPTS = 5
_ATTEMPTS_TO_RESOLVE = 2  # A name that is unknown rarely becomes known within seconds
MAX_WAIT = 60.0  # seconds that one call waits in all, between its attempts

_FIRST_WAIT = 0.5
_MAX_DIGITS = 12
_SERVER_ERRORS = range(500, 505)


def backoff(attempt: int, jitter: float) -> float:
    """Seconds to wait after failed attempt number ``attempt`` (from 1); ``jitter`` is in [0, 1)."""
    return _FIRST_WAIT * 2.0 ** (attempt - 1) * (0.5 + jitter)


def is_rate_limited(status: int, headers: Mapping[str, str]) -> bool:
    """Whether an answer says that its sender asked too often; header names in lower case."""
    if status == 429:  # noqa: PLR2004  (RFC 6585: Too Many Requests)
        return True
    exhausted = headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers
    return status == 403 and exhausted  # noqa: PLR2004  (GitHub's limits, see above)


def is_worth_retrying(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the same request may be answered differently a little later."""
    return status in _SERVER_ERRORS or is_rate_limited(status, headers)


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait; None where it does not say. ``now`` is in epoch seconds."""
    after = headers.get("retry-after", "").strip()
    if _is_count(after):
        return float(after)
    if after and (moment := _moment(after)) is not None:
        return max(0.0, moment - now)
    reset = headers.get("x-ratelimit-reset", "").strip()
    if headers.get("x-ratelimit-remaining") == "0" and _is_count(reset):
        return max(0.0, float(reset) - now)
    return None


def calls_left(headers: Mapping[str, str]) -> tuple[int, float] | None:
    """How many calls the sender has left, and until when (epoch seconds); None where the server does not say."""
    left, reset = (headers.get(f"x-ratelimit-{name}", "").strip() for name in ("remaining", "reset"))
    return (int(left), float(reset)) if _is_count(left) and _is_count(reset) else None


def utc(moment: float) -> str:
    """Epoch seconds as ``2026-01-31 12:00:00 UTC``."""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return "a time that is no date"


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS


def _moment(http_date: str) -> float | None:
    try:
        return parsedate_to_datetime(http_date).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError, AttributeError):
        return None


_DENIED = (401, 403)
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")  # OpenSSL 3.0, and later


class RateLimited(SourceUnavailable):
    """The sender has asked too often; its message and hint say until when."""


class NotTrusted(SourceUnavailable):
    """The certificate of the other side has no issuer that we trust."""


class NotTls(SourceUnavailable):
    """The other side does not speak https at all."""


class FailedAttempt(NamedTuple):
    error: SourceUnavailable
    wait: float | None = None  # seconds that the server asks for
    is_final: bool = False  # trying again would give the same
    attempts: int = ATTEMPTS  # How often such a request is sent
    host: str = ""  # Whose budget it is charged to

    def advised(self, advice: str) -> FailedAttempt:
        """With ``advice`` after the hint, where a host may be out of reach for good."""
        if type(self.error) is SourceUnavailable and not self.is_final:
            self.error.hint += advice
        return self


def refusal(url: str, status: int, headers: Mapping[str, str], now: float, *, had_token: bool) -> FailedAttempt:
    """An answer that is no success; header names in lower case, ``now`` in epoch seconds."""
    wait = asked_wait(headers, now)
    until = "" if wait is None else f" until {utc(now + wait)}"
    if is_rate_limited(status, headers):
        more = "" if had_token else ", or set GITHUB_TOKEN for a higher limit"
        message = f"the rate limit of {origins.host(url)} is exceeded{until}"
        return FailedAttempt(RateLimited(message, hint=f"run flux-upgrade again then{more}"), wait)
    hint = "run flux-upgrade again later"
    if status in _DENIED:
        hint = "set a token for this host"
        if had_token:
            hint = "check that the token is valid and has read access"
    asks = f", and asks to wait{until}" if until else ""
    message = f"{origins.host(url)} returned status {status} for {one_line(urlsplit(url).path)}{asks}"
    is_final = not is_worth_retrying(status, headers)
    return FailedAttempt(SourceUnavailable(message, hint=hint), wait, is_final=is_final)


def on_the_way(url: str, error: Exception, overdue: float | None = None) -> FailedAttempt:
    """A request without an answer, or with half of one. ``overdue``: the seconds of its deadline, if it missed it."""
    causes = _causes(error)
    if any("CERTIFICATE_VERIFY_FAILED" in str(cause) for cause in causes):
        hint = "set --ca-file to a file with its CA certificate"
        return FailedAttempt(
            NotTrusted(f"the certificate of {origins.host(url)} is not trusted", hint=hint), is_final=True
        )
    if any(words in str(cause) for words in _NO_TLS for cause in causes):
        hint = "check the scheme and the port of the URL"
        return FailedAttempt(NotTls(f"{origins.host(url)} does not speak https", hint=hint), is_final=True)
    if isinstance(error, ValueError):
        hint = "write it as https://host/path"
        return FailedAttempt(
            SourceUnavailable(f"the URL of {origins.host(url)} is not valid", hint=hint), is_final=True
        )
    hint = "check the network, the proxy and the host name"
    if overdue is not None:
        message = f"{origins.host(url)} did not answer in full within {round(overdue, 2):g} s"
        return FailedAttempt(SourceUnavailable(message, hint=hint), attempts=1)
    words = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    why = one_line(words[-1]) if words else "the connection was lost"
    is_unresolved = any(isinstance(cause, socket.gaierror) for cause in causes)
    attempts = _ATTEMPTS_TO_RESOLVE if is_unresolved else ATTEMPTS
    return FailedAttempt(SourceUnavailable(f"{origins.host(url)} is unreachable: {why}", hint=hint), attempts=attempts)


def _causes(error: BaseException) -> tuple[BaseException, ...]:
    """An error and what led to it, the first cause last."""
    chain: tuple[BaseException, ...] = ()
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain = (*chain, current)
        current = current.__cause__ or current.__context__
    return chain
