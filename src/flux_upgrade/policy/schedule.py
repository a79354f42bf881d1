"""When pull requests may be opened and merged automatically: minutes that a cron schedule matches. Pure.

Time zones are those of the system, or else of the package tzdata.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

# Any: a schedule that matches nothing from here on never does. The 29th of a February is each weekday within 28 years.
_SOME_DAY = datetime(2000, 1, 1)  # noqa: DTZ001 cron matches what a clock on the wall shows
_SECOND = timedelta(seconds=1)
# From here on, the clocks of nearly all time zones change by rules that are the same each year.
_REGULAR = datetime(2040, 1, 1)  # noqa: DTZ001 as above
_LONGEST = timedelta(days=50 * 366)  # As long as cronsim looks for a match


class Schedule(NamedTuple):
    """The minutes that one of the expressions matches, as a clock in the time zone shows them."""

    cron: tuple[str, ...] = ()  # Each with five fields, the first of them `*`; empty: always
    timezone: str = "UTC"  # A name of the IANA database

    def is_open(self, now: datetime) -> bool:
        """``now``: with a time zone. An hour that the clock shows twice is open twice."""
        wall = _wall(now.astimezone(_zone(self.timezone))) if self.cron else now
        return not self.cron or any(next(_matches(each, wall - _SECOND), None) == wall for each in self.cron)

    def opening(self, now: datetime) -> datetime | None:
        """The first minute from ``now`` on at which it is open, in its time zone; None: there is none within 50 years.

        An hour that the clock skips does not exist: then it is the next one that matches.
        """
        zone = _zone(self.timezone)
        local = now.astimezone(zone)
        if self.is_open(now):
            return local
        # What the clock shows twice is open twice: an hour that is closed now is not shown again as an open one.
        found = (_next_real(each, _wall(local), zone) for each in self.cron)
        return min((each for each in found if each is not None), default=None)

    @property
    def never_open(self) -> tuple[str, ...]:
        """The expressions, each without a ``cron_problem``, of which the clock skips all that they match."""
        zone = _zone(self.timezone)
        return tuple(each for each in self.cron if _next_real(each, _REGULAR, zone) is None)


def cron_problem(text: str) -> str:
    """What is wrong with an expression, to follow the text itself; empty: nothing."""
    from cronsim import CronSimError

    try:
        return "never matches" if next(_matches(text, _SOME_DAY), None) is None else ""
    except CronSimError as error:
        return f"never matches: check its {str(error).removeprefix('Bad ')}"


def needs_both_days(cron: str) -> bool:
    """Whether it restricts both the day of the month and the day of the week, and opens only if both match.

    One of them is enough, unless a field begins with ``*``, such as ``*/10``: cronsim follows the cron of Debian.
    """
    from cronsim import CronSim

    parsed = CronSim(cron, _SOME_DAY)
    weekdays = {each % 7 for each in parsed.weekdays if isinstance(each, int)}
    return parsed.day_and and not parsed.days.issuperset(range(1, 32)) and not weekdays.issuperset(range(7))


def timezone_problem(text: str) -> str:
    """The same for the name of a time zone."""
    from zoneinfo import available_timezones

    return "" if text in available_timezones() else "is not a time zone of the IANA database"


def _zone(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _wall(local: datetime) -> datetime:
    """What a clock on the wall shows, to the minute."""
    return local.replace(second=0, microsecond=0, tzinfo=None, fold=0)


def _matches(cron: str, wall: datetime) -> Iterator[datetime]:
    """Return all matches after ``wall``; there may be none within 50 years."""
    # Late, as pathspec is: a repository without a schedule does not pay for it.
    from cronsim import CronSim

    return CronSim(cron, wall)


def _next_real(cron: str, wall: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the first match that the clock in ``zone`` shows: it skips an hour in spring."""
    for found in _matches(cron, wall):
        if found - wall > _LONGEST:
            break
        real = found.replace(tzinfo=zone)
        if _wall(real.astimezone(UTC).astimezone(zone)) == found:
            return real
    return None
