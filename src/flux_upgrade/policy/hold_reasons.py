"""Why an installation is left as it is: each reason with its meaning, its remedy and what it does."""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import NamedTuple, Self

from flux_upgrade.model import errors


class OpenPullRequest(Enum):
    """What becomes of a pull request that was open before the hold."""

    STAYS = auto()  # What is in the way now may pass
    CLOSED = auto()  # There is nothing left to propose
    DRAFT = auto()  # Merging it would break something now


class Effect(NamedTuple):
    """What leads to a reason, and what it does, beyond holding its installation."""

    exit_codes: str = ""  # Empty: those of `raised`, or 0
    raised: tuple[type[errors.FluxUpgradeError], ...] = ()
    """A pin is held for this reason if changing it raises one of these."""
    passing: tuple[type[errors.FluxUpgradeError], ...] = ()
    """Those of them that are no failure: what is published a little later than the release."""
    verb: str = ""  # What you did to the proposal, where that is the reason: `turned down`
    is_moved_first: bool = False  # Manifests that are migrated in a pull request of their own may end it
    is_expected: bool = False  # Nobody has to know: the installation is as it should be, or waits as the settings say
    holds_cluster: bool = False  # Manifests and pins of a cluster move together, so that it holds all of them
    is_of_file: bool = False  # It holds the file at every release, and names one as an example
    pull_request: OpenPullRequest = OpenPullRequest.STAYS


_NOTHING_MORE = Effect()


