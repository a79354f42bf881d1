"""Preflight checks: what keeps a plan from being carried out, whatever was decided.

That is another writer, a checkout that differs, the token's permissions, and a pin of the same cluster set
that cannot move: manifests and pins of a cluster move all or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flux_upgrade.clusters.clusters import OF_CLUSTERS, WORKFLOWS, Cluster, Member
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.model.errors import CheckoutDiffers, Unreadable
from flux_upgrade.model.text import is_utf8, one_line
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.files import Checkout
    from flux_upgrade.model.forge import Repository

JOBS_OWN = "github-actions[bot]"
"""Who the token is that every job gets: pull requests of its own run no workflows at once."""


class PreflightChecks(NamedTuple):
    """What is known of the repository when a plan has been made."""

    repository: Repository | None  # None: nobody was asked
    ownership: Ownership
    members: Sequence[Member]  # Of all clusters
    checkout: Checkout
    writes: bool
    is_asked: bool  # A release was asked for by name: other writers are the user's to see to

    def checked(self, plan: Plan, cluster: Cluster, *, has_open: bool) -> Plan:
        """Return the plan with a hold for each upgrade that cannot be made.

        ``has_open``: its pull request may be closed now.
        """
        # What another file than the base's makes superfluous is not closed.
        hold = self._differs(plan) if plan.upgrades or has_open else None
        if hold is not None:
            return plan._replace(decisions=(hold,), tried={})
        holds = [self._owned(each, plan, cluster) or self._forbidden(each, plan) for each in plan.upgrades]
        if not any(holds):
            return plan
        waiting = iter(holds)
        decisions = tuple((isinstance(each, Upgrade) and next(waiting)) or each for each in plan.decisions)
        return plan._replace(decisions=decisions)

    def differing(self, plan: Plan) -> Plan:
        """The plan of a file whose resources are moved, held where the base has another one."""
        hold = self._differs(plan)
        return plan if hold is None else plan._replace(decisions=(hold,))

    def _differs(self, plan: Plan) -> Hold | None:
        if self.repository is None:
            return None
        files, moved = self.repository.files, [file for each in plan.upgrades for file in each.moved]
        parts = plan.pin.files(plan.path)
        changed = [*(part.path for part in parts), *(file.path for file in moved)] if plan.upgrades else []
        for path in changed:
            if not is_utf8(path):  # an API takes text alone
                what = f"{one_line(path)} has a name that is not UTF-8, so no pull request can change it"
                return Hold(HoldReason.UNREADABLE, what, "rename the file or directory", Unreadable)
        if not self.writes:
            return None
        for path, content in (*parts, *((file.path, file.content) for file in moved)):
            # Files that are moved are asked about once it is known that they are.
            if path in files and not files[path].holds(content):
                why = self.checkout.explain(path, self.repository.base_oid)
                return Hold(HoldReason.CHECKOUT_DIFFERS, why.message, why.hint, CheckoutDiffers)
        return None

    def _forbidden(self, upgrade: Upgrade, plan: Plan) -> Hold | None:
        """The token of a job can have every permission but this one (docs.github.com, GITHUB_TOKEN)."""
        viewer = self.repository.viewer if self.repository is not None else ""
        if viewer != JOBS_OWN or not plan.path.startswith(WORKFLOWS):
            return None
        return Hold(
            HoldReason.WORKFLOW_PERMISSION,
            "GITHUB_TOKEN cannot change a workflow",
            "give the Action a GitHub App token or a fine-grained token with the `workflows` permission, or add "
            f"{plan.path} to `ignore` in the config file",
        ).of(upgrade.bump)

    def _owned(self, upgrade: Upgrade, plan: Plan, cluster: Cluster) -> Hold | None:
        """The hold of a manifest that Terraform writes, and of Terraform's pin that may write another."""
        if self.is_asked:
            return None
        if plan.pin.kind == "terraform":
            return self._unsettled(upgrade, plan, cluster)
        if not plan.pin.is_manifest:
            return None
        history: Sequence[str] | Unknown = Unknown("the Git host was not asked for the commits of the file")
        if self.repository is not None:
            history = self.repository.files[plan.path].history
        # Terraform's pin says the release, and nothing of flags.
        pins = [each.pin for each in cluster.members] if plan.pin.version != upgrade.target else []
        hold = self.ownership.other_writer(plan.path, upgrade.target, history, pins)
        if hold is None:
            return None
        later = upgrade.impact.upgrade_path[1:] if upgrade.impact is not None else ()
        hint = hold.hint if upgrade.approved else f"{hold.hint}, if you approve this {upgrade.bump_kind}"
        hint += f". Once it runs, continue with {', then '.join(later)}" if later else ""
        return hold._replace(bump_kind=upgrade.bump_kind, hint=hint, needs_approval=not upgrade.approved)

    def _unsettled(self, upgrade: Upgrade, plan: Plan, cluster: Cluster) -> Hold | None:
        elsewhere = (member.path for member in self.members if member.pin.is_manifest and member not in cluster.members)
        path = next((path for path in elsewhere if self.ownership.is_writer(plan.pin, path)), None)
        if path is None:
            return None
        return Hold(
            HoldReason.OWNED_BY_TERRAFORM,
            f"Terraform may write {path}: the resource's `path` is not a fixed value",
            "set the resource's `path` to the cluster's directory",
        ).of(upgrade.bump)


def hold_cluster_set(plans: Sequence[Plan], *, is_asked: bool = False) -> tuple[Plan, ...]:
    """The plans of a cluster, each kind of bump held for all of them if one cannot follow.

    A pin of the CLI is no part of the cluster: if it cannot move, that holds nothing else. If the user asked
    for a release by name (``is_asked``), only errors hold the others.
    """
    blocks = [
        (plan, hold)
        for plan in plans
        if plan.pin.role in OF_CLUSTERS
        for hold in plan.holds
        # An error is in the way of whoever asks, too.
        if hold.reason.effect.holds_cluster and (not is_asked or hold.error is not None)
    ]
    if not blocks:
        return tuple(plans)
    return tuple(
        plan._replace(decisions=tuple(_unless_blocked(each, plan, blocks) for each in plan.decisions)) for plan in plans
    )


def _unless_blocked(decision: Upgrade | Hold, own: Plan, blocks: Iterable[tuple[Plan, Hold]]) -> Upgrade | Hold:
    if isinstance(decision, Hold):
        return decision
    for plan, hold in blocks:
        if plan is own:
            continue
        if not hold.target or hold.bump_kind is decision.bump_kind or hold.reason.effect.is_of_file:
            return Hold(
                HoldReason.CLUSTER_HELD,
                f"{plan.pin.place(plan.path)} in the same cluster cannot be updated: {hold.reason}",
                f"fix {plan.path} first, or add it to `ignore` in the config file",
            ).of(decision.bump)
    return decision
