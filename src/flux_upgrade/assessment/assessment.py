"""The judgement of one transition: values, and what follows from them."""

from __future__ import annotations

from flux_upgrade.clusters.graph.builds import Trouble
from flux_upgrade.config.config import Known
from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.impact.diff.changes import Changes, CrdChange
from flux_upgrade.impact.impact import Detour, EarlierTries, Hit, Managed, Refused, Stored, TurnedOffUse
from flux_upgrade.impact.kubernetes_versions import UNDECLARED, Fit
from flux_upgrade.impact.migrate.result import Left, Migrated, Move
from flux_upgrade.impact.overlay.result import LeftOut, Overlay
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.pin import Pin

_NOT_COMPARED = Unknown("what is installed was not compared")
_NOT_ASKED = Unknown("the history was not read")
_NOT_SEARCHED = Unknown("no file that names API versions was looked at")


_JUDGE = "fix the kustomization next to the manifest, or in the directory above"


class PatchBreak(NamedTuple):
    """What a patch over the manifest breaks."""

    path: str
    line: int  # 1-based; 0 where the build fails: no line is to blame
    what: str  # A clause without markup
    hint: str = ""
    fails: bool = False  # Whether kustomize ends with an error; else it builds, and the cluster gets what is broken

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}" if self.line else self.what


class ClusterBase(NamedTuple):
    """The installation of a cluster before an upgrade, in the commit that Flux follows."""

    pin: Pin | Unknown  # The installation in that commit
    written: Version  # The release in the file, which may be uncommitted
    branch: str | Unknown  # The branch that Flux follows; Unknown: the commit is the one that is checked out
    is_for_terraform: bool = False  # A merge has no effect before Terraform applies it

    @property
    def is_behind(self) -> bool:
        """Return whether the file has a newer release than the cluster."""
        return not isinstance(self.pin, Unknown) and self.pin.version < self.written

    @property
    def is_notable(self) -> bool:
        """Return whether it is another release than that of the file, or is not certain."""
        return isinstance(self.pin, Unknown) or isinstance(self.branch, Unknown) or self.pin.version != self.written

    @property
    def place(self) -> str:
        return "the checked-out commit" if isinstance(self.branch, Unknown) else self.branch

    def is_ahead_of(self, step: Version) -> bool:
        """Return whether the file has the minor of a step already, and the cluster runs an older release."""
        return self.is_behind and self.written.numbers[:2] >= step.numbers[:2]


class NotApplied(NamedTuple):
    """The reason that a merge of a manifest changes nothing in the cluster."""

    path: str
    suspended: tuple[str, ...] = ()  # Kustomizations that build the manifest, if all are suspended, or their source
    roots: tuple[str, ...] = ()  # Directories where Flux begins to read, if nothing there leads to the manifest
    unfollowed: int = 0  # Steps from there that could not be followed


class Forced(NamedTuple):
    """A setting that lets Flux delete and recreate a CRD that the API server rejects, with all objects of its kind."""

    setting: str = "force"
    places: tuple[str, ...] = ()  # `path:line`


