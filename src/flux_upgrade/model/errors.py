"""Every error that a user can meet: one class, one name, one remedy each.

A message is a single line that says what is wrong; ``hint`` says what to do about it. ``main`` prints both
on stderr and exits with ``exit_code``. ``docs/reference/exit-codes.md`` is made from these classes and
their docstrings.
"""

from __future__ import annotations

import errno
from enum import StrEnum
from itertools import islice

from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.model.text import one_line

LIMITS = {
    getattr(errno, name)
    for name in ("EAGAIN", "EDQUOT", "EFBIG", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "EROFS")
    if hasattr(errno, name)
}
"""What a system call fails with if the machine has no more of something, whatever the program asks for."""
_MOST_PLACES = 3  # Of a bug, in its message
_LONGEST = 500  # Characters of it


class FluxUpgradeError(Exception):
    """The base of all."""

    exit_code = ExitCode.DEFECT
    slug = "error"

    def __init_subclass__(cls, *, exit_code: ExitCode = ExitCode.DONE, slug: str = "") -> None:
        """Without an exit code of its own, a class has that of its base."""
        cls.exit_code, cls.slug = exit_code or cls.exit_code, slug or cls.slug

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Unexpected(FluxUpgradeError, exit_code=ExitCode.DEFECT, slug="unexpected"):
    """An unexpected error: a bug in flux-upgrade."""


class UsageError(FluxUpgradeError, exit_code=ExitCode.USAGE, slug="usage"):
    """A flag, value or path is not valid."""


class ReleaseNotFound(FluxUpgradeError, exit_code=ExitCode.SOURCE, slug="release-not-found"):
    """The release source does not have the Flux release."""


class SourceUnavailable(FluxUpgradeError, exit_code=ExitCode.SOURCE, slug="source-unavailable"):
    """The release source is unreachable or denies access, or its rate limit is exceeded."""


class UntrustedArchive(FluxUpgradeError, exit_code=ExitCode.SOURCE, slug="untrusted-archive"):
    """A release archive does not match its checksum, is damaged, or has unexpected content."""


class ImplausibleRelease(UntrustedArchive, exit_code=ExitCode.SOURCE, slug="implausible-release"):
    """The release source has the content of another release under this version."""


class UnsupportedRelease(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="unsupported-release"):
    """The release is newer than this flux-upgrade supports, and could not be verified."""

    def __init__(self, message: str, *, hint: str = "", pending: bool = False) -> None:
        """``pending``: the evidence has not been published yet; asking again later may do."""
        super().__init__(message, hint=hint)
        self.pending = pending


class NothingFound(FluxUpgradeError, exit_code=ExitCode.NOTHING_FOUND, slug="nothing-found"):
    """The given path has no Flux installation or, for `check` and `migrate`, no Kubernetes manifest."""


class Unread(StrEnum):
    """Reasons why a file, or a part of it, was not read."""

    ABSENT = "it does not exist"
    TOO_LARGE = "it is too large"
    BROKEN = "it is not valid"
    TEMPLATE = "it is a template"
    TOO_MANY_DOCUMENTS = "it has too many documents"
    NOT_CHECKED_OUT = "the checkout is sparse"
    OUTSIDE = "it is outside of the directory"
    REFUSED = "it cannot be opened"


class Unreadable(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="unreadable"):
    """A file is damaged: conflict markers, invalid YAML, two manifests in one file, or a stub."""

    def __init__(self, message: str, *, hint: str = "", why: Unread = Unread.BROKEN) -> None:
        super().__init__(message, hint=hint)
        self.why = why


class EditConflict(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="edit-conflict"):
    """The release changes or removes a field that you edited manually. Nothing was written."""


class Downgrade(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="downgrade"):
    """The installation, or one of its controllers, is newer than the requested version."""


class Unverified(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="unverified"):
    """The manifest could not be verified (Flux v0, a development build, an unknown release)."""


class WriteFailed(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="write-failed"):
    """A file could not be written. Its previous content is unchanged."""


class ForgeUnavailable(FluxUpgradeError, exit_code=ExitCode.SOURCE, slug="forge-unavailable"):
    """Your Git host is unreachable or returns an error, or its rate limit is exceeded."""


