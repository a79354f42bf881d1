"""Why an installation is left as it is: each reason with its meaning, its remedy and what it does."""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import Self

from flux_upgrade.model import errors
from flux_upgrade.model.values import NamedTuple


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
    is_wait: bool = False  # Nothing has to be done: it passes, or it is what you decided
    is_expected: bool = False  # Nobody has to know: the installation is as it should be, or waits as the settings say
    holds_cluster: bool = False  # Manifests and pins of a cluster move together, so that it holds all of them
    is_approvable: bool = False  # An approval of the version ends it
    is_of_file: bool = False  # It holds the file at every release, and names one as an example
    pull_request: OpenPullRequest = OpenPullRequest.STAYS


_NOTHING_MORE = Effect()


class HoldReason(StrEnum):
    """A reason is its slug, as reports and outputs have it. docs/reference/hold-reasons.md is made of this."""

    meaning: str
    remedy: str  # Both in Markdown, with links as docs/reference has them
    effect: Effect

    def __new__(cls, slug: str, meaning: str, remedy: str, effect: Effect = _NOTHING_MORE) -> Self:
        member = str.__new__(cls, slug)
        member._value_, member.meaning, member.remedy, member.effect = slug, meaning, remedy, effect
        return member

    @property
    def exit_codes(self) -> str:
        return self.effect.exit_codes or ", ".join(str(each.exit_code) for each in self.effect.raised) or "0"

    @classmethod
    def of(cls, error: errors.FluxUpgradeError) -> HoldReason | None:
        """Why a pin is held if changing it raises ``error``; None: the error concerns more than the pin."""
        return next((each for each in cls if isinstance(error, each.effect.raised)), None)

    UP_TO_DATE = (
        "up-to-date",
        "The installation runs the newest stable release or newer, or the version that `--to` asks for.",
        "Nothing to do.",
        Effect(is_wait=True, is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    NEEDS_APPROVAL = (
        "needs-approval",
        "The policy does not allow this upgrade without approval. Or an approved upgrade must be merged first.",
        "[Approve](../how-to/approve-minors.md) the version, or merge the open pull request.",
        Effect(is_approvable=True, is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    COOLING_DOWN = (
        "cooling-down",
        "The release is younger than the configured `cool-down`.",
        "Wait until the date shown, or approve the version.",
        Effect(is_approvable=True, is_wait=True, is_expected=True),
    )
    OUT_OF_RANGE = (
        "out-of-range",
        "The newest release is outside the configured `range`.",
        "Widen `range`, or approve the version.",
        Effect(is_approvable=True, is_wait=True, is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    CLOSED_BY_HUMAN = (
        "closed-by-human",
        "You or another user closed the pull request, deleted its branch, or ticked **skip**. A patch is skipped for that version only, a minor for all its versions.",
        "Reopen the pull request, or approve the version. You need [write access](../how-to/act-on-answers.md#who-may-answer) to do either.",
        Effect(is_approvable=True, is_wait=True, verb="declined"),
    )
    REVERTED = (
        "reverted",
        "The upgrade was merged and then reverted. It is treated like a closed pull request.",
        "Approve the version once the problem is fixed.",
        Effect(is_approvable=True, is_wait=True, verb="merged and reverted"),
    )
    WAITS_FOR_GROUP = (
        "waits-for-group",
        "A group in `after` does not run the release yet, has not run it for the time of `soak`, or is not healthy.",
        "Wait, or upgrade and repair the group shown: see [Rings](../how-to/rings.md).",
        Effect(is_wait=True),
    )
    GROUP_REVERTED = (
        "group-reverted",
        "A group in `after` has merged the release and then reverted it.",
        "Wait for a newer release, or approve this one once the problem is fixed.",
        Effect(is_approvable=True, is_wait=True, verb="merged and reverted", pull_request=OpenPullRequest.DRAFT),
    )
    ROLLED_BACK = (
        "rolled-back",
        "`flux-upgrade rollback` moved the artifact's tag back from this version.",
        "Wait for a newer release, or approve this one once the problem is fixed.",
        Effect(is_approvable=True, is_wait=True, verb="rolled back"),
    )
    NEEDS_SIGNATURE = (
        "needs-signature",
        "The cluster verifies signatures, and the new artifact has none. The artifact is pushed, but the tag has not moved.",
        "Sign the digest shown, then run flux-upgrade again.",
    )
    IMAGES_MISSING = (
        "images-missing",
        "The registry does not have all images of the release. A mirror may lag behind.",
        "[Mirror](../how-to/mirror-and-air-gap.md#images-on-a-mirror) the images listed, then run flux-upgrade again.",
        Effect(holds_cluster=True),
    )
    OTHER_DISTRIBUTION = (
        "other-distribution",
        "`registry` in `flags` would replace the images of ControlPlane's distribution of Flux, or replace other images with them.",
        "Remove `registry` from `flags`. To change the distribution, first edit the images in the file yourself.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    BLOCKED_BY_API_REMOVAL = (
        "blocked-by-api-removal",
        "Manifests use API versions that the target no longer serves, and flux-upgrade cannot migrate them. Or `--to` skips a required step.",
        "Change the lines listed. Run `flux-upgrade check --to VERSION` to check the result.",
        Effect(
            exit_codes=f"{errors.ApiRemoved.exit_code} with `--to`, otherwise 0",
            is_moved_first=True,
            holds_cluster=True,
            pull_request=OpenPullRequest.DRAFT,
        ),
    )
    MIGRATION_PENDING = (
        "migration-pending",
        "Manifests must first be migrated to other API versions in a separate pull request. Or the `flux migrate` checkbox of the previous step is not ticked. Or the clusters of an artifact's tag may have stored API versions that the target does not have.",
        "Merge the migration pull request, or run `flux migrate` and tick the checkbox. For a tag, [approve](../how-to/promote-artifacts.md#stored-api-versions) with `+migrated`.",
        Effect(is_moved_first=True, holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    STEP_PENDING = (
        "step-pending",
        "The target takes several steps. An earlier step is held, or is only in your checkout: the branch that Flux follows does not have it yet.",
        "Upgrade to that step, commit and merge it, and wait until Flux has reconciled it. Then run flux-upgrade again.",
        Effect(exit_codes=f"{errors.ApiRemoved.exit_code} with `--to`, otherwise 0", holds_cluster=True),
    )
    COMPONENT_IN_USE = (
        "component-in-use",
        "The upgrade would remove a controller that still has resources.",
        "Delete the resources, or keep the controller in `flags`.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    FORCE_RECREATES = (
        "force-recreates",
        "The target's CRDs do not have a version that may be stored, and Flux would delete these CRDs with all their objects. A Kustomization that applies Flux sets `force`. Or a HelmRelease of Flux sets `remediation.strategy: uninstall`.",
        "Remove the setting in the lines shown, and wait until Flux has reconciled that.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    OVERLAY_BREAKS = (
        "overlay-breaks",
        "A Kustomize patch, replacement or image override fails with the target release, or applies to a different item.",
        "Fix the lines listed.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    KUBERNETES_TOO_OLD = (
        "kubernetes-too-old",
        "The target does not support the Kubernetes version that `kubernetes-version` declares.",
        "Upgrade Kubernetes first, or correct `kubernetes-version` in the config file.",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    OPERATOR_TOO_OLD = (
        "operator-too-old",
        "The flux-operator of the cluster does not include the target. Its version is in the same cluster.",
        "Upgrade the flux-operator to [the release shown](flux-operator.md) first, or set [`flux-operator: change`](../how-to/several-pins.md#the-flux-operator).",
        Effect(holds_cluster=True, pull_request=OpenPullRequest.DRAFT),
    )
    LIMITED = (
        "limited",
        "The pull request waits for room under `limits`, for the next run, or for GitHub's rate limit.",
        "Merge or close open pull requests, or change [`limits`](config.md#keys).",
        Effect(is_wait=True),
    )
    IN_MERGE_QUEUE = (
        "in-merge-queue",
        "The pull request is in GitHub's merge queue. flux-upgrade does not change, convert or close it there.",
        "Wait until it is merged, or remove it from the queue.",
        Effect(is_wait=True),
    )
    OUTSIDE_SCHEDULE = (
        "outside-schedule",
        "The time is outside the configured `schedule`. The pull request is not opened, or stays a draft, until then.",
        "Wait for the time shown, approve the version, or mark the draft as ready: see [Merge windows](../how-to/merge-windows.md).",
        Effect(is_wait=True),
    )
    BRANCH_EDITED = (
        "branch-edited",
        "Another user pushed to the pull request's branch. flux-upgrade no longer updates it.",
        "Merge or close the pull request. To recreate the branch, tick **rebase** or add the label `flux-upgrade/rebase`.",
    )
    BRANCH_BLOCKED = (
        "branch-blocked",
        "Another branch, a pull request of another account, or a rule of the repository blocks the branch of flux-upgrade.",
        "Rename or delete the branch shown, close the pull request shown, or exempt the branches of flux-upgrade from the rule.",
    )
    OWNED_BY_TERRAFORM = (
        "owned-by-terraform",
        "Terraform's `flux_bootstrap_git` resource writes this file and would undo the upgrade.",
        "Change the version in the line shown: see [Other bots](../how-to/other-bots.md#terraform).",
        Effect(holds_cluster=True, is_of_file=True),
    )
    FOLLOWS = (
        "follows",
        "The version reference is updated together with its cluster, and the cluster waits.",
        "Unblock the cluster. The reference needs nothing else.",
        Effect(is_wait=True, is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    CLUSTER_HELD = (
        "cluster-held",
        "Another version reference of this cluster cannot be updated.",
        "Fix that reference, or add its file to `ignore`.",
    )
    DRIFT = (
        "drift",
        "The version reference is newer than its cluster. flux-upgrade never downgrades it.",
        "Wait until the cluster has caught up, or restore the older version.",
        Effect(is_wait=True, is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    CLI_SKEW = (
        "cli-skew",
        "No version of the Flux CLI is within one minor version of all clusters that use it.",
        "Upgrade the oldest cluster, or give its tools a separate version.",
    )
    FLOATING = (
        "floating",
        "The version is not fixed: it is a branch, `latest`, or missing.",
        "Set an exact version if flux-upgrade should update it.",
        Effect(is_wait=True, is_expected=True, pull_request=OpenPullRequest.CLOSED),
    )
    UNSUPPORTED_PIN = (
        "unsupported-pin",
        "The version is written in a form that flux-upgrade cannot read or safely change, such as a variable, a template or an anchor.",
        "Write a plain version, or add the file to `ignore`. Other references of the cluster wait for it.",
        Effect(
            exit_codes=f"0, or {errors.UnsupportedPin.exit_code} if it is found while the file is changed",
            raised=(errors.UnsupportedPin,),
            holds_cluster=True,
        ),
    )
    HOST_NOT_ALLOWED = (
        "host-not-allowed",
        "The version is at a host that your repository names and that flux-upgrade does not contact: it has no public address, or uses plain http.",
        "Allow the host shown: see [Network](network.md#allow-a-host).",
        Effect(
            exit_codes=f"0, or {errors.HostNotAllowed.exit_code} if it is found while the file is changed",
            raised=(errors.HostNotAllowed,),
            holds_cluster=True,
        ),
    )
    SOURCE_UNAVAILABLE = (
        "source-unavailable",
        "A registry or chart repository is unreachable or denies access.",
        "Fix the access shown, then run flux-upgrade again. For images, see [Mirrors](../how-to/mirror-and-air-gap.md#images-on-a-mirror).",
        Effect(
            exit_codes=(
                f"{errors.SourceUnavailable.exit_code}, {errors.ForbiddenByRegistry.exit_code} if access is denied"
            ),
            raised=(errors.SourceUnavailable,),
            holds_cluster=True,
        ),
    )
    IMPLAUSIBLE_RELEASE = (
        "implausible-release",
        "The release source has another release under the target's name: its controllers or API versions are not those of that minor.",
        "Compare the release source with Flux's own releases, and repair it. No older patch is proposed instead.",
        Effect(raised=(errors.ImplausibleRelease,), holds_cluster=True),
    )
    UNTRUSTED_ARTIFACT = (
        "untrusted-artifact",
        "A registry or chart repository served content that does not match its digest.",
        "Check the registry and your network before you use anything from it.",
        Effect(raised=(errors.UntrustedArchive,), holds_cluster=True),
    )
    WORKFLOW_PERMISSION = (
        "workflow-permission",
        "The version is in a workflow file, which `GITHUB_TOKEN` cannot change.",
        "Give the Action a token with the `workflows` permission, or add the file to `ignore`.",
    )
    ORPHAN = (
        "orphan",
        "Nothing in this repository refers to this file. Something else may apply it.",
        "Reference it, or add it to `ignore` if nothing applies it. To upgrade it anyway, pass its path or `--to`.",
    )
    CHECKOUT_DIFFERS = (
        "checkout-differs",
        "The file in the checkout differs from the base branch.",
        "Run `git pull` if the checkout is behind. Otherwise, commit and push your change.",
        Effect(exit_codes=str(errors.CheckoutDiffers.exit_code), holds_cluster=True),
    )
    EDIT_CONFLICT = (
        "edit-conflict",
        "The target changes or removes a field that you edited manually.",
        "Choose a value for each field: see [Conflicts](../how-to/conflicts.md).",
        Effect(raised=(errors.EditConflict,), holds_cluster=True),
    )
    CONTROLLER_NEWER = (
        "controller-newer",
        "A controller in the file is newer than in the target. flux-upgrade never downgrades it.",
        "Upgrade to the release shown. If none is shown, wait for the next release.",
        Effect(
            exit_codes=f"{errors.Downgrade.exit_code} with `--to`, otherwise 0",
            raised=(errors.Downgrade,),
            holds_cluster=True,
        ),
    )
    DOWNGRADE = (
        "downgrade",
        "The requested version is older than the installed one.",
        "Request a newer version, or restore an older manifest from Git. Check the stored API versions first.",
        Effect(exit_codes=str(errors.Downgrade.exit_code)),
    )
    UNREADABLE = (
        "unreadable",
        "The file is damaged, or is not exactly one Flux manifest. Or its path is not UTF-8, so no pull request can name it.",
        "Fix the lines listed, or rename the file or directory.",
        Effect(raised=(errors.Unreadable,), holds_cluster=True),
    )
    UNVERIFIED = (
        "unverified",
        "The manifest could not be verified against any Flux release (Flux v0, a development build, `install.yaml`). Or another version reference names Flux v0.",
        "Follow the message. It names the step for the case.",
        Effect(raised=(errors.Unverified,), holds_cluster=True),
    )
    UNSUPPORTED_RELEASE = (
        "unsupported-release",
        "The target is newer than this flux-upgrade supports and could not be verified. Or it does not ship a component in `flags`.",
        "Update flux-upgrade, or add the `flux` CLI of that version to `PATH`. If Flux is still publishing the release, run flux-upgrade again later.",
        Effect(
            exit_codes=(
                f"{errors.UnsupportedRelease.exit_code}, {errors.UsageError.exit_code} for a component; "
                "0 if it is not published yet and `--to` is not set"
            ),
            raised=(errors.ReleaseNotFound, errors.UnsupportedRelease),
            passing=(errors.ReleaseNotFound,),
            holds_cluster=True,
        ),
    )
    UNEXPECTED = (
        "unexpected",
        "A bug in flux-upgrade: this cluster could not be planned. The others were.",
        "Report the bug with the message and the file.",
        Effect(raised=(errors.Unexpected,), holds_cluster=True),
    )
