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
from flux_upgrade.policy.decision import BumpKind, Feedback
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
        group, plans = self._groups.get(name), self._plans.get(name, [])
        if group is None:
            return ""
        if plans and all(any(upgrade.approved for upgrade in _upgrades(each, target)) for each in plans):
            return next(filter(None, (_stuck(name, each, target) for each in plans)), "")
        policy = group.group.governance.policy
        if policy.bump is MaxBump.NONE:
            return f"{name} has policy none"
        if policy.range is not None and not policy.range.allows(target):
            return f"{target} is outside of the range of {name}"
        answers = (_declined(name, member, self.feedback(group, member), target) for member in _members(group))
        planned = (_stuck(name, each, target) or _held(name, each, target) for each in plans)
        return next(filter(None, (*answers, *planned)), "")

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


def _declined(name: str, member: Member, feedback: Feedback, target: Version) -> str:
    """Return the answer that keeps a version reference from a release, a clause; empty: there is none."""
    current = Version.parse(member.pin.version)
    kind = BumpKind.between(current, target) if current is not None and current < target else BumpKind.PATCH
    for rejection in feedback.rejections:
        is_same_minor = kind is not BumpKind.PATCH and rejection.target.minor == target.minor
        if rejection.bump_kind is not kind or not (rejection.target == target or is_same_minor):
            continue
        if rejection.reason is HoldReason.CLOSED_BY_HUMAN:
            return f"a user closed {rejection.where}"
        if rejection.reason in _GONE_BACK and rejection.target == target:
            return f"{name} has gone back from {target}: {rejection.where}"
    return ""


def _upgrades(plans: Sequence[Plan], target: Version | None = None) -> list[Upgrade]:
    """Return the upgrades of a cluster, to one release or to any."""
    found = (each for plan in plans if plan.pin.role is Role.INSTALLS for each in plan.upgrades)
    return [each for each in found if each.bump_kind is not BumpKind.MIGRATION and target in (None, each.target)]


def _stuck(name: str, plans: Sequence[Plan], target: Version) -> str:
    """Return what keeps the upgrade of a cluster from being merged, a clause; empty: nothing that needs a user."""
    upgrades = _upgrades(plans, target)
    if any(each.is_stuck for each in upgrades):
        return f"the upgrade of {name} waits for a group that needs you"
    return f"the pull request of {name} would break something" if any(not each.is_accepted for each in upgrades) else ""


def _held(name: str, plans: Sequence[Plan], target: Version) -> str:
    """Return what holds a cluster, a clause; empty: nothing that needs a user."""
    if _upgrades(plans, target):
        return ""
    is_still = not _upgrades(plans)
    holds = (each for plan in plans if plan.pin.role is Role.INSTALLS for each in plan.holds)
    needing = (each for each in holds if not each.reason.effect.is_wait or each.reason in _GONE_BACK)
    reason = next((each.reason for each in needing if is_still or each.target in (target, "")), None)
    return f"{name} is held: {reason}" if reason is not None else ""
