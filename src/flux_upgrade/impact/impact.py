"""What an upgrade means for a cluster and for the repository: values, and what follows from them."""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.impact.overlay.result import TurnedOff
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version


class Indication(StrEnum):
    """How it is known that objects may have been written in a version that the target drops."""

    USED = "used"  # a manifest of the repository names it now
    MIGRATED = "migrated"  # a merged pull request moved manifests away from it
    HISTORY = "history"  # a manifest named it in an earlier commit
    UNKNOWN = "unknown"  # the history cannot be searched, so that it cannot be ruled out


class Managed(NamedTuple):
    """That `flux migrate` has to run, and when."""

    versions: tuple[str, ...]
    """``helm.toolkit.fluxcd.io/v2beta1``; those in use, else all that the target drops. Sorted."""
    evidence: Indication
    detail: str  # a path of the HISTORY; why it is UNKNOWN
    cli: str  # the minor of the Flux CLI to run it with
    is_after: bool  # Whether it runs right after the merge: before, manifests in Git would bring the old version back
    is_done: bool = False  # whether it is confirmed that it ran


class Harm(StrEnum):
    """What a known change does to what it concerns; a report says it in these words."""

    BREAKS = "breaks"  # It fails
    MAY_BREAK = "may break"  # It fails if something is so that no file shows: what a Secret holds
    DIFFERS = "behaves differently"  # It goes on working


class Hit(NamedTuple):
    """A place of the tree that a known breaking change concerns."""

    rule: str  # slug of the row in the table: `helm-post-render`
    since: str  # the minor that changed it: `2.9`
    change: str  # what changes, a sentence without markup; the same for each hit of a rule
    source: str  # where Flux says so: an address
    path: str
    line: int  # 1-based
    kind: str
    name: str
    namespace: str
    keep: str  # The line that keeps the old behaviour, as it would stand in the file; empty where there is none
    hint: str = ""  # what else to do; a sentence without markup
    what: str = ""  # What is concerned there, in a few words: `${DOMAIN} has no value`; empty: all of the resource
    harm: Harm = Harm.DIFFERS


class PastRelease(NamedTuple):
    """A release that an installation was at, by the history of its file."""

    tag: str  # empty where the content names none
    since: str  # RFC 3339, UTC: when it was committed; empty where that is unknown
    storage: tuple[tuple[str, str], ...]  # Name of each CRD of the installation, and the version that it stored; sorted


class Refused(NamedTuple):
    """A CRD of the target that lacks a version in which the cluster may hold objects.

    The API server answers ``status.storedVersions[0]: Invalid value: … must appear in spec.versions``
    (fluxcd/flux2 issues 5598, 3362, 2743), whether or not there are any such objects.
    """

    crd: str  # `imagerepositories.image.toolkit.fluxcd.io`
    kind: str
    version: str  # `v1beta2`
    release: PastRelease  # the first release that stored it, of those since which it was not migrated


class Stored(NamedTuple):
    """What the history of an installation means for one transition."""

    refused: tuple[Refused, ...] = ()  # what would be refused as the cluster may be now
    after_migrate: tuple[Refused, ...] = ()
    """What would be refused even if `flux migrate` ran at the current release: another stop is needed."""
    cli: str = ""  # The minor of the Flux CLI to run `flux migrate` with: that of the current release, 2.7 at least
    unknown: Unknown | None = None  # Why older releases may have run: a shallow checkout; None: none can have
    resolved: tuple[Refused, ...] = ()
    """What would be refused, had it not been confirmed that `flux migrate` ran at the current release."""


class TurnedOffUse(NamedTuple):
    """A use of a version that the release serves, and that a patch takes away in the cluster."""

    use: ApiUse
    patch: TurnedOff


class TakenBack(NamedTuple):
    """A time that the installation was at a release, and left it for an older one."""

    release: Version
    since: str  # RFC 3339, UTC
    until: str
    back_to: Version
    commit: str  # That took it back


class Returns(NamedTuple):
    """A file that goes back to what it was before: two write it, and do not agree."""

    times: int
    since: str  # RFC 3339, UTC: of the first time
    commit: str  # Of the last time


class EarlierTries(NamedTuple):
    taken_back: TakenBack | None = None  # The last time that the target's minor was left for an older release
    returns: Returns | None = None  # None: it went back once at the most


class Detour(NamedTuple):
    """Why one step does not lead to a release."""

    target: Version
    stored: tuple[tuple[str, str], ...] = ()
    """Kind and version in which the release in use stores objects, and which the CRDs of ``target`` lack; sorted."""
    uses: int = 0  # Manifests of which no API version is served by both releases
