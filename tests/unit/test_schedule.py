"""Schedules: when they are open, next to what a clock on the wall shows minute by minute, and when they open next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flux_upgrade.policy.schedule import Schedule, cron_problem, needs_both_days

BERLIN, LORD_HOWE, SANTIAGO = "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"
WEEK = ("* 9-15 * * 1-4",)
MINUTE = timedelta(minutes=1)


def at(text: str) -> datetime:
    """``2026-09-01T09:00``, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "timezone", "now", "is_open"),
    [
        # Tuesday, 1 September 2026
        (WEEK, "UTC", "2026-09-01T08:59:59.999999", False),
        (WEEK, "UTC", "2026-09-01T09:00", True),
        (WEEK, "UTC", "2026-09-01T15:59:59.999999", True),
        (WEEK, "UTC", "2026-09-01T16:00", False),
        (WEEK, "UTC", "2026-09-04T12:00", False),
        (WEEK, BERLIN, "2026-09-01T07:00", True),
        (WEEK, BERLIN, "2026-09-01T14:00", False),
        (WEEK, BERLIN, "2026-12-01T07:00", False),
        (WEEK, BERLIN, "2026-12-01T14:59", True),
        (("* 9 * * *", "* 20 * * *"), "UTC", "2026-09-01T20:30", True),
        (("* 22-23 * * FRI", "* 0-5 * * SAT"), "UTC", "2026-09-05T05:59", True),
        (("* * * * 0",), "UTC", "2026-09-06T00:00", True),
        (("* * * * 7",), "UTC", "2026-09-06T00:00", True),
        # If a day begins with `*`, both have to match. 11 September 2026 is a Friday, 21 September a Monday.
        (("* * */10 * MON",), "UTC", "2026-09-11T00:00", False),
        (("* * */10 * MON",), "UTC", "2026-09-21T00:00", True),
        (("* * */10 * MON",), "UTC", "2026-09-07T00:00", False),
        (("* * 1-31/10 * MON",), "UTC", "2026-09-11T00:00", True),
        (("* * 1-31/10 * MON",), "UTC", "2026-09-07T00:00", True),
        # Of two other days, one is enough
        (("* * 1 * MON",), "UTC", "2026-09-01T00:00", True),
        (("* * 1 * MON",), "UTC", "2026-09-07T00:00", True),
        (("* * 1 * MON",), "UTC", "2026-09-02T00:00", False),
        ((), "UTC", "2026-09-05T03:00", True),
        # 29 March 2026: 02:00 to 02:59 does not exist
        (("* 2 * * *",), BERLIN, "2026-03-29T00:59", False),
        (("* 2 * * *",), BERLIN, "2026-03-29T01:00", False),
        # 25 October 2026: 02:00 to 02:59 is there twice
        (("* 2 * * *",), BERLIN, "2026-10-24T23:59", False),
        (("* 2 * * *",), BERLIN, "2026-10-25T00:00", True),
        (("* 2 * * *",), BERLIN, "2026-10-25T01:59", True),
        (("* 2 * * *",), BERLIN, "2026-10-25T02:00", False),
        (("* 3 * * *",), BERLIN, "2026-10-25T02:00", True),
    ],
)
def test_when_it_is_open(cron: tuple[str, ...], timezone: str, now: str, *, is_open: bool) -> None:
    assert Schedule(cron, timezone).is_open(at(now)) is is_open


@pytest.mark.parametrize(
    ("cron", "timezone", "now", "opening"),
    [
        (WEEK, "UTC", "2026-09-01T08:59:30", "2026-09-01T09:00:00+00:00"),
        (WEEK, "UTC", "2026-09-01T16:00", "2026-09-02T09:00:00+00:00"),
        (WEEK, "UTC", "2026-09-03T16:00", "2026-09-07T09:00:00+00:00"),
        (WEEK, BERLIN, "2026-10-22T15:00", "2026-10-26T09:00:00+01:00"),
        (("* 20 * * *", "* 9 * * *"), "UTC", "2026-09-01T08:00", "2026-09-01T09:00:00+00:00"),
        (("* * 29 2 *",), "UTC", "2026-09-01T00:00", "2028-02-29T00:00:00+00:00"),
        # The hour that the clock skips is not there: it is the next day's
        (("* 2 * * *",), BERLIN, "2026-03-29T00:30", "2026-03-30T02:00:00+02:00"),
        (("* 2-3 * * *",), BERLIN, "2026-03-29T00:30", "2026-03-29T03:00:00+02:00"),
        # The hour that it shows twice opens the first time
        (("* 2 * * *",), BERLIN, "2026-10-24T23:30", "2026-10-25T02:00:00+02:00"),
        (("* 3 * * *",), BERLIN, "2026-10-25T01:30", "2026-10-25T03:00:00+01:00"),
        # Half an hour is skipped
        (("* 2 * * *",), LORD_HOWE, "2026-10-03T15:00", "2026-10-04T02:30:00+11:00"),
        # Midnight is skipped
        (("* 0 * * *",), SANTIAGO, "2026-09-06T03:30", "2026-09-07T00:00:00-03:00"),
    ],
)
def test_when_it_opens(cron: tuple[str, ...], timezone: str, now: str, opening: str) -> None:
    found = Schedule(cron, timezone).opening(at(now))
    assert found is not None and found.isoformat() == opening


