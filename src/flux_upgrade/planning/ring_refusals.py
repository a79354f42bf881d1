"""Find what keeps a group from a release until a user acts: settings, answers of users, and plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import UpdateGroup, branches_of
from flux_upgrade.config.config import Config
from flux_upgrade.model.forge import Repository
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Role
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.ring_members import installing
from flux_upgrade.policy.decision import BumpKind, Feedback, Hold
from flux_upgrade.policy.feedback import feedback_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump

_GONE_BACK = (HoldReason.REVERTED, HoldReason.GROUP_REVERTED, HoldReason.ROLLED_BACK)


class Refusals:
    """The groups of a repository by name. ``repository``: None if there is only a checkout."""

    def __init__(self, groups: Mapping[str, UpdateGroup], config: Config, repository: Repository | None) -> None:
        self._groups, self._config, self._repository = groups, config, repository
        self._plans: dict[str, list[Sequence[Plan]]] = {}

    def add(self, update_group: UpdateGroup, plans: Sequence[Plan]) -> None:
        """Add what is planned for a cluster of a group."""
        self._plans.setdefault(update_group.group.name, []).append(plans)

    def refusal(self, name: str, target: Version) -> str:
        """Return why a group never gets a release by itself, a clause; empty: it may."""
        group = self._groups.get(name)
        if group is None:
            return ""
        policy = group.group.governance.policy
        if policy.bump is MaxBump.NONE:
            return f"{name} has policy none"
        if policy.range is not None and not policy.range.allows(target):
            return f"{target} is outside of the range of {name}"
        for rejection in (each for member in _members(group) for each in self.feedback(group, member).rejections):
            is_same_minor = rejection.bump_kind is BumpKind.MINOR and rejection.target.minor == target.minor
            if rejection.reason is HoldReason.CLOSED_BY_HUMAN and (rejection.target == target or is_same_minor):
                return f"a user closed {rejection.where}"
        return next(filter(None, (_planned(name, plans, target) for plans in self._plans.get(name, ()))), "")

    def feedback(self, group: UpdateGroup, member: Member) -> Feedback:
        """Return the answers of users about the upgrades of a version reference."""
        if self._repository is None:
            return Feedback()
        return feedback_of(
            [self._repository.branches[each] for each in branches_of(group, self._config)],
            self._repository.issues,
            group=group.slug,
            path=member.path,
            current=member.pin.version,
            asked=(),
            former=self._repository.former,
        )


def _members(group: UpdateGroup) -> Iterator[Member]:
    return (member for cluster in group.clusters for member in installing(cluster))


def _planned(name: str, plans: Sequence[Plan], target: Version) -> str:
    """Return what keeps a cluster from a release, as planned: a clause; empty: nothing that needs a user."""
    decisions = [each for plan in plans if plan.pin.role is Role.INSTALLS for each in plan.decisions]
    upgrades = [each for each in decisions if isinstance(each, Upgrade) and each.target == target]
    if any(each.is_stuck for each in upgrades):
        return f"the upgrade of {name} waits for a group that needs you"
    if any(not each.is_accepted for each in upgrades):
        return f"the pull request of {name} would break something"
    holds = (each for each in decisions if isinstance(each, Hold) and each.target in (target, ""))
    needing = (each for each in holds if not each.reason.effect.is_wait or each.reason in _GONE_BACK)
    reason = next((each.reason for each in needing), None) if not upgrades else None
    return f"{name} is held: {reason}" if reason is not None else ""
