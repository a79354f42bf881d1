"""What a bootstrap would do to the files of a repository. Values only."""

from __future__ import annotations

from flux_upgrade.model.values import NamedTuple


class FileChange(NamedTuple):
    """One file that is written. Paths are relative to the repository's root."""

    path: str
    before: bytes | None
    """None: the file is new."""
    after: bytes


class FlagChange(NamedTuple):
    """A flag that an existing installation has another value for."""

    flag: str
    """Flux's name for it; where no flag stands for it, what it is: ``apiVersion of the GitRepository``."""
    old: str
    """As it would be written on the command line; empty where the file has none."""
    new: str


class ManifestPlan(NamedTuple):
    """What becomes of ``gotk-components.yaml``."""

    content: bytes
    version: str
    """The release's tag."""
    shown: tuple[FlagChange, ...] = ()
    edits: tuple[str, ...] = ()
    """What was edited by hand and is kept: ``Deployment/source-controller spec.replicas``."""
    evidence: str = ""
    """Why a release newer than the rules is rendered rightly; empty for a known one."""
    not_covered: tuple[str, ...] = ()
    """Flags away from their default that the evidence does not speak for."""
    verified: bool = True
    """False where the release has no checksum for its manifests."""


class FilesPlan(NamedTuple):
    """The files of one cluster."""

    version: str
    """The release's tag: the one that was asked for, or that of the installation."""
    changes: tuple[FileChange, ...]
    """By path; none where everything is as it should be."""
    kept: tuple[str, ...] = ()
    """Files of the bootstrap that stay as they are."""
    shown: tuple[FlagChange, ...] = ()
    edits: tuple[str, ...] = ()
    """Manual edits that are kept, those of ``gotk-sync.yaml`` included."""
    unlisted: tuple[str, ...] = ()
    """Names of new files that the user's own ``kustomization.yaml`` does not list: Flux would not apply
    them."""
    manifest: ManifestPlan | None = None
