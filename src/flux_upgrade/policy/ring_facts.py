"""A group that others come after: facts, and how far it is with its release."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.policy.decision import HealthStatus

_ROOM = 8000  # Characters of an entry: GitHub takes 65,536 in a body
_FIELDS = 4  # Before the contexts in an entry
_UNKNOWN_INTERVAL = timedelta(hours=1)


class RingState(StrEnum):
    """How far a group is with the release that it has."""

    PASSED = "passed"
    MIXED = "mixed"  # Its clusters do not have the same release
    FAILING = "failing"
    SOAKING = "soaking"
    UNKNOWN = "unknown"  # Flux has not reported that it is healthy


class RingMemory(NamedTuple):
    """A record about a group in the pull requests of a group after it."""

    version: str  # Release of all clusters; empty: they differ, or one is unknown
    files: str  # Digest of its files
    since: str  # RFC 3339: since when the group has had these files
    contexts: tuple[str, ...] = ()  # Contexts on which Flux has reported, of those that a pattern allows

    def entry(self, name: str) -> str:
        """Return the entry of ``MarkerState.rings`` for the group ``name``."""
        entry = f"{name}\t{self.version}\t{self.files}\t{self.since}"
        for context in self.contexts:
            if "\t" not in context and len(entry) + len(context) < _ROOM:
                entry += f"\t{context}"
        return entry


def memory_in(entries: Iterable[str], name: str, files: str) -> RingMemory | None:
    """Return what entries of ``MarkerState.rings`` say of a group; None: nothing.

    ``files``: the digest of its files now. An entry that has another one only counts if there is none with this.
    """
    split = (entry.split("\t") for entry in entries)
    fields = (each for each in split if each[0] == name and len(each) >= _FIELDS)
    known = [RingMemory(each[1], each[2], each[3], tuple(each[_FIELDS:])) for each in fields]
    known = [each for each in known if _is_date(each.since)]
    if not known:
        return None
    newest = max(known, key=lambda each: (each.files == files, datetime.fromisoformat(each.since)))
    return newest._replace(contexts=tuple(sorted({context for each in known for context in each.contexts})))


def _is_date(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


class RingReport(NamedTuple):
    name: str
    state: RingState
    version: Version = NO_VERSION  # The release of all its clusters
    detail: str = ""  # What is so, in one clause that stays true for days; empty once it has passed
    failed: str = ""  # Oid of the commit on which Flux reported a failure
    context: str = ""  # Of the commit status that says so
    succeeded: str = ""  # Oid of an earlier commit with the release on which Flux reported success
    is_changed: bool = False  # Whether its files were changed after our pull request with this release was merged
    is_stuck: bool = False  # Only a user can make it pass
    has_lasted: bool = False  # Flux had time to report success after the failure
    memory: RingMemory | None = None  # For the next run

    @property
    def passed(self) -> Version:
        return self.version if self.state is RingState.PASSED else NO_VERSION


class Sync(NamedTuple):
    """The sync of a cluster with this repository."""

    interval: timedelta | None = None  # None: unknown
    is_oci: bool = False  # An artifact is not pushed for every commit
    lacks_successes: bool = False  # A feature gate keeps Flux from posting them


class RingFacts(NamedTuple):
    """What is known of a group before."""

    name: str
    versions: tuple[str, ...]  # Of each of its clusters; empty where one is unknown
    paths: tuple[str, ...] = ()  # Of the files that say so
    merged_at: str = ""  # RFC 3339: when our pull request with this release was merged; empty: by other means
    healthy: HealthStatus | None = None
    syncs: tuple[Sync, ...] = ()  # One for each cluster
    files: str = ""  # Digest of the files that say so; empty: unknown
    changed_at: str = ""  # RFC 3339: the date of the last commit that changed one of them; empty: unknown
    memory: RingMemory | None = None
    is_new: bool = False  # There was no pull request yet that could have a record

    @property
    def version(self) -> Version:
        """Return the release of all clusters; empty if they differ, or one is unknown."""
        known = {*map(Version.parse, self.versions)}
        return (known.pop() if len(known) == 1 else None) or NO_VERSION

    @property
    def lacks_successes(self) -> bool:
        return any(each.lacks_successes for each in self.syncs)

    @property
    def reported_after(self) -> timedelta:
        """The age of a commit at which Flux has reported on it, or on a later one, in a cluster that is well."""
        intervals = [_UNKNOWN_INTERVAL if each.interval is None else 2 * each.interval for each in self.syncs]
        return max(intervals, default=_UNKNOWN_INTERVAL)
