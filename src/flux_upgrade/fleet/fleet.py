"""Reports of many repositories → the page: its rows in order, its numbers, and the releases that clusters run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import Enum

from flux_upgrade.fleet.fields import NotAReport
from flux_upgrade.fleet.read_report import Report, read_report
from flux_upgrade.fleet.rows import Cluster, Row, Since, State, in_order
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

_MOST_BARS = 12


class Source(NamedTuple):
    """One report, or why there is none."""

    name: str  # Of its repository or file
    content: bytes = b""
    problem: str = ""  # Why it could not be read; empty: it could
    url: str = ""  # Where to look then
    hint: str = ""  # What to do then


class Lag(Enum):
    """How far a release is behind the newest one that any report names; its name on the page."""

    NEWER = "newer"
    NEWEST = "newest minor"
    ONE = "one minor behind"
    OLDER = "older"
    UNKNOWN = "unknown"

    @property
    def slug(self) -> str:
        """As the style sheet has it: a newer release has the color of the newest one."""
        name: str = Lag.NEWEST.value if self is Lag.NEWER else self.value
        return name.replace(" ", "-")


class ReleaseCount(NamedTuple):
    """How many clusters run a release."""

    version: str  # Tag; empty: unknown
    clusters: int
    lag: Lag
    name: str  # For the chart


class Fleet(NamedTuple):
    now: datetime
    rows: tuple[Row, ...]
    clusters: tuple[Cluster, ...]
    repositories: tuple[str, ...]
    newest: str  # Tag of the newest release that any report names; empty: none
    problems: tuple[Source, ...]  # Without a report
    is_empty: bool  # No report could be read

    @property
    def releases(self) -> tuple[ReleaseCount, ...]:
        """What runs, newest first."""
        counts = Counter(each.version for each in self.clusters)
        known = sorted((Version(each) for each in counts if each), reverse=True)
        versions = [*known, *({""} & {*counts})]
        return tuple(ReleaseCount(each, counts[each], self._lag(each), each or "unknown") for each in versions)

    @property
    def charted(self) -> tuple[ReleaseCount, ...]:
        """The same, few enough for a chart: the oldest ones are counted together."""
        found = self.releases
        if len(found) <= _MOST_BARS:
            return found
        rest = found[_MOST_BARS - 1 :]
        others = ReleaseCount("", sum(each.clusters for each in rest), Lag.OLDER, f"{len(rest)} others")
        return (*found[: _MOST_BARS - 1], others)

    def counted(self, *states: State) -> int:
        """Clusters that have a row of one of the states; a repository without any counts as one."""
        places = ((row.repository, name) for row in self.rows if row.state in states for name in row.clusters or ("",))
        return len({*places})

    def age(self, since: Since | None) -> int | None:
        """Days, rounded down; None: unknown. What is in the future is 0 days old."""
        return None if since is None else max(0, (self.now - since.at).days)

    def _lag(self, version: str) -> Lag:
        if not version or not self.newest:
            return Lag.UNKNOWN
        if Version(version) > self.newest:  # A pre-release: the newest release is the newest stable one
            return Lag.NEWER
        (major, minor, _), (newest_major, newest_minor, _) = Version(version).numbers, Version(self.newest).numbers
        if major != newest_major:
            return Lag.OLDER
        # A pre-release of v2.9.0 is older than v2.9.0, and of the same minor.
        return {0: Lag.NEWEST, 1: Lag.ONE}.get(newest_minor - minor, Lag.OLDER)


def fleet_of(sources: Iterable[Source], *, now: datetime, max_age: int, expected: Sequence[str] = ()) -> Fleet:
    """The page. ``max_age``: days after which a report is old. ``expected``: repositories that must have one."""
    spelled: dict[str, str] = {}
    found = [_read(source, spelled) for source in sources]
    problems = [each for each in found if isinstance(each, Source)]
    reports = _current([each for each in found if isinstance(each, Report)])
    there = {name.lower() for name in (*(each.repository for each in reports), *(each.name for each in problems))}
    missing = [name for name in dict.fromkeys(expected) if name.lower() not in there]
    problems += [Source(name, problem="it has no report") for name in missing]
    rows = [Row(State.NO_REPORT, each.name, why=each.problem, url=each.url, link="repository") for each in problems]
    for each in reports:
        rows += [*_outdated(each, now, max_age), *each.rows]
    in_time = sorted(reports, key=_moment)  # The newer one counts if reports of two branches name a cluster
    clusters = {(each.repository, each.name): each for report in in_time for each in report.clusters}
    return Fleet(
        now,
        tuple(sorted(_joined(rows), key=in_order)),
        tuple(clusters.values()),
        tuple(dict.fromkeys([*(each.repository for each in reports), *(each.name for each in problems)])),
        max((Version(tag) for each in reports for tag in each.releases if "-" not in tag), default=""),
        tuple(problems),
        is_empty=not reports,
    )


def _read(source: Source, spelled: dict[str, str]) -> Report | Source:
    """The report, or the source with why there is none."""
    if source.problem:
        return source
    try:
        return read_report(source.content, source.name, spelled)
    except NotAReport as error:
        return source._replace(name=error.repository or source.name, problem=str(error))


def _current(reports: Sequence[Report]) -> tuple[Report, ...]:
    """Without what a newer report of the same repository and branch says, too.

    The newest report with a cluster counts for it. A report of which nothing is left is left out, and so is one
    without clusters, such as that of a run that failed early. Jobs for parts of a repository name other clusters.
    """
    named: dict[tuple[str, str], set[str]] = {}
    kept: dict[int, Report] = {}
    for at, report in sorted(enumerate(reports), key=lambda each: (_moment(each[1]), each[0]), reverse=True):
        key = report.repository, report.base
        is_newest, newer = key not in named, named.setdefault(key, set())
        left = report.without(newer)
        newer |= {each.name for each in report.clusters}
        if is_newest or left.clusters:
            kept[at] = left
    return tuple(kept[at] for at in sorted(kept))


def _moment(report: Report) -> float:
    return report.created_at.timestamp() if report.created_at else 0.0


def _outdated(report: Report, now: datetime, max_age: int) -> Iterator[Row]:
    if report.created_at is not None and now - report.created_at > timedelta(days=max_age):
        why = f"its last report is from {report.created_at:%Y-%m-%d}: its workflow may be disabled, or may fail early"
        since = Since(report.created_at, "since report")
        yield Row(State.OUTDATED, report.repository, why=why, since=since, url=report.url, link="last run")


def _joined(rows: Iterable[Row]) -> Iterator[Row]:
    """Clusters of which the same is true share a row."""
    found: dict[Row, set[str]] = {}
    for row in rows:
        found.setdefault(row._replace(clusters=()), set()).update(row.clusters)
    for row, names in found.items():
        yield row._replace(clusters=tuple(sorted(names)))
