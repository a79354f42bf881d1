"""What kinds ask about, besides the files that they are handed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.kinds.formats.kustomize_files import Kustomizations
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.ports import Artifacts, Charts, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.kinds.own_artifacts import OwnArtifacts


@dataclass(frozen=True)
class World:
    """Of one run: what it has read once holds for all kinds."""

    tree: Tree
    regenerator: Regenerator
    """``stable_tags()``: Flux's releases, newest first."""
    artifacts: Artifacts
    charts: Charts
    moves_operator: bool = False
    """Whether the flux-operator's own pins move along with Flux, instead of being named alone."""
    own: OwnArtifacts | None = None
    """Where Flux is in an artifact that pull requests promote; None: nobody asked about one."""

    @cached_property
    def kustomizations(self) -> Kustomizations:
        """Those of the tree, read when the first kind asks about them."""
        return Kustomizations(self.tree)