def test_what_is_open_opens_now() -> None:
    found = Schedule(WEEK, BERLIN).opening(at("2026-09-01T09:12:34"))
    assert found is not None and found.isoformat() == "2026-09-01T11:12:34+02:00"


SKIPPED = [
    # The day on which the clocks go forward, at the hour that they skip
    ("* 2 * 3 SUN#2", "America/New_York"),
    ("* 2 * 3 0L", BERLIN),
    ("* 1 * 3 0L", "Europe/London"),
]


@pytest.mark.parametrize(("cron", "timezone"), SKIPPED)
def test_hours_that_the_clock_always_skips_never_open(cron: str, timezone: str) -> None:
    assert cron_problem(cron) == ""
    assert Schedule(("* 9 * * *", cron), timezone).never_open == (cron,)
    assert Schedule((cron,)).never_open == ()
    assert Schedule((cron,), timezone).opening(at("2026-09-01T00:00")) is None


@pytest.mark.parametrize(
    ("cron", "timezone", "opening"),
    [
        # Half of the hour is there
        ("* 2 * 10 SUN#1", LORD_HOWE, "2026-10-04T02:30:00+11:00"),
        # The clocks go forward on the first Sunday after the 1st
        ("* 0 * 9 SUN#1", SANTIAGO, "2030-09-01T00:00:00-04:00"),
        # Skipped only in years in which the 31st is a Sunday
        ("* 2 31 3 *", BERLIN, "2027-03-31T02:00:00+02:00"),
        ("* * */28 2 MON#5", "UTC", "2044-02-29T00:00:00+00:00"),
    ],
)
def test_what_the_clock_only_skips_at_times_opens(cron: str, timezone: str, opening: str) -> None:
    schedule = Schedule((cron,), timezone)
    assert schedule.never_open == ()
    found = schedule.opening(at("2026-09-01T00:00"))
    assert found is not None and found.isoformat() == opening


SETS = st.sets(st.integers(0, 23), min_size=1)
DAYS = st.sets(st.integers(0, 6), min_size=1)
ZONES = st.sampled_from(["UTC", BERLIN, LORD_HOWE, SANTIAGO, "America/New_York", "Asia/Kathmandu", "Pacific/Apia"])
CHANGES = st.sampled_from(
    ["2026-03-28", "2026-04-04", "2026-09-05", "2026-10-03", "2026-10-24", "2026-10-31", "2011-12-29"]
)


@given(hours=SETS, days=DAYS, zone=ZONES, day=CHANGES, minutes=st.integers(0, 2 * 24 * 60))
@example(hours={2}, days={0}, zone=BERLIN, day="2026-03-28", minutes=24 * 60)
@example(hours={1}, days={0}, zone=LORD_HOWE, day="2026-04-04", minutes=14 * 60)
def test_it_is_what_a_clock_on_the_wall_shows(
    hours: set[int], days: set[int], zone: str, day: str, minutes: int
) -> None:
    fields = (",".join(map(str, sorted(each))) for each in (hours, days))
    schedule = Schedule(("* {} * * {}".format(*fields),), zone)
    now = at(day) + minutes * MINUTE

    def shows(moment: datetime) -> bool:
        local = moment.astimezone(ZoneInfo(zone))
        return local.hour in hours and (local.weekday() + 1) % 7 in days

    assert schedule.is_open(now) is shows(now)
    # Whole minutes, so that none of them is left out: two weeks have each weekday, whatever is skipped.
    opening = next(now + at_minute * MINUTE for at_minute in range(15 * 24 * 60) if shows(now + at_minute * MINUTE))
    found = schedule.opening(now)
    assert found is not None and found.astimezone(UTC) == opening


@pytest.mark.parametrize(
    "text", ["* * 30 2 *", "* * 31 2,4,6 *", "* 24 * * *", "* * 0 * *", "* 9-5 * * *", "* x * * *"]
)
def test_what_never_matches(text: str) -> None:
    assert cron_problem(text).startswith("never matches: check its ")


@pytest.mark.parametrize("text", ["* * 29 2 *", "* * */1 2 MON#5", "* * 30 2 MON", "* * * * *", "* * LW * *"])
def test_what_matches_once(text: str) -> None:
    assert cron_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * */10 * MON", True),
        ("* * 1 * */2", True),
        ("* * */10 * MON#1", True),
        ("* * L * */2", True),
        ("* * 1-31/10 * MON", False),
        ("* * 1 * MON", False),
        ("* * * * MON", False),
        ("* * */1 * MON", False),
        ("* * 1 * *,MON", False),
        ("* * */10 * 0-6", False),
        ("* * */10 * 1-7", False),
    ],
)
def test_both_days_have_to_match_if_one_begins_with_a_star(text: str, *, expected: bool) -> None:
    assert needs_both_days(text) is expected
