"""A failed request is retried after the time that the server asks for, or with exponential backoff."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from flux_upgrade.adapters.http import failures

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "9" * 5000}, None),
        ({"retry-after": "Fri, 99 Nov 99999 99:99:99 GMT"}, None),
        ({"retry-after": "²"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 12)}, 12),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) - 12)}, 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "later"}, None),
        ({"x-ratelimit-remaining": "1", "x-ratelimit-reset": str(int(NOW) + 12)}, None),
        ({"retry-after": "3", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 900)}, 3),
    ],
)
def test_waits_as_long_as_is_asked(headers: dict[str, str], seconds: float | None) -> None:
    assert failures.asked_wait(headers, NOW) == seconds


def test_backs_off_exponentially_with_jitter() -> None:
    assert [failures.backoff(n, 0.5) for n in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]
    assert failures.backoff(1, 0.0) == 0.25


@pytest.mark.parametrize(
    ("status", "headers", "again"),
    [
        (500, {}, True),
        (502, {}, True),
        (504, {}, True),
        (505, {}, False),
        (400, {}, False),
        (403, {}, False),
        (403, {"retry-after": "1"}, True),
        (403, {"x-ratelimit-remaining": "0"}, True),
        (403, {"x-ratelimit-remaining": "10"}, False),
        (429, {}, True),
    ],
)
def test_knows_what_is_worth_another_try(status: int, headers: dict[str, str], again: bool) -> None:  # noqa: FBT001
    assert failures.is_worth_retrying(status, headers) is again


def test_shows_times_in_utc() -> None:
    assert failures.utc(NOW) == "2023-11-14 22:13:20 UTC"
    assert failures.utc(1e20) == "a time that is no date"
