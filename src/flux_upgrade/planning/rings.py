"""Groups that come after others: what those have passed and reverted, and which upgrades wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup, branches_of
from flux_upgrade.clusters.sync import sync_of
from flux_upgrade.config.config import Config
from flux_upgrade.model.forge import PullRequest, PullState, Repository
from flux_upgrade.model.markers import MarkerState, WayBack, ring_entry
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version, is_tag
from flux_upgrade.pins.pin import PinState, Role
from flux_upgrade.planning.plan import GroupWait, Plan, Terms, Upgrade
from flux_upgrade.policy.decision import BumpKind, Feedback, Hold, OnFailure, Rejection, Ring
from flux_upgrade.policy.feedback import feedback_of, state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Pending
from flux_upgrade.policy.ring_facts import RingFacts, RingReport, RingState, Sync
from flux_upgrade.policy.rings import Obstacle, obstacle, passed_by_all, report_of
from flux_upgrade.snapshot.snapshot import Snapshot

_SETTLED = (PinState.EXACT, PinState.UNKNOWN)  # What is a range or floats says nothing of the release that runs
_UPGRADES = set(BumpKind) - {BumpKind.MIGRATION}


class FailedUpgrade(NamedTuple):
    """A merged pull request after which Flux reports a failure."""

    update_group: UpdateGroup
    report: RingReport
    pull: PullRequest
    state: MarkerState
    waiting: tuple[str, ...]  # Names of the groups that come after

    @property
    def asks_for_revert(self) -> bool:
        return self.update_group.group.ring.on_failure is OnFailure.REVERT

    @property
    def way_back(self) -> WayBack:
        """As it was when the pull request was last updated."""
        return WayBack(self.state.way_back) if self.state.way_back in set(WayBack) else WayBack.UNKNOWN

    @property
    def is_revertible(self) -> bool:
        """Whether the upgrade is the cause, GitHub can make the revert, and the cluster accepts it."""
        is_possible = self.way_back is WayBack.SAFE and not self.report.is_changed
        return self.asks_for_revert and is_possible and not self.report.succeeded


class Rings:
    """The groups of a repository, as far as one comes after another.

    ``repository``: None if there is only a checkout. ``tree``: None if only a part of the repository was read.
    """

    def __init__(
        self,
        update_groups: Iterable[UpdateGroup],
        config: Config,
        repository: Repository | None,
        now: datetime,
        tree: Snapshot | None = None,
    ) -> None:
        self._groups = {each.group.name: each for each in update_groups if each.group.name}
        self._config, self._repository, self._now, self._tree = config, repository, now, tree
        self._reports: dict[str, tuple[RingReport, ...]] = {}

    def reports(self, update_group: UpdateGroup) -> tuple[RingReport, ...]:
        """How far each group is that this one comes after."""
        name, ring = update_group.group.name, update_group.group.ring
        if name not in self._reports:
            self._reports[name] = tuple(self._report(before, ring) for before in ring.after)
        return self._reports[name]

    def failures(self) -> Iterator[FailedUpgrade]:
        """The upgrades of groups in which Flux reports a failure, and that others wait for."""
        found: dict[str, FailedUpgrade] = {}
        for update_group in self._groups.values():
            for report in self.reports(update_group):
                if report.state is not RingState.FAILING:
                    continue
                group = self._groups[report.name]
                merged = next((each for each in self._merged(group) if each[1].target == report.version), None)
                if merged is not None:
                    waiting = found[report.name].waiting if report.name in found else ()
                    names = (*waiting, update_group.group.name)
                    found[report.name] = FailedUpgrade(group, report, *merged, names)
        yield from found.values()

    def terms(self, terms: Terms, update_group: UpdateGroup, current: Version) -> Terms:
        """``terms`` of an installation at ``current``, with what the groups before have passed and reverted."""
        if not update_group.group.ring.after or terms.to:
            return terms
        governance, feedback = terms.governance, terms.feedback
        free = (passed_by_all(self.reports(update_group)), *self._unwaited(update_group, feedback))
        passed = max(filter(None, free), default=NO_VERSION)
        policy = governance.policy._replace(passed=passed)
        reverted = (each for name in update_group.group.ring.after for each in self._reverted(name, current))
        return terms._replace(
            governance=governance._replace(policy=policy),
            feedback=feedback._replace(rejections=(*feedback.rejections, *reverted)),
        )

    def waiting(self, plan: Plan, update_group: UpdateGroup, terms: Terms) -> Plan:
        """``plan`` with the upgrades that wait: as drafts, or held where there are none."""
        if not update_group.group.ring.after or terms.to or not plan.upgrades:
            return plan
        return plan._replace(decisions=tuple(self._waiting(each, update_group, terms) for each in plan.decisions))

    def _unwaited(self, update_group: UpdateGroup, feedback: Feedback) -> Iterator[Version]:
        """The releases in open pull requests with which a user does not want to wait."""
        branches = self._repository.branches if self._repository is not None else {}
        names = branches_of(update_group, self._config) if branches else ()
        for pull in filter(None, (branches[name].open_pull for name in names)):
            state = state_of(pull)
            if state and _box(update_group, state.target) in feedback.accepted:
                yield state.target

    def _waiting(self, upgrade: Upgrade | Hold, update_group: UpdateGroup, terms: Terms) -> Upgrade | Hold:
        if isinstance(upgrade, Hold):
            return upgrade
        group, target = update_group.group, upgrade.target
        obstacles = [self._obstacle(each, target) for each in self.reports(update_group) if each.passed != target]
        why, is_stuck = tuple(each.text for each in obstacles), any(each.is_stuck for each in obstacles)
        is_ended = _box(update_group, target) in terms.feedback.accepted
        has_draft = self._repository is not None and group.governance.policy.pending is Pending.DRAFT
        # The answer to a wait that is over is kept: it may begin again.
        if upgrade.bump_kind is BumpKind.MIGRATION or not (why or (is_ended and has_draft)):
            return upgrade
        if has_draft:
            return upgrade._replace(wait=GroupWait(group.ring.after, why, is_ended, is_stuck))
        hint = f"upgrade {' and '.join(group.ring.after)} first, or set the version with --to {target}"
        return Hold(HoldReason.WAITS_FOR_GROUP, "; ".join(why), hint, None, upgrade.bump_kind, target)

    def _obstacle(self, report: RingReport, target: Version) -> Obstacle:
        state = obstacle(report, target)
        is_behind = not report.version or report.version < target
        refusal = self._refusal(report.name, target) if is_behind and not state.is_stuck else ""
        return Obstacle(f"{state.text}, and {refusal}", is_stuck=True) if refusal else state

    def _refusal(self, name: str, target: Version) -> str:
        """Return why a group never gets a release by itself, a clause; empty: it may."""
        group = self._groups.get(name)
        if group is None:
            return ""
        policy = group.group.governance.policy
        if policy.bump is MaxBump.NONE:
            return f"{name} has policy none"
        if policy.range is not None and not policy.range.allows(target):
            return f"{target} is outside of the range of {name}"
        members = [member for cluster in group.clusters for member in _installing(cluster)]
        for rejection in (rejection for member in members for rejection in self._feedback(group, member).rejections):
            is_same_minor = rejection.bump_kind is BumpKind.MINOR and rejection.target.minor == target.minor
            if rejection.reason is HoldReason.CLOSED_BY_HUMAN and (rejection.target == target or is_same_minor):
                return f"a user closed {rejection.where}"
        return ""

    def _report(self, name: str, ring: Ring) -> RingReport:
        group = self._groups.get(name)
        if group is None:
            return RingReport(
                name, RingState.UNKNOWN, detail=f"the group {name} has no installation here", is_stuck=True
            )
        members = [member for cluster in group.clusters for member in _installing(cluster)]
        versions = tuple(_version(cluster) for cluster in group.clusters if not cluster.is_tools)
        repository = self._repository
        if repository is None:
            # Of a checkout only the order is known.
            return report_of(RingFacts(name, versions), (), None, self._now)
        parts = [part for each in members for part in each.pin.files(each.path)]
        files = [(repository.files.get(part.path), part.content) for part in parts]
        if not all(file is not None and file.holds(content) for file, content in files):
            return RingReport(
                name, RingState.UNKNOWN, detail=f"{name} differs between this checkout and the base branch"
            )
        merged = self._merged(group)
        facts = RingFacts(
            name,
            versions,
            tuple(dict.fromkeys(member.path for member in members)),
            max((pull.closed_at for pull, state in merged if state.target in versions), default=""),
            group.group.ring.healthy,
            tuple(self._syncs(group)),
        )
        return report_of(facts, repository.commits, ring.soak, self._now)

    def _syncs(self, group: UpdateGroup) -> Iterator[Sync]:
        if self._tree is not None and group.group.ring.healthy is not None:
            for cluster in group.clusters:
                yield sync_of(cluster, self._tree)

    def _merged(self, group: UpdateGroup) -> list[tuple[PullRequest, MarkerState]]:
        """The upgrades of a group that were merged, newest first."""
        branches = self._repository.branches if self._repository is not None else {}
        pulls = (pull for name in branches_of(group, self._config) for pull in branches[name].pulls)
        found = [(pull, state) for pull in pulls if pull.state is PullState.MERGED and (state := state_of(pull))]
        ours = [each for each in found if each[1].subject in _UPGRADES]
        return sorted(ours, key=lambda each: each[0].number, reverse=True)

    def _reverted(self, name: str, current: Version) -> Iterator[Rejection]:
        """What a group before has merged and reverted, as a rejection of what it would be here."""
        group = self._groups.get(name)
        if group is None or self._repository is None:
            return
        for cluster in group.clusters:
            for member in _installing(cluster):
                for each in self._feedback(group, member).rejections:
                    if each.reason is HoldReason.REVERTED and each.target > current:
                        bump_kind = BumpKind.between(current, each.target)
                        where = f"{each.where} ({name})"
                        yield each._replace(bump_kind=bump_kind, reason=HoldReason.GROUP_REVERTED, where=where)

    def _feedback(self, group: UpdateGroup, member: Member) -> Feedback:
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


def _box(update_group: UpdateGroup, target: Version) -> str:
    return ring_entry(update_group.slug, target, update_group.group.ring.after)


def watched(update_groups: Sequence[UpdateGroup]) -> tuple[str, ...]:
    """The files of the groups whose health and age matter now: another group is behind them, and comes after."""
    by_name = {each.group.name: each for each in update_groups if each.group.name}
    paths: dict[str, None] = {}
    for group in update_groups:
        for before in filter(None, map(by_name.get, group.group.ring.after)):
            ahead, behind = [*_versions(before)], [*_versions(group)]
            if ahead and (not behind or max(ahead) > min(behind)):
                paths |= dict.fromkeys(member.path for cluster in before.clusters for member in _installing(cluster))
    return tuple(sorted(paths))


def _installing(cluster: Cluster) -> list[Member]:
    return [each for each in cluster.members if each.pin.role is Role.INSTALLS and each.pin.state in _SETTLED]


def _version(cluster: Cluster) -> str:
    """The release of a cluster; empty where it has none, or more than one."""
    versions = {member.pin.version for member in _installing(cluster)}
    version = versions.pop() if len(versions) == 1 else ""
    return version if is_tag(version) else ""


def _versions(group: UpdateGroup) -> Iterator[Version]:
    found = (_version(cluster) for cluster in group.clusters if not cluster.is_tools)
    return (Version(each) for each in found if each)