class HoldReason(StrEnum):
    """A reason is its slug, as reports and outputs have it. docs/reference/hold-reasons.md is made of this."""

    meaning: str
    remedy: str  # Both in Markdown, with links as docs/reference has them
    exit_codes: str
    effect: Effect

    def __new__(cls, slug: str, meaning: str, remedy: str, effect: Effect = _NOTHING_MORE) -> Self:
        member = str.__new__(cls, slug)
        member._value_, member.meaning, member.remedy, member.effect = slug, meaning, remedy, effect
        codes = ", ".join(str(each.exit_code) for each in effect.raised)
        member.exit_codes = effect.exit_codes or codes or "0"
        return member

    @classmethod
    def of(cls, error: errors.FluxUpgradeError) -> HoldReason | None:
        """Why a pin is held if changing it raises ``error``; None: the error concerns more than the pin."""
        return next((each for each in cls if isinstance(error, each.effect.raised)), None)

    UP_TO_DATE = (
        "up-to-date",
        "The body is at the newest stable release or newer, or at the version that `--to` asks for.",
        "Nothing. A controller newer than the release is named; an older image or another header is no hold.",
        Effect(is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    NEEDS_APPROVAL = (
        "needs-approval",
        "The policy does not cover this bump, and `pending: summary` shows it nowhere else; or what was approved has to be merged first.",
        "[Approve](../how-to/approve-minors.md) it, or merge what is open.",
        Effect(is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    COOLING_DOWN = (
        "cooling-down",
        "The patch, or the `.0` of the minor, is younger than the cool-down.",
        "Wait until the day that is named, or approve it.",
        Effect(is_expected=True),
    )
    OUT_OF_RANGE = (
        "out-of-range",
        "The newest release is not in the `range`.",
        "Widen the range, or approve it.",
        Effect(is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    CLOSED_BY_HUMAN = (
        "closed-by-human",
        "A person closed the pull request, deleted its branch, or ticked **skip**. Of a patch, that version is not proposed again; of a minor, none of its versions is.",
        "Open the pull request again, or approve the version.",
        Effect(verb="turned down"),
    )
    REVERTED = (
        "reverted",
        "The pull request was merged, and the base branch is older again. As if it had been closed.",
        "Approve the version, once what spoke against it is gone.",
        Effect(verb="merged and reverted"),
    )
    ROLLED_BACK = (
        "rolled-back",
        "`flux-upgrade rollback` took the artifact's tag back from this version.",
        "Wait for a newer one, or approve this one once what spoke against it is gone.",
        Effect(verb="rolled back"),
    )
    NEEDS_SIGNATURE = (
        "needs-signature",
        "The cluster verifies signatures of the artifact, and the new one has none: it is pushed, and the tag stays where it is.",
        "Sign the digest that is named, and run again.",
    )
    IMAGES_MISSING = (
        "images-missing",
        "The registry does not have all images of the release: a mirror that lags behind, or a tag whose digest is to be pinned.",
        "[Mirror](../how-to/mirror-and-air-gap.md#images-on-a-mirror) those that are named, and run again.",
        Effect(holds_cluster=True),
    )
    BLOCKED_BY_API_REMOVAL = (
        "blocked-by-api-removal",
        "Manifests use a version of an API that the target does not serve, and you have to migrate them: a field has no successor, a template, or `migrate: off`. Or one step is not enough, and `--to` asks for it.",
        "Change the lines that the report names; `flux-upgrade check --to VERSION` says when nothing is left.",
        Effect(
            exit_codes=f"{errors.ApiRemoved.exit_code} with `--to`, else 0",
            is_moved_first=True,
            holds_cluster=True,
            pull_request=OpenPullRequest.DRAFT,
        ),
    )
    MIGRATION_PENDING = (
        "migration-pending",
        "Manifests have to be migrated to other API versions first, in a separate pull request. Or the box for `flux migrate` after the last step is not ticked.",
        "Merge that pull request; or run `flux migrate`, and tick the box that is named.",
        Effect(is_moved_first=True, holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    COMPONENT_IN_USE = (
        "component-in-use",
        "A controller would be gone, and there are resources of its kinds.",
        "Remove these resources, or keep the component.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    OVERLAY_BREAKS = (
        "overlay-breaks",
        "A patch, a replacement or an image of the kustomization beside the manifest does not fit the target.",
        "Change the lines that the report names.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    KUBERNETES_TOO_OLD = (
        "kubernetes-too-old",
        "The target refuses the version of Kubernetes that `kubernetes-version` states.",
        "Upgrade the clusters first, or correct what the config file says.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    BRANCH_EDITED = (
        "branch-edited",
        "Somebody pushed to the branch of a pull request: it is theirs now.",
        "Merge or close it. To recreate it, tick **rebase** in it, or add the label `flux-upgrade/rebase`.",
    )
    OWNED_BY_TERRAFORM = (
        "owned-by-terraform",
        "Terraform's `flux_bootstrap_git` writes this file, and would undo the upgrade.",
        "Change the version in the line that is named: see [Other bots](../how-to/other-bots.md#terraform).",
        Effect(holds_cluster=True, is_of_file=True),
    )
    FOLLOWS = (
        "follows",
        "The pin moves with its cluster, and that waits.",
        "What is said of the cluster.",
        Effect(is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    CLUSTER_HELD = (
        "cluster-held",
        "Another pin of the same cluster cannot move, and half a set is never moved.",
        "See to that pin first, or list its file under `ignore`.",
    )
    DRIFT = (
        "drift",
        "The pin is newer than its cluster.",
        "Wait until the cluster is there, or put the pin back; nothing is downgraded.",
        Effect(is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    CLI_SKEW = (
        "cli-skew",
        "No version of the Flux CLI is within one minor of all clusters that it serves.",
        "Upgrade the cluster that lags behind, or give its tools a pin of their own.",
    )
    FLOATING = (
        "floating",
        "No version is pinned: a branch, `latest`, or nothing.",
        "Pin a version, should it be upgraded by pull request.",
        Effect(is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    UNSUPPORTED_PIN = (
        "unsupported-pin",
        "What the pin says cannot be told, or cannot be changed safely: a variable, a template, an anchor, a patch of another pin, an odd spelling, a digest that does not belong to its tag.",
        "Write a plain version there, or list the file under `ignore`. The pins of its cluster wait for it.",
        Effect(
            exit_codes="0, 19 where it is seen only when the pin is changed",
            raised=(errors.UnsupportedPin,),
            holds_cluster=True,
        ),
    )
    SOURCE_UNAVAILABLE = (
        "source-unavailable",
        "The registry or chart repository of a pin or of the release's images cannot be reached, or refuses to answer.",
        "Run again later, or see to the access that is named; for images, see [Mirrors](../how-to/mirror-and-air-gap.md#images-on-a-mirror).",
        Effect(
            exit_codes=(
                f"{errors.SourceUnavailable.exit_code}, {errors.ForbiddenByRegistry.exit_code} where it refuses"
            ),
            raised=(errors.SourceUnavailable,),
            holds_cluster=True,
        ),
    )
    UNTRUSTED_ARTIFACT = (
        "untrusted-artifact",
        "A registry or chart repository serves what it should not: other bytes than their digest says.",
        "Find out why, before anything is taken from there.",
        Effect(raised=(errors.UntrustedArchive,), holds_cluster=True),
    )
    WORKFLOW_PERMISSION = (
        "workflow-permission",
        "The pin stands in a workflow, which `GITHUB_TOKEN` cannot change.",
        "Give the action a token with the permission `workflows`, or list the file under `ignore`.",
    )
    ORPHAN = (
        "orphan",
        "No kustomization in the repository refers to the file: no cluster has it.",
        "Remove the file, refer to it, or list it under `ignore`. Named as PATH, or with `--to`, it is upgraded.",
    )
    CHECKOUT_DIFFERS = (
        "checkout-differs",
        "The file in the checkout is not the one on the base branch.",
        "What the detail says: pull, commit and push, or check out the base branch.",
        Effect(exit_codes=str(errors.CheckoutDiffers.exit_code), holds_cluster=True),
    )
    EDIT_CONFLICT = (
        "edit-conflict",
        "The target changed or removed the same path that was edited by hand.",
        "Decide for each path: see [Conflicts](../how-to/conflicts.md).",
        Effect(raised=(errors.EditConflict,), holds_cluster=True),
    )
    CONTROLLER_NEWER = (
        "controller-newer",
        "A controller in the file is newer than the one that the target ships; it never goes backwards.",
        "Upgrade to the release that the report names; where none is named, wait for the next one.",
        Effect(
            exit_codes=f"{errors.Downgrade.exit_code} with `--to`, else 0",
            raised=(errors.Downgrade,),
            holds_cluster=True,
        ),
    )
    DOWNGRADE = (
        "downgrade",
        "The version that was asked for is older than the body.",
        "Restore an older manifest from the history, if you must, and mind the stored API versions.",
        Effect(exit_codes=str(errors.Downgrade.exit_code)),
    )
    UNREADABLE = (
        "unreadable",
        "The file is broken, or is not one Flux manifest.",
        "Repair the lines that the report names.",
        Effect(raised=(errors.Unreadable,), holds_cluster=True),
    )
    UNVERIFIED = (
        "unverified",
        "There is no release to compare the file with: Flux v0, a development build, an install.yaml, or a release that the source does not have.",
        "What the report says for the case.",
        Effect(raised=(errors.Unverified,), holds_cluster=True),
    )
    UNSUPPORTED_RELEASE = (
        "unsupported-release",
        "The target is newer than the known rules, and they could not be proved for it; or it does not ship a component that `flags` asks for.",
        "Use a newer flux-upgrade, or put the `flux` binary of that version on PATH. Where Flux has not published all of the release yet: run again later.",
        Effect(
            exit_codes=(
                f"{errors.UnsupportedRelease.exit_code}, {errors.UsageError.exit_code} for a component; "
                "0 where it is only not published yet, and without `--to`"
            ),
            raised=(errors.ReleaseNotFound, errors.UnsupportedRelease),
            passing=(errors.ReleaseNotFound,),
            holds_cluster=True,
        ),
    )
