"""A pin: a place in a file that says which release of Flux a cluster, or the CLI beside it, is at."""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.manifests.proof import Proof
from flux_upgrade.model.text_edit import TextEdit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.manifests.carry import Carried


class Role(StrEnum):
    """What depends on a pin."""

    INSTALLS = "installs"
    """It decides which Flux runs in a cluster."""
    CLI = "cli"
    """It decides which Flux CLI people or workflows use."""
    OPERATOR = "operator"
    """It decides which releases of Flux the flux-operator can install, see ``PinContext.moves_operator``."""
    REPORTED = "named"
    """It is reported, with the next step, and never changed."""
    RESOURCES = "resources"
    """It is no pin: resources are moved to other versions of their APIs for the sake of a cluster."""


class PinState(StrEnum):
    """What a pin says."""

    EXACT = "exact"
    """One release."""
    RANGE = "range"
    """A semver range: something else picks the release, and no pull request is needed within it."""
    FLOATING = "floating"
    """No release at all: a branch, ``latest``, or nothing."""
    UNKNOWN = "unknown"
    """What it says is unknown, or cannot be changed safely: ``reason`` says why."""


class SourceFile(NamedTuple):
    """A file that may hold pins."""

    path: str
    """Relative to the tree's root, with ``/``."""
    content: bytes


class Pin(NamedTuple):
    """One place in one file."""

    path: str
    kind: str
    """``NAME`` of the kind's module."""
    content: bytes
    """Of the whole file."""
    line: int
    """1-based: where the version stands."""
    where: str
    """Which place of the file, in the words of its format: ``FluxInstance flux, distribution.version``."""
    raw: str
    """The raw value: what stands in the file, without quotes; empty if nothing does."""
    state: PinState
    role: Role = Role.INSTALLS
    version: str = ""
    """The release of Flux that it comes to today, a tag; empty if that is unknown."""
    reason: str = ""
    """Why nothing is changed there: for UNKNOWN always, for the others where there is something to say."""
    hint: str = ""
    """What to do about it."""
    remarks: tuple[str, ...] = ()
    """What else to know of it, a sentence each, without markup."""
    folder: str | None = None
    """The folder of the repository that the cluster is reconciled from, where the pin itself says so;
    empty for the root. None: it does not say."""
    owner: str = ""
    """What names the cluster, where the file does: ``Shoot garden-dev/a``. Pins with another owner are
    of another cluster, even in the same file."""
    held: Hold | None = None
    """What kept it from being looked at; None: nothing."""
    details: object = None
    """What the kind's ``change`` has to know; of no concern to anybody else."""

    @property
    def is_movable(self) -> bool:
        """Whether there is something that could be changed."""
        return self.role is not Role.REPORTED and self.state in (PinState.EXACT, PinState.RANGE)


class PinChange(NamedTuple):
    """What takes a pin to another release."""

    replacements: tuple[TextEdit, ...]
    """In the pin's own file; none where it admits the release as it is."""
    raw: str
    """The raw value afterwards, as ``Pin.raw``."""
    remarks: tuple[str, ...] = ()
    """What the change brings along, a sentence each, without markup: said in the pull request."""
    beyond: str = ""
    """The highest release of Flux that can be installed then, where that is one above the target."""
    todo: tuple[str, ...] = ()
    """What a person, or another program, has to do before it is merged, a sentence each, without markup."""
    artifact: str = ""
    """``HOST/REPOSITORY:TAG@DIGEST`` that it stands for then, where that is an artifact of the user's."""
    hold: Hold | None = None
    """Why nothing is changed after all; its subject and target are the caller's to fill in."""


def reported_pin(file: SourceFile, kind: str, spot: tuple[int, str, str], reason: str, hint: str) -> Pin:
    """A pin that is reported and never changed. ``spot``: its ``line``, ``where`` and ``raw``."""
    return Pin(
        file.path, kind, file.content, *spot, PinState.UNKNOWN, Role.REPORTED, reason=reason, hint=hint
    )


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


class ManifestChange(NamedTuple):
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


AnyPin = Installation | Pin
"""Whatever decides which Flux a cluster runs: a vendored manifest, or a pin."""


class Resources(NamedTuple):
    """A file with resources of Flux's that are moved to other versions of their APIs."""

    path: str
    """Relative to the repository's root."""
    content: bytes
    version: str
    """The release that the cluster is at, a tag."""

    @property
    def kind(self) -> str:
        """``resources``: installations and pins have a kind, too."""
        return "resources"

    @property
    def role(self) -> Role:
        """Nothing runs because of them."""
        return Role.RESOURCES
