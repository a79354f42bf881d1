"""An installation: one place in a tree where Flux's version lives, and what it really is."""

from __future__ import annotations

from flux_upgrade.manifests.proof import Proof
from flux_upgrade.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.manifests.carry import Carried


class Installation(NamedTuple):
    """A manifest in the tree with its proof."""

    path: str
    """Relative to the tree's root, with ``/``."""
    kind: str
    """``gotk-components``, or ``install`` for Flux's install.yaml."""
    content: bytes
    proof: Proof

    @property
    def version(self) -> str:
        """The release of the body, a tag; empty where it is not known."""
        return self.proof.version


class Change(NamedTuple):
    """What takes an installation to another release; the same for all that are identical."""

    new: bytes
    """The file's content."""
    carried: Carried
    images: tuple[tuple[str, str, str], ...]
    """Controller, its image in the file, its image afterwards."""
    evidence: str
    """Why a release newer than the rules is rendered rightly; empty for a known one."""
    verified: bool
    """False where the release has no checksum for its manifests."""
    not_covered: tuple[str, ...]
    """Flags away from their default that the evidence does not speak for."""
    seen: tuple[str, ...] = ()
    """Controllers whose image afterwards its registry was asked for, and has."""
