"""A pin: what says which release of Flux a cluster, or the CLI beside it, is at.

That is a place in a file, or a vendored manifest as a whole.
"""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.manifests.parts import Part
from flux_upgrade.manifests.proof import Proof, Verdict
from flux_upgrade.model.text import TextEdit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.policy.decision import Hold
from flux_upgrade.snapshot.file import File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.manifests.carry import Carried


class Role(StrEnum):
    INSTALLS = "installs"  # It decides which Flux runs in a cluster
    CLI = "cli"  # It decides which Flux CLI people or workflows use
    OPERATOR = "operator"
    """It decides which releases of Flux the flux-operator can install, see ``PinContext.moves_operator``."""
    REPORTED = "reported"  # It is reported, with the next step, and never changed
    RESOURCES = "resources"
    """It is no pin: resources are moved to other versions of their APIs for the sake of a cluster."""


class PinState(StrEnum):
    EXACT = "exact"  # One release
    RANGE = "range"  # A semver range: something else picks the release, and no pull request is needed within it
    FLOATING = "floating"  # No release at all: a branch, `latest`, or nothing
    UNKNOWN = "unknown"  # What it says is unknown, or cannot be changed safely: `reason` says why


NO_PROOF = Proof(Verdict.UNVERIFIED)  # Of every pin that is no vendored manifest


class SyncSource(NamedTuple):
    """The GitRepository that a cluster begins with; the default is that of `flux bootstrap`."""

    namespace: str = "flux-system"
    name: str = "flux-system"
    url: str = ""  # Empty if it is unknown

    @classmethod
    def named_after(cls, namespace: str, name: str = "", url: str = "") -> SyncSource:
        """Return one that has the name of its namespace, unless it has its own. An empty namespace is the default."""
        namespace = namespace or cls().namespace
        return cls(namespace, name or namespace, url)


class Pin(NamedTuple):
    """One place in one file, or a vendored manifest."""

    path: str  # Relative to the tree's root, with `/`
    kind: str  # `NAME` of the kind's module; `install` for Flux's install.yaml
    content: bytes  # The whole file; for an installation in several files, all of them joined
    line: int = 0  # 1-based: where the version stands; 0 for a manifest, which is a version throughout
    where: str = ""  # Which place of the file, in the words of its format: `FluxInstance flux, distribution.version`
    raw: str = ""  # The raw value: what stands in the file, without quotes; empty if nothing does
    state: PinState = PinState.EXACT
    role: Role = Role.INSTALLS
    version: Version = NO_VERSION  # The release of Flux that it comes to today, a tag; empty if that is unknown
    reason: str = ""  # Why nothing is changed there: for UNKNOWN always, for the others where there is something to say
    hint: str = ""  # What to do about it
    remarks: tuple[str, ...] = ()  # What else to know of it, a sentence each, without markup
    folder: str | None = None
    """The folder of the repository that the cluster is reconciled from, where the pin itself says so;
    empty for the root. None: it does not say."""
    sync: SyncSource = SyncSource()
    """The source that ``folder`` is in."""
    owner: str = ""
    """What names the cluster, where the file does: ``Shoot garden-dev/a``. Pins with another owner are
    of another cluster, even in the same file."""
    held: Hold | None = None  # What kept it from being looked at; None: nothing
    components: tuple[str, ...] | None = None  # Those that the pin names; None: it may install all of them
    details: object = None  # What the kind's `change` has to know; of no concern to anybody else
    is_cut: bool = False  # The version may be in what is left out because it is too much
    proof: Proof = NO_PROOF  # Of a vendored manifest: what it really is
    parts: tuple[Part, ...] = ()  # The files of an installation in several files; empty if it is in one

    @property
    def is_manifest(self) -> bool:
        """Whether it is a vendored manifest, which has CRDs and flags, and a folder that is its cluster's."""
        return self.proof is not NO_PROOF

    def files(self, path: str) -> tuple[Part, ...]:
        """Return the files that it is in. ``path``: of the pin, from the root that theirs are to begin at."""
        above = path.removesuffix(self.path)
        return tuple(Part(above + part.path, part.content) for part in self.parts) or (Part(path, self.content),)

    @property
    def stated_version(self) -> str:
        """Return ``version``, or the one that the labels or the header of an unverified manifest have."""
        return self.version or (self.proof.stated_version if self.proof.verdict is Verdict.UNVERIFIED else "")

    @property
    def is_movable(self) -> bool:
        return self.role is not Role.REPORTED and self.state in (PinState.EXACT, PinState.RANGE)

    def place(self, path: str) -> str:
        """``path``, with the line if there is one. ``path``: of the pin, as it is to be shown."""
        return f"{path}:{self.line}" if self.line else path


class ManifestChange(NamedTuple):
    """How a vendored manifest is made again; the same for all that are identical."""

    carried: Carried
    images: tuple[tuple[str, str, str], ...]  # Controller, its image in the file, its image afterwards
    evidence: str  # Why a release newer than the rules is rendered rightly; empty for a known one
    verified: bool  # False where the release has no checksum for its manifests
    not_covered: tuple[str, ...]  # Flags away from their default that the evidence does not speak for
    seen: tuple[str, ...] = ()  # Controllers whose image afterwards its registry was asked for, and has

    @property
    def new(self) -> bytes:
        return self.carried.content


class PinChange(NamedTuple):
    replacements: tuple[TextEdit, ...] = ()  # In the pin's own file; none where it admits the release as it is
    raw: str = ""  # The raw value afterwards, as `Pin.raw`
    remarks: tuple[str, ...] = ()
    """What the change brings along, a sentence each, without markup: said in the pull request."""
    beyond: Version = NO_VERSION
    """The highest release of Flux that can be installed then, where that is one above the target."""
    todo: tuple[str, ...] = ()
    """What a person, or another program, has to do before it is merged, a sentence each, without markup."""
    artifact: str = ""
    """``HOST/REPOSITORY:TAG@DIGEST`` that it stands for then, where that is an artifact of the user's."""
    hold: Hold | None = None  # Why nothing is changed after all; its subject and target are the caller's to fill in
    manifest: ManifestChange | None = None  # What stands in the file's place, if it is a vendored manifest
    out_of_reach: Hold | None = None  # Several releases lead to the target: it is held unless the first is taken


def reported_pin(file: File, kind: str, spot: tuple[int, str, str], reason: str, hint: str) -> Pin:
    """A pin that is reported and never changed. ``spot``: its ``line``, ``where`` and ``raw``."""
    return Pin(file.path, kind, file.content, *spot, PinState.UNKNOWN, Role.REPORTED, reason=reason, hint=hint)
