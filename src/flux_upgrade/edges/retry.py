"""When a request is tried again, and how long that takes. Pure.

Sources: RFC 9110, 10.2.3 (Retry-After); docs.github.com, "Rate limits for the
REST API" (x-ratelimit-remaining and -reset on 403 and 429, Retry-After on 403
for secondary limits).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

ATTEMPTS = 5
MAX_WAIT = 60.0
"""Seconds that one call waits in all, between its attempts."""

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
