"""What is known of a group that others come after, and how far it is with its release."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.policy.decision import HealthStatus

_UNKNOWN_INTERVAL = timedelta(hours=1)


class RingState(StrEnum):
    """How far a group is with the release that it has."""

    PASSED = "passed"
    MIXED = "mixed"  # Its clusters do not have the same release
    FAILING = "failing"
    SOAKING = "soaking"
    UNKNOWN = "unknown"  # Flux has not reported that it is healthy


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

    @property
    def passed(self) -> Version:
        return self.version if self.state is RingState.PASSED else NO_VERSION


class Sync(NamedTuple):
    """The sync of a cluster with this repository."""

    interval: timedelta | None = None  # None: unknown
    is_oci: bool = False  # An artifact is not pushed for every commit


class RingFacts(NamedTuple):
    """What is known of a group before."""

    name: str
    versions: tuple[str, ...]  # Of each of its clusters; empty where one is unknown
    paths: tuple[str, ...] = ()  # Of the files that say so
    merged_at: str = ""  # RFC 3339: when our pull request with this release was merged; empty: by other means
    healthy: HealthStatus | None = None
    syncs: tuple[Sync, ...] = ()  # One for each cluster

    @property
    def reported_after(self) -> timedelta:
        """The age of a commit at which Flux has reported on it, or on a later one, in a cluster that is well."""
        intervals = [_UNKNOWN_INTERVAL if each.interval is None else 2 * each.interval for each in self.syncs]
        return max(intervals, default=_UNKNOWN_INTERVAL)
