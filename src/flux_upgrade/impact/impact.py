"""What an upgrade means for a cluster and for the repository: values, and what follows from them."""

from __future__ import annotations

from flux_upgrade.breaks.values import Hit
from flux_upgrade.kubernetes_versions import Fit
from flux_upgrade.manifests.changes.values import Changes
from flux_upgrade.migration.values import HARMLESS, Left, Migrated, Move
from flux_upgrade.overlay.values import Overlay
from flux_upgrade.resources.use import Use
from flux_upgrade.stored.managed import Managed
from flux_upgrade.stored.values import Stored
from flux_upgrade.values import NamedTuple


class Impact(NamedTuple):
    """Everything that is known of one jump, before it is made."""

    changes: Changes | None = None
    """None: of a pin, whose manifests nobody has."""
    files: tuple[Migrated, ...] = ()
    """Files that use what the target does not serve, in the order of their paths."""
    stored: Stored = Stored()
    managed: Managed | None = None
    """None: the target drops no API version that the repository uses or has used."""
    breaks: tuple[Hit, ...] = ()
    overlay: Overlay | None = None
    """None: there is no kustomization beside the manifest."""
    kubernetes: Fit | None = None
    """None: nobody said which version the clusters run."""
    orphaned: tuple[Use, ...] = ()
    """Resources of a controller that would no longer be there."""
    hops: tuple[str, ...] = ()
    """The releases to go to, one after the other, where one step is not enough; the last is the goal."""

    migrated: tuple[str, ...] = ()
    """The releases at which `flux migrate` ran in the cluster, as people said; tags."""

    @property
    def has_to_migrate(self) -> bool:
        """Whether `flux migrate` has to run before the merge, because of managed fields."""
        return self.managed is not None and not self.managed.is_after and not self.managed.is_done

    @property
    def moves(self) -> tuple[Move, ...]:
        """Uses that go to another version by themselves."""
        return tuple(move for file in self.files for move in file.moves)

    @property
    def lefts(self) -> tuple[Left, ...]:
        """Uses that stay as they are."""
        return tuple(left for file in self.files for left in file.lefts)

    @property
    def in_use(self) -> tuple[Use, ...]:
        """Uses that a cluster may serve today: objects are written in these versions."""
        moved = (each.use for each in self.moves if each.was_served)
        left = (each.use for each in self.lefts if each.reason not in HARMLESS and not each.is_broken_already)
        return (*moved, *left)

    @property
    def blocking(self) -> tuple[Left, ...]:
        """Those of them that the upgrade would break."""
        return tuple(left for left in self.lefts if left.blocks)
