"""Every error that a user can meet: one class, one exit code, one remedy each.

A message is a single line that says what is wrong; ``hint`` says what to do about it. ``main`` prints both
on stderr and exits with ``exit_code``. ``docs/reference/exit-codes.md`` is made from these classes and
their docstrings.
"""

from __future__ import annotations


class FluxUpgradeError(Exception):
    """An unexpected error: a defect of flux-upgrade."""

    exit_code = 1
    slug = "error"

    def __init_subclass__(cls, *, exit_code: int = 0, slug: str = "") -> None:
        """Without an exit code of its own, a class has that of its base."""
        cls.exit_code, cls.slug = exit_code or cls.exit_code, slug or cls.slug

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(FluxUpgradeError, exit_code=2, slug="usage"):
    """A flag, a value or a path cannot be used as it was given."""


class ReleaseNotFound(FluxUpgradeError, exit_code=3, slug="release-not-found"):
    """The release source has no such Flux release."""


class SourceUnavailable(FluxUpgradeError, exit_code=4, slug="source-unavailable"):
    """The release source cannot be reached, refuses to answer, or its rate limit is used up."""


class UntrustedArchive(FluxUpgradeError, exit_code=5, slug="untrusted-archive"):
    """A release's archive does not match its checksum, is damaged, or holds what it should not."""


class UnsupportedRelease(FluxUpgradeError, exit_code=6, slug="unsupported-release"):
    """The release is newer than the rules that flux-upgrade knows, and they could not be proved for it."""

    def __init__(self, message: str, *, hint: str = "", pending: bool = False) -> None:
        """``pending``: the evidence has not been published yet; asking again later may do."""
        super().__init__(message, hint=hint)
        self.pending = pending


class NothingFound(FluxUpgradeError, exit_code=7, slug="nothing-found"):
    """There is no Flux installation in the given path."""


class Unreadable(FluxUpgradeError, exit_code=8, slug="unreadable"):
    """A file is broken: conflict markers, invalid YAML, two manifests in one file, a stub."""


class EditConflict(FluxUpgradeError, exit_code=9, slug="edit-conflict"):
    """The release changed or removed the same path that was edited by hand; nothing was written."""


class Downgrade(FluxUpgradeError, exit_code=10, slug="downgrade"):
    """The installation, or one of its controllers, is newer than the version that was asked for."""


class Unverified(FluxUpgradeError, exit_code=11, slug="unverified"):
    """The installation's settings could not be proved (Flux v0, a development build, an unknown release)."""


class WriteFailed(FluxUpgradeError, exit_code=12, slug="write-failed"):
    """A file could not be written; what was there before is untouched."""


class ForgeUnavailable(FluxUpgradeError, exit_code=13, slug="forge-unavailable"):
    """The repository's server cannot be reached, answers with an error, or its rate limit is used up."""


class ForbiddenByForge(FluxUpgradeError, exit_code=14, slug="forbidden"):
    """The repository's server refuses: the token or a setting of the repository does not allow it."""


class RepositoryUnfit(FluxUpgradeError, exit_code=15, slug="repository-unfit"):
    """The repository cannot take a pull request: it is empty, archived, or the base branch is missing."""


class CheckoutDiffers(FluxUpgradeError, exit_code=16, slug="checkout-differs"):
    """The checkout differs from the base branch in a file that would be changed."""


class Overtaken(FluxUpgradeError, exit_code=17, slug="overtaken"):
    """The branch, the pull request or the tag was changed by somebody else while it was worked on."""


class DraftsUnavailable(FluxUpgradeError, exit_code=14, slug="drafts-unavailable"):
    """The repository cannot have draft pull requests."""


class InvalidConfig(FluxUpgradeError, exit_code=18, slug="config"):
    """The config file has keys or values that cannot be used, or `config check` found a group that matches nothing."""


class UnsupportedPin(FluxUpgradeError, exit_code=19, slug="unsupported-pin"):
    """A pinned version is spelled in a way that cannot be changed safely; it was left as it is."""


class RegistryUnavailable(SourceUnavailable, exit_code=20, slug="registry-unavailable"):
    """The registry cannot be reached, answers with an error, or its rate limit is used up."""


class ForbiddenByRegistry(SourceUnavailable, exit_code=21, slug="forbidden-by-registry"):
    """The registry refuses: the credentials or a rule of the repository do not allow it."""


class NoWayBack(FluxUpgradeError, exit_code=22, slug="no-way-back"):
    """There is nothing that the tag could be rolled back to."""


class AlreadyBootstrapped(FluxUpgradeError, exit_code=23, slug="already-bootstrapped"):
    """The path or the cluster is reconciled by another Flux already; nothing was written."""


class ClusterUnavailable(FluxUpgradeError, exit_code=24, slug="cluster-unavailable"):
    """The cluster cannot be reached, does not let us in, or refuses what was to be applied."""


class ClusterUnfit(FluxUpgradeError, exit_code=25, slug="cluster-unfit"):
    """The cluster cannot take this release of Flux, or its kustomization cannot be built here."""


class NotReady(FluxUpgradeError, exit_code=26, slug="not-ready"):
    """Flux was applied to the cluster and did not become ready before the deadline."""


class ApiRemoved(FluxUpgradeError, exit_code=27, slug="api-removed"):
    """Manifests use API versions that the release does not serve, and that were not migrated."""