class LimitReached(ForgeUnavailable):
    """Your Git host's rate limit is exceeded: it takes no further request before ``until``, in epoch seconds."""

    def __init__(self, message: str, *, hint: str = "", until: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.until = until


class ForbiddenByForge(FluxUpgradeError, exit_code=ExitCode.REFUSED, slug="forbidden"):
    """Your Git host denies access: the token or a repository setting does not allow the action."""


class RepositoryUnfit(FluxUpgradeError, exit_code=ExitCode.REFUSED, slug="repository-unfit"):
    """The repository cannot have pull requests: it is empty or archived, or the base branch is missing."""


class CheckoutDiffers(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="checkout-differs"):
    """A file that flux-upgrade would change differs between the checkout and the base branch."""


class Overtaken(FluxUpgradeError, exit_code=ExitCode.REFUSED, slug="overtaken"):
    """Another user or run changed the branch, pull request or tag during the run."""


class DraftsUnavailable(FluxUpgradeError, exit_code=ExitCode.REFUSED, slug="drafts-unavailable"):
    """The repository does not support draft pull requests."""


class InvalidConfig(FluxUpgradeError, exit_code=ExitCode.USAGE, slug="config"):
    """The config file has invalid keys or values, or `config check` found a group without a match."""


class UntrustedConfig(InvalidConfig, exit_code=ExitCode.USAGE, slug="untrusted-config"):
    """The config file has a key that a run in CI uses only from the default branch, or with `--trust-config`."""


class UnsupportedPin(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="unsupported-pin"):
    """A version is written in a form that flux-upgrade cannot change safely. It is unchanged."""


class RegistryUnavailable(SourceUnavailable, exit_code=ExitCode.SOURCE, slug="registry-unavailable"):
    """The registry is unreachable or returns an error, or its rate limit is exceeded."""


class ForbiddenByRegistry(SourceUnavailable, exit_code=ExitCode.REFUSED, slug="forbidden-by-registry"):
    """The registry denies access: the credentials or a repository rule do not allow the action."""


class NoWayBack(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="no-way-back"):
    """The tag has no previous digest to roll back to."""


class StoredVersionLost(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="stored-version-lost"):
    """The tag stays: the API server may reject the CRDs, which lack API versions that clusters may have stored."""


class AlreadyBootstrapped(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="already-bootstrapped"):
    """Another Flux already reconciles the path or the cluster. Nothing was written."""


class ClusterUnavailable(FluxUpgradeError, exit_code=ExitCode.SOURCE, slug="cluster-unavailable"):
    """The cluster is unreachable, denies access, or rejects the objects to apply."""


class ClusterUnfit(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="cluster-unfit"):
    """The cluster does not support this Flux release, or its kustomization does not build."""


class NotReady(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="not-ready"):
    """Flux was applied to the cluster but did not become ready before the timeout."""


class ApiRemoved(FluxUpgradeError, exit_code=ExitCode.API_REMOVED, slug="api-removed"):
    """Manifests use API versions that the release no longer serves and that were not migrated."""


class NotLookedAt(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="not-looked-at"):
    """A cluster reads files outside of the directory, and they were not looked at."""


class ForeignCheckout(FluxUpgradeError, exit_code=ExitCode.USAGE, slug="foreign-checkout"):
    """Another user owns the checkout, and Git does not trust it, or its configuration is not used."""


class HostNotAllowed(SourceUnavailable, exit_code=ExitCode.USAGE, slug="host-not-allowed"):
    """The repository names a host that flux-upgrade does not contact unless you allow it."""


class SharedConfigUnusable(FluxUpgradeError, exit_code=ExitCode.USAGE, slug="shared-config"):
    """The config file that `extends` names cannot be read or is not valid. Nothing was changed."""


class OutputFailed(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="output-failed"):
    """The report could not be printed: standard output is closed, or its disk is full. The run did its work."""


class NoResources(FluxUpgradeError, exit_code=ExitCode.NEEDS_YOU, slug="no-resources"):
    """The machine has too few open files, processes, memory or disk space for the run."""


class NoReport(FluxUpgradeError, exit_code=ExitCode.NOTHING_FOUND, slug="no-report"):
    """A repository has no report for `flux-upgrade fleet`, or its report cannot be read. The page shows it."""


def known(error: Exception) -> FluxUpgradeError:
    """``error``, if it is one of these; else what it comes to: a limit of the machine, or a bug."""
    if isinstance(error, FluxUpgradeError):
        return error
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in LIMITS):
        what = (isinstance(error, OSError) and error.strerror) or "Cannot allocate memory"
        return NoResources(
            f"the machine has no room for the run: {what}",
            hint="raise the limits of this process (`ulimit -a`), or free disk space, then run flux-upgrade again",
        )
    places: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        places.append(f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    where = ", called from ".join(islice(reversed(places), _MOST_PLACES))
    return Unexpected(
        one_line(f"{type(error).__name__} at {where}: {error}", _LONGEST),
        hint="report this bug with the file that flux-upgrade read; FLUX_UPGRADE_DEBUG=1 shows more",
    )
