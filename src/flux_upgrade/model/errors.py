"""Every error that a user can meet: one class, one exit code, one remedy each.

A message is a single line that says what is wrong; ``hint`` says what to do
about it. ``cli`` prints both on stderr and exits with ``exit_code``. The table
in ``docs/reference/exit-codes.md`` is checked against these classes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class FluxUpgradeError(Exception):
    """An expected failure: wrong input, or a world that is not as it should be."""

    exit_code: ClassVar[int] = 1
    slug: ClassVar[str] = "error"
    meaning: ClassVar[str] = "An unexpected error: a defect of flux-upgrade."

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(FluxUpgradeError):
    """A flag, a value or a path that cannot be used as it was given."""

    exit_code = 2
    slug = "usage"
    meaning = "A flag, a value or a path cannot be used as it was given."


class ReleaseNotFound(FluxUpgradeError):
    """The release source has no such Flux release."""

    exit_code = 3
    slug = "release-not-found"
    meaning = "The release source has no such Flux release."


class SourceUnavailable(FluxUpgradeError):
    """The release source cannot be reached, or refuses to answer."""

    exit_code = 4
    slug = "source-unavailable"
    meaning = "The release source cannot be reached, refuses to answer, or its rate limit is used up."


class UntrustedArchive(FluxUpgradeError):
    """A release's manifests are damaged, tampered with or incomplete."""

    exit_code = 5
    slug = "untrusted-archive"
    meaning = "A release's archive does not match its checksum, is damaged, or holds what it should not."


class UnsupportedRelease(FluxUpgradeError):
    """The rules cannot be proved to hold for a release newer than they are."""

    exit_code = 6
    slug = "unsupported-release"
    meaning = (
        "The release is newer than the rules that flux-upgrade knows, and they could not be proved for it."
    )

    def __init__(self, message: str, *, hint: str = "", pending: bool = False) -> None:
        """``pending``: the evidence has not been published yet; asking again later may do."""
        super().__init__(message, hint=hint)
        self.pending = pending


class NothingFound(FluxUpgradeError):
    """There is no Flux installation where one was looked for."""

    exit_code = 7
    slug = "nothing-found"
    meaning = "There is no Flux installation in the given path."


class Unreadable(FluxUpgradeError):
    """A file is broken, or is not the one Flux manifest that it should be."""

    exit_code = 8
    slug = "unreadable"
    meaning = "A file is broken: conflict markers, invalid YAML, two manifests in one file, a stub."


class ResidueConflict(FluxUpgradeError):
    """The release changed or removed what the user had changed by hand."""

    exit_code = 9
    slug = "residue-conflict"
    meaning = "The release changed or removed the same path that was edited by hand; nothing was written."


class Downgrade(FluxUpgradeError):
    """The installation is newer than the version that was asked for."""

    exit_code = 10
    slug = "downgrade"
    meaning = "The installation, or one of its controllers, is newer than the version that was asked for."


class Unproved(FluxUpgradeError):
    """The settings of an installation cannot be proved, so it is left alone."""

    exit_code = 11
    slug = "unproved"
    meaning = (
        "The installation's settings could not be proved (Flux v0, a development build, an unknown release)."
    )


class WriteFailed(FluxUpgradeError):
    """A file could not be written; the one that was there is untouched."""

    exit_code = 12
    slug = "write-failed"
    meaning = "A file could not be written; what was there before is untouched."


class ForgeUnavailable(FluxUpgradeError):
    """The forge cannot be reached, or its rate limit is used up; the next run goes on from there."""

    exit_code = 13
    slug = "forge-unavailable"
    meaning = (
        "The repository's server cannot be reached, answers with an error, or its rate limit is used up."
    )


class ForbiddenByForge(FluxUpgradeError):
    """The forge refuses: the token is missing, wrong, expired, or may not do that."""

    exit_code = 14
    slug = "forbidden"
    meaning = "The repository's server refuses: the token or a setting of the repository does not allow it."


class RepositoryUnfit(FluxUpgradeError):
    """The repository is empty, archived, or has no such base branch."""

    exit_code = 15
    slug = "repository-unfit"
    meaning = (
        "The repository cannot take a pull request: it is empty, archived, or the base branch is missing."
    )


class CheckoutDiffers(FluxUpgradeError):
    """The checkout is not what the base branch holds: dirty, behind, or of another branch."""

    exit_code = 16
    slug = "checkout-differs"
    meaning = "The checkout differs from the base branch in a file that would be changed."


class Overtaken(FluxUpgradeError):
    """Somebody else was faster, again and again."""

    exit_code = 17
    slug = "overtaken"
    meaning = "The branch, the pull request or the tag was changed by somebody else while it was worked on."


class DraftsUnavailable(FluxUpgradeError):
    """The forge has no draft pull requests for this repository."""

    exit_code = 14
    slug = "drafts-unavailable"
    meaning = "The repository cannot have draft pull requests."


class InvalidConfig(FluxUpgradeError):
    """The config file has keys, values or groups that cannot be used; all of them are listed."""

    exit_code = 18
    slug = "config"
    meaning = (
        "The config file has keys or values that cannot be used, or `config check` found a group that "
        "matches nothing."
    )


class UnsupportedPin(FluxUpgradeError):
    """A version is spelled in a way that cannot be changed safely."""

    exit_code = 19
    slug = "unsupported-pin"
    meaning = "A pinned version is spelled in a way that cannot be changed safely; it was left as it is."


class RegistryUnavailable(SourceUnavailable):
    """The registry of an artifact cannot be reached, or answers with what it should not."""

    exit_code = 20
    slug = "registry-unavailable"
    meaning = "The registry cannot be reached, answers with an error, or its rate limit is used up."


class ForbiddenByRegistry(SourceUnavailable):
    """The registry refuses: no credentials, wrong ones, or they may not do that."""

    exit_code = 21
    slug = "forbidden-by-registry"
    meaning = "The registry refuses: the credentials or a rule of the repository do not allow it."


class NoWayBack(FluxUpgradeError):
    """There is nothing to roll back to."""

    exit_code = 22
    slug = "no-way-back"
    meaning = "There is nothing that the tag could be rolled back to."


class AlreadyBootstrapped(FluxUpgradeError):
    """The repository or the cluster has a Flux that this bootstrap would get in the way of."""

    exit_code = 23
    slug = "already-bootstrapped"
    meaning = "The path or the cluster is reconciled by another Flux already; nothing was written."


class ClusterUnavailable(FluxUpgradeError):
    """The cluster cannot be reached, or refuses."""

    exit_code = 24
    slug = "cluster-unavailable"
    meaning = "The cluster cannot be reached, does not let us in, or refuses what was to be applied."


class ClusterUnfit(FluxUpgradeError):
    """The cluster is too old for the release, or what would be needed on this machine is missing."""

    exit_code = 25
    slug = "cluster-unfit"
    meaning = "The cluster cannot take this release of Flux, or its kustomization cannot be built here."


class NotReady(FluxUpgradeError):
    """Flux was applied, and did not become ready in time."""

    exit_code = 26
    slug = "not-ready"
    meaning = "Flux was applied to the cluster and did not become ready before the deadline."


class ApiRemoved(FluxUpgradeError):
    """Manifests use versions of Flux's APIs that the release does not serve."""

    exit_code = 27
    slug = "api-removed"
    meaning = "Manifests use API versions that the release does not serve, and that were not migrated."
