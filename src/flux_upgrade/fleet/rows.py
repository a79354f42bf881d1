"""A row of the page, and its place: what needs you first comes first."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from flux_upgrade.model.values import NamedTuple


class State(Enum):
    """What a row says, in the order of the page: its name, and whether a user has to act."""

    FAILED = ("run failed", True)
    NO_REPORT = ("no report", True)
    OUTDATED = ("old report", True)
    NEEDS_APPROVAL = ("needs approval", True)
    ACTION_REQUIRED = ("action required", True)
    READY = ("ready to merge", True)
    AVAILABLE = ("available", False)
    HELD = ("held", False)
    WAITS = ("waits", False)
    UP_TO_DATE = ("up to date", False)

    def __init__(self, title: str, needs_you: bool) -> None:  # noqa: FBT001 a column of the table above
        self.title, self.needs_you = title, needs_you

    @property
    def slug(self) -> str:
        """As JSON and style sheets have it: ``needs-approval``."""
        return self.title.replace(" ", "-")


class Since(NamedTuple):
    """When the state of a row began, if the report has it."""

    at: datetime
    what: str  # `open`, `held`, `since release` or `since report`


class Row(NamedTuple):
    """One thing about one repository; ``clusters`` has all that it is true of."""

    state: State
    repository: str
    clusters: tuple[str, ...] = ()  # Empty: it is about the repository
    current: str = ""  # Tag; empty: unknown
    target: str = ""  # Tag; empty: none
    why: str = ""
    since: Since | None = None
    url: str = ""  # Of the pull request, the run or the repository; as the report has it, not checked
    link: str = ""  # What the link says: `#12`, `run`


class Cluster(NamedTuple):
    repository: str
    name: str
    version: str  # Tag; empty: unknown


def in_order(row: Row) -> tuple[object, ...]:
    """The key to sort by: the state, then what has lasted longest."""
    began = row.since.at.timestamp() if row.since is not None else float("inf")
    return [*State].index(row.state), began, row.repository, row.clusters
