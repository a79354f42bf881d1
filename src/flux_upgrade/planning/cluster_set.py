"""What a cluster's pins have in common: they move as a set, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.clusters.clusters import OF_CLUSTERS, role_of
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Hold, HoldReason

_BLOCKING = frozenset(
    {
        HoldReason.BLOCKED_BY_API_REMOVAL,
        HoldReason.CHECKOUT_DIFFERS,
        HoldReason.COMPONENT_IN_USE,
        HoldReason.CONTROLLER_NEWER,
        HoldReason.IMAGES_MISSING,
        HoldReason.KUBERNETES_TOO_OLD,
        HoldReason.MIGRATION_PENDING,
        HoldReason.OVERLAY_BREAKS,
        HoldReason.OWNED_BY_TERRAFORM,
        HoldReason.RESIDUE_CONFLICT,
        HoldReason.SOURCE_UNAVAILABLE,
        HoldReason.UNPROVED,
        HoldReason.UNREADABLE,
        HoldReason.UNSUPPORTED_PIN,
        HoldReason.UNSUPPORTED_RELEASE,
        HoldReason.UNTRUSTED_ARTIFACT,
    }
)
"""Reasons that something is in the way of a pin; with any other it stands where it should."""
_OF_THE_FILE = frozenset({HoldReason.OWNED_BY_TERRAFORM})
"""Those that hold for every release, and name one as an example."""


def together(plans: Sequence[Plan], *, is_asked: bool = False) -> tuple[Plan, ...]:
    """The plans of a cluster, each subject held for all of them where one cannot follow.

    A pin of the CLI is no part of the cluster: that it cannot move keeps nothing else. Whoever asked for
    a release by name (``is_asked``) sees by themselves to what cannot be told.
    """
    blocks = [
        (plan, hold)
        for plan, hold in _blocks(plans)
        # An error is in the way of whoever asks, too.
        if not is_asked or hold.error is not None
    ]
    return tuple(_held(plan, blocks) for plan in plans) if blocks else tuple(plans)


def _held(plan: Plan, blocks: Sequence[tuple[Plan, Hold]]) -> Plan:
    others = [(other, hold) for other, hold in blocks if other is not plan]
    decisions = tuple(
        _unless_blocked(each, others) if isinstance(each, Upgrade) else each for each in plan.decisions
    )
    return plan._replace(decisions=decisions)


def _unless_blocked(upgrade: Upgrade, others: Sequence[tuple[Plan, Hold]]) -> Upgrade | Hold:
    for plan, hold in others:
        is_about_it = not hold.target or hold.subject is upgrade.subject or hold.reason in _OF_THE_FILE
        if not is_about_it:
            continue
        place = f"{plan.path}:{plan.line}" if plan.line else plan.path
        return Hold(
            HoldReason.CLUSTER_HELD,
            f"{place} is of the same cluster and cannot move: {hold.reason}",
            f"see to it first, or list {plan.path} under `ignore` in the config file",
            subject=upgrade.subject,
            target=upgrade.target,
        )
    return upgrade


def _blocks(plans: Sequence[Plan]) -> Iterator[tuple[Plan, Hold]]:
    for plan in plans:
        if role_of(plan.installation) in OF_CLUSTERS:
            for hold in plan.holds:
                if hold.reason in _BLOCKING:
                    yield plan, hold
