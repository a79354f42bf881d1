"""Decisions about an installation: a bump to a release, or a hold with its reason; what may need approval."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.policy.hold_reasons import HoldReason


class ChangeKind(StrEnum):
    """Kinds of change that a policy may hold, whatever the size of the upgrade."""

    API_REMOVED = "api-removed"
    """An API version is no longer served, or a kind is removed."""
    COMPONENT = "component"
    """A controller was added or removed."""
    RBAC = "rbac"
    """A role gets more permissions, or another subject gets the role."""
    NETWORK_POLICY = "network-policy"
    """A NetworkPolicy was added, removed or changed."""
    ARGUMENTS = "arguments"
    """Arguments, environment, resources, security context or ports of a controller."""
    NAMESPACE = "namespace"
    """Labels of the Namespace, such as those of Pod Security."""
    SCHEMA = "schema"
    """A field was removed or made required, or a default, a type or a validation changed."""


class BumpKind(StrEnum):
    """What a decision is about; each has a pull request of its own."""

    PATCH = "patch"  # The newest patch of the minor in use
    MINOR = "minor"  # A later minor of the major in use
    MAJOR = "major"  # A later major
    MIGRATION = "migration"  # Manifests are moved to API versions that a release serves, before a cluster goes there

    @classmethod
    def between(cls, current: str, target: str) -> BumpKind:
        """The size of a step from one tag to another; what is no version counts as the largest."""
        before, after = Version.parse(current), Version.parse(target)
        if before is None or after is None or before.numbers[0] != after.numbers[0]:
            return BumpKind.MAJOR
        return BumpKind.PATCH if before.minor == after.minor else BumpKind.MINOR

    def approval(self, target: Version) -> str:
        """What a person gives to ``--approve``: a minor with its later patches, a patch by itself."""
        return target if self is BumpKind.PATCH else target.minor


class Hold(NamedTuple):
    """Nothing is written."""

    reason: HoldReason
    detail: str = ""
    hint: str = ""
    error: type[FluxUpgradeError] | None = None  # What the run ends with; None: holding is all right
    bump_kind: BumpKind = BumpKind.PATCH
    target: Version = NO_VERSION  # The release that is held back; empty where there is none in particular
    since: str = ""  # RFC 3339, UTC: when the reason began; empty where nobody knows
    until: str = ""  # RFC 3339, UTC: when it ends by itself; empty where it does not
    needs_approval: bool = False  # Once nothing is in its way any more, a person has to approve it
    approve_with: str = ""  # Ends the hold as an argument of `--approve`, ``production=2.9+migrated``; empty: none

    @property
    def dates(self) -> str:
        """Return since when, and until when; empty where it has neither."""
        since = f" since {self.since[:10]}" if self.since else ""
        until = f" until {self.until[:10]}" if self.until else ""
        return since + until

    def of(self, bump: Bump) -> Hold:
        """Return the hold of a bump that the policy lets an installation make."""
        return self._replace(bump_kind=bump.bump_kind, target=bump.target)


class HealthStatus(NamedTuple):
    """The commit statuses by which Flux reports that a group is healthy."""

    contexts: tuple[str, ...]  # Each must be there; `*` matches any text
    creator: str  # Login of who posts them, `flux-staging[bot]`


class OnFailure(StrEnum):
    """What becomes of a merged upgrade after which Flux reports a failure."""

    COMMENT = "comment"
    REVERT = "revert"


class Ring(NamedTuple):
    """What the config file says of a group's place among the rings."""

    after: tuple[str, ...] = ()  # Names of the groups before it
    soak: timedelta = timedelta(0)  # How long they must have had the release
    healthy: HealthStatus | None = None  # None: it is healthy once the next ring's soak is over
    on_failure: OnFailure = OnFailure.COMMENT
    one_release_at_a_time: bool = False  # Keep a release until the groups after this one have it


class Bump(NamedTuple):
    """The policy lets an installation go to ``target``; whether that is possible is seen next."""

    bump_kind: BumpKind
    target: Version
    approved: bool  # False: a person has to approve it first; it is shown, and waits
    approval: str = ""  # What a person approved, ``2.9`` or ``v2.9.4``; empty where the policy needs nobody
    why: str = ""  # Why now, in one sentence for the pull request. The same every day: it holds dates, no ages.
    aligns: bool = False  # It takes a pin to where its cluster is already

    @property
    def size(self) -> str:
        """Return the size to show: an alignment is none of the sizes of an upgrade."""
        return "alignment" if self.aligns else str(self.bump_kind)

    def is_approved_by(self, version: str) -> bool:
        """Whether a user who approves ``2.9`` or ``v2.9.4`` approves this."""
        names = (self.approval, self.target.minor) if self.bump_kind is BumpKind.PATCH else (self.approval,)
        return bool(self.approval) and version in names


class Rejection(NamedTuple):
    """A proposal that was closed, reverted or rolled back."""

    bump_kind: BumpKind
    target: Version  # What was proposed
    reason: HoldReason  # CLOSED_BY_HUMAN, REVERTED, GROUP_REVERTED or ROLLED_BACK
    since: str  # RFC 3339, UTC; empty where nobody knows
    where: str  # Address of the pull request, or of the artifact


class Feedback(NamedTuple):
    """Rejections and approvals of earlier proposals."""

    rejections: tuple[Rejection, ...] = ()
    approved: tuple[str, ...] = ()  # ``2.9`` (the minor and its patches) or ``v2.9.4`` (that version alone)
    migrated: tuple[str, ...] = ()  # Releases at which `flux migrate` ran in the cluster, tags
    migrated_since: tuple[str, ...] = ()  # Those at which it ran after the last manifests were migrated
    unmigrated: str = ""  # Address of the merged pull request in which nobody has ticked yet that it ran; empty: none
    stored: tuple[str, ...] = ()  # What earlier runs read in the history, see ``impact.stored_versions.memory``
    moved: tuple[str, ...] = ()
    """What merged pull requests moved, ``markers.content_entry``: if it is there again, it was reverted."""
    accepted: tuple[str, ...] = ()  # What breaks and was accepted in open pull requests, ``markers.break_entry``
    moved_for: tuple[str, ...] = ()  # The releases that merged pull requests moved manifests for, tags
    approved_migrated: tuple[str, ...] = ()  # Approved versions before which `flux migrate` ran, as the approval says
