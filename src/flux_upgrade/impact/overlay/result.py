"""Whether what stands in ``kustomization.yaml`` beside a manifest still does what it did."""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.model.values import NamedTuple


class OverlayVerdict(StrEnum):
    """What becomes of one patch, image override or replacement."""

    APPLIES = "applies"  # It does what it did
    BREAKS = "breaks"  # The build fails, or it lands on another item than before
    IDLE = "idle"  # It changes nothing any more: the release has it, or its target is gone without an error
    FROZEN = "frozen"  # It applies, and keeps out what the release adds
    BEHIND = "behind"  # It changes the API version that was stored, and not the one that the release stores
    UNKNOWN = "unknown"  # It is unknown: it depends on something that is not in the repository, a generator, a plugin


class OverlayFinding(NamedTuple):
    """What becomes of one patch, image override or replacement, and where it is."""

    path: str
    line: int  # 1-based: where it begins
    what: str  # `patch of Deployment/source-controller`, without markup
    verdict: OverlayVerdict
    detail: str = ""  # A sentence without markup; empty where it applies
    hint: str = ""
    drops: tuple[str, ...] = ()  # Entries of the release that a whole list in its place keeps out, new ones only
    fails: bool = False  # Whether kustomize ends with an error because of it; else what breaks lands elsewhere
    already: bool = False  # Whether it was so before the upgrade: broken or idle with the old manifest, too

    @property
    def holds(self) -> bool:
        """Whether the upgrade must not be made as it is: it would break what works today."""
        return self.verdict is OverlayVerdict.BREAKS and not self.already


class TurnedOff(NamedTuple):
    """A version of an API that a patch takes away: the release serves it, and so does the cluster today."""

    group: str
    kind: str
    version: str
    path: str  # Of the patch
    line: int  # 1-based: where it begins


class LeftOut(NamedTuple):
    """A CRD of the release that is not built."""

    name: str  # `helmreleases.helm.toolkit.fluxcd.io`
    stored: str  # The version that the release stores
    path: str  # The file of the patch that removes the CRD
    line: int  # 1-based: where it begins


class Overlay(NamedTuple):
    """The findings of one kustomization, and what a build of it gave."""

    path: str  # Of `kustomization.yaml`, relative to the repository's root
    findings: tuple[OverlayFinding, ...]
    builder: str = ""  # The program that built it before and after: `kustomize`; empty where there is none
    failed: str = ""  # What it said where the new build failed and the old one did not; empty where it did not
    unbuilt: str = ""  # Why it was not built although there is a program; empty where it was, or nothing had to be
    built: Changes | None = None  # What changes in the result of the build; None where it was not built
    turned_off: tuple[TurnedOff, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
