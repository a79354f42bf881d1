"""What an upgrade means for a cluster and for the repository: values, and what follows from them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.migrate.result import HARMLESS, Left, Migrated, Move
from flux_upgrade.impact.overlay.result import Overlay, TurnedOff
from flux_upgrade.model.versions import NO_VERSION, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.kubernetes_versions import Fit


class Evidence(StrEnum):
    """How it is known that objects may have been written in a version that the target drops."""

    USED = "used"  # a manifest of the repository names it now
    MIGRATED = "migrated"  # a merged pull request moved manifests away from it
    HISTORY = "history"  # a manifest named it in an earlier commit
    UNKNOWN = "unknown"  # the history cannot be searched, so that it cannot be ruled out


class Managed(NamedTuple):
    """That `flux migrate` has to run, and when."""

    versions: tuple[str, ...]
    """``helm.toolkit.fluxcd.io/v2beta1``; those in use, else all that the target drops. Sorted."""
    evidence: Evidence
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
    unknown: str = ""  # Why older releases may have run that are not visible: a shallow checkout; empty: none can have
    resolved: tuple[Refused, ...] = ()
    """What would be refused, had it not been confirmed that `flux migrate` ran at the current release."""


class TurnedOffUse(NamedTuple):
    """A use of a version that the release serves, and that a patch takes away in the cluster."""

    use: ApiUse
    patch: TurnedOff


class PatchBreak(NamedTuple):
    """What a patch over the manifest breaks."""

    path: str
    line: int  # 1-based; 0 where the build fails, and nobody knows for which one
    what: str  # A clause without markup
    hint: str = ""
    fails: bool = False  # Whether kustomize ends with an error; else it builds, and the cluster gets what is broken

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}" if self.line else self.what


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


class Impact(NamedTuple):
    """Everything that is known of one transition, before it is made."""

    changes: Changes | None = None  # None: of a pin, whose manifests are not in the repository
    files: tuple[Migrated, ...] = ()  # Files that use what the target does not serve, in the order of their paths
    stored: Stored = Stored()
    managed: Managed | None = None  # None: the target drops no API version that the repository uses or has used
    breaks: tuple[Hit, ...] = ()
    overlay: Overlay | None = None  # None: there is no kustomization beside the manifest
    turned_off: tuple[TurnedOffUse, ...] = ()
    unread: tuple[str, ...] = ()  # Files that no cluster reads, with resources that the target does not serve
    kubernetes: Fit | None = None  # None: the version that the clusters run is not declared
    orphaned: tuple[ApiUse, ...] = ()  # resources of a controller that would no longer be there
    upgrade_path: tuple[Version, ...] = ()
    """The releases to go to, one after the other, where one step is not enough; the last is the goal."""

    detour: Detour | None = None  # None: one step leads to the goal
    earlier: EarlierTries | None = None  # None: nobody looked
    used: frozenset[tuple[str, str, str]] | None = None
    """API group, kind and version of what the cluster's files use, before and after migration; None: nobody looked."""
    migrated: tuple[str, ...] = ()  # The releases at which `flux migrate` ran in the cluster, as confirmed; tags
    identical_to: Version = NO_VERSION  # An older release that has the same files as the target; empty: none is known

    @property
    def has_to_migrate(self) -> bool:
        """Whether `flux migrate` has to run before the merge, because of managed fields."""
        return self.managed is not None and not self.managed.is_after and not self.managed.is_done

    @property
    def has_to_migrate_after(self) -> bool:
        return self.managed is not None and self.managed.is_after

    @property
    def repaired(self) -> tuple[Refused, ...]:
        """What would be refused unless `flux migrate` runs at the current release."""
        return tuple(each for each in self.stored.refused if each not in self.stored.after_migrate)

    @property
    def is_confirmed(self) -> bool:
        return bool(self.stored.resolved) or (self.managed is not None and self.managed.is_done)

    @property
    def drops_versions(self) -> bool:
        """Whether the target no longer serves API versions of the cluster's, as far as its manifest is known."""
        return self.changes is None or any(each.unserved or each.removed for each in self.changes.crds)

    @property
    def cli(self) -> str:
        """The minor of the Flux CLI to run it with; empty where nothing has to."""
        return self.stored.cli or (self.managed.cli if self.managed is not None else "")

    @property
    def moves(self) -> tuple[Move, ...]:
        return tuple(move for file in self.files for move in file.moves)

    @property
    def lefts(self) -> tuple[Left, ...]:
        return tuple(left for file in self.files for left in file.lefts)

    @property
    def in_use(self) -> tuple[ApiUse, ...]:
        """Uses that a cluster may serve today: objects are written in these versions."""
        moved = [each.use for each in self.moves if each.was_served]
        left = [each.use for each in self.lefts if each.reason not in HARMLESS and not each.is_broken_already]
        return (*moved, *left)

    @property
    def patch_breaks(self) -> tuple[PatchBreak, ...]:
        """What fails comes first, then versions that are turned off, use by use."""
        if self.overlay is None:
            return ()
        broken = [
            PatchBreak(each.path, each.line, f"{each.what}: {each.detail}", each.hint, each.fails)
            for each in self.overlay.findings
            if each.holds
        ]
        fails = [each for each in broken if each.fails]
        if self.overlay.failed and not fails:
            fails = [PatchBreak(self.overlay.path, 0, self.overlay.failed, fails=True)]
        gone = [
            PatchBreak(
                patch.path,
                patch.line,
                f"this patch turns off {patch.kind} {patch.version}, used in {use.path}:{use.line}",
                "fix or remove it together with the upgrade",
            )
            for use, patch in self.turned_off
        ]
        # Why a patch turns something off, another item at its index, is said of it already.
        known = {(each.path, each.line) for each in gone}
        return (*fails, *gone, *(each for each in broken if not each.fails and (each.path, each.line) not in known))

    @property
    def blocking(self) -> tuple[Left, ...]:
        """Uses that stay as they are and that the upgrade would break."""
        return tuple(left for left in self.lefts if left.blocks)