class Assessment(NamedTuple):
    """Everything that is known of one transition, before it is made."""

    changes: Changes | Unknown = _NOT_COMPARED
    released_crds: tuple[CrdChange, ...] | Unknown = _NOT_COMPARED
    """Changes of the installed CRDs between the two releases, if `changes` is unknown."""

    files: tuple[Migrated, ...] = ()  # Files that use what the target does not serve, in the order of their paths
    stored: Stored = Stored()
    managed: Managed | None = None  # None: the target drops no API version that the repository uses or has used
    breaks: tuple[Hit, ...] = ()
    overlay: Overlay | Unknown | None = None  # None: nothing is patched over what is installed
    turned_off: tuple[TurnedOffUse, ...] = ()
    crds_to_bring: tuple[LeftOut, ...] = ()  # CRDs that change, and that nothing the cluster reads brings
    broken_files: tuple[ApiUse, ...] = ()  # First uses in files of the cluster that are no valid YAML
    not_applied: NotApplied | None = None  # None: Flux applies the manifest, or nothing tells
    unread: tuple[str, ...] = ()  # Files that no cluster reads, with resources that the target does not serve
    unfollowed: tuple[Trouble, ...] = ()  # Steps from the cluster's root that could not be followed
    known: tuple[Known, ...] = ()  # Entries of the config file that count for the cluster
    kubernetes: Fit | Unknown = UNDECLARED
    orphaned: tuple[ApiUse, ...] = ()  # resources of a controller that would no longer be there
    upgrade_path: tuple[Version, ...] = ()
    """The releases to go to, one after the other, where one step is not enough; the last is the goal."""
    skipped: tuple[Version, ...] = ()  # Releases on this path that the settings jump over

    detour: Detour | None = None  # None: one step leads to the goal
    earlier: EarlierTries | Unknown = _NOT_ASKED
    used: frozenset[tuple[str, str, str]] | Unknown = _NOT_SEARCHED
    """API group, kind and version of what the cluster's files use, before and after migration."""
    migrated: tuple[str, ...] = ()  # The releases at which `flux migrate` ran in the cluster, as confirmed; tags
    forced: Forced = Forced()
    by_operator: bool = False  # The flux-operator migrates the stored objects of the cluster
    by_tag: bool = False  # Whether the tag of an artifact is moved, so that nothing is merged
    base: ClusterBase | None = None  # None: it is what the plan has
    absent_crds: tuple[str, ...] = ()  # Names of the CRDs that something else than the manifest has to apply
    identical_to: Version = NO_VERSION  # An older release that has the same files as the target; empty: none is known

    def takes_steps_to(self, target: Version) -> bool:
        """Return whether the way to a release begins with another one."""
        return bool(self.upgrade_path) and self.upgrade_path[0] != target

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
    def waits_for_operator(self) -> bool:
        """Whether the flux-operator has to have migrated objects at the current release before the merge."""
        return self.by_operator and (bool(self.stored.resolved) or self.stored.unknown is not None)

    @property
    def may_be_recreated(self) -> bool:
        """Whether Flux would delete CRDs, and all objects of their kinds, if the API server refuses the new ones."""
        return bool(self.forced.places) and (bool(self.stored.refused) or self.stored.unknown is not None)

    @property
    def is_confirmed(self) -> bool:
        is_done = bool(self.stored.resolved) or (self.managed is not None and self.managed.is_done)
        return is_done and not self.by_operator

    @property
    def crds(self) -> tuple[CrdChange, ...] | Unknown:
        """What changes in the CRDs of the installation."""
        return self.released_crds if isinstance(self.changes, Unknown) else self.changes.crds

    @property
    def drops_versions(self) -> bool:
        """Whether the target no longer serves API versions of the cluster; True if that is unknown."""
        return isinstance(self.crds, Unknown) or any(each.unserved or each.removed for each in self.crds)

    @property
    def may_lose_versions(self) -> bool:
        """Whether CRDs lose versions that the cluster may have stored; True if that is unknown."""
        return isinstance(self.crds, Unknown) or any(each.removed for each in self.crds)

    def is_base_uncertain(self, target: Version) -> bool:
        """Return whether the cluster may run another release, which may have stored what the target drops."""
        base = self.base
        if base is None or not self.drops_versions:
            return False
        release = base.written if isinstance(base.pin, Unknown) else base.pin.version
        is_certain = not isinstance(base.pin, Unknown) and not isinstance(base.branch, Unknown)
        return not is_certain and release.minor != target.minor

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
        moved = [each.use for each in self.moves if each.was_served and each.blocks]
        left = [left.use for left in self.lefts if left.blocks]
        return (*moved, *left)

    @property
    def unknown_patches(self) -> Unknown | None:
        """The reason that patches over Flux are unknown; None if they are known, or if the manifests are unknown."""
        if isinstance(self.overlay, Unknown) and not isinstance(self.changes, Unknown):
            return self.overlay
        return None

    @property
    def patch_breaks(self) -> tuple[PatchBreak, ...]:
        """What fails comes first, then versions that are turned off, use by use.

        Patches that are unknown count as if they failed.
        """
        if self.unknown_patches is not None:
            return (PatchBreak("", 0, str(self.unknown_patches), _JUDGE, fails=True),)
        overlay = known_or(self.overlay, None)
        if overlay is None:
            return ()
        broken = [
            PatchBreak(each.path, each.line, f"{each.what}: {each.detail}", each.hint, each.fails)
            for each in overlay.findings
            if each.holds
        ]
        fails = [each for each in broken if each.fails]
        if overlay.failed and not fails:
            fails = [PatchBreak(overlay.path, 0, overlay.failed, fails=True)]
        gone = [
            PatchBreak(
                patch.path,
                patch.line,
                f"this patch turns off {patch.kind} {patch.version}, used in {use.path}:{use.line}",
                "fix or remove it together with the upgrade",
            )
            for use, patch in self.turned_off
        ]
        # A patch that turns something off because another item has its index is listed once.
        known = {(each.path, each.line) for each in gone}
        return (*fails, *gone, *(each for each in broken if not each.fails and (each.path, each.line) not in known))

    @property
    def blocking(self) -> tuple[Left, ...]:
        """Uses that stay as they are and that the upgrade would break."""
        return tuple(left for left in self.lefts if left.blocks)
