"""Groups that come after others: what those have passed and reverted, and which upgrades wait for them."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from datetime import datetime

from flux_upgrade.clusters.groups import UpdateGroup, branches_of
from flux_upgrade.clusters.sync import sync_of
from flux_upgrade.config.config import Config
from flux_upgrade.model.forge import PullRequest, PullState, Repository
from flux_upgrade.model.markers import MarkerState, digest_of, ring_entry
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.planning.failed_upgrade import FailedUpgrade
from flux_upgrade.planning.kept_release import behind
from flux_upgrade.planning.plan import GroupWait, Plan, Terms, Upgrade
from flux_upgrade.planning.ring_members import installing, version_of
from flux_upgrade.planning.ring_records import Records, records_of
from flux_upgrade.planning.ring_refusals import Refusals
from flux_upgrade.policy.decision import BumpKind, Feedback, Hold, Rejection, Ring
from flux_upgrade.policy.feedback import state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import Pending
from flux_upgrade.policy.ring_facts import RingFacts, RingReport, RingState, Sync
from flux_upgrade.policy.rings import Obstacle, obstacle, passed_by_all, report_of
from flux_upgrade.snapshot.snapshot import Snapshot

_UPGRADES = set(BumpKind) - {BumpKind.MIGRATION}


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
        self._refusals = Refusals(self._groups, config, repository)

    def reports(self, update_group: UpdateGroup) -> tuple[RingReport, ...]:
        """How far each group is that this one comes after."""
        name, ring = update_group.group.name, update_group.group.ring
        if name not in self._reports:
            records = records_of(update_group, self._config, self._repository)
            is_draft = update_group.group.governance.policy.pending is Pending.DRAFT
            self._reports[name] = tuple(self._report(before, ring, records, is_draft=is_draft) for before in ring.after)
        return self._reports[name]

    def rank(self, update_group: UpdateGroup) -> int:
        """Return how many groups one after the other come before a group, at most."""
        before = map(self._groups.get, update_group.group.ring.after)
        return max((self.rank(each) + 1 for each in before if each is not None), default=0)

    def add_plans(self, update_group: UpdateGroup, plans: Sequence[Plan]) -> None:
        """Add what is planned for a cluster of a group, for the groups after it."""
        self._refusals.add(update_group, plans)

    def memories(self, update_group: UpdateGroup) -> tuple[str, ...]:
        """Return what the next run has to know of the groups before, ``MarkerState.rings``."""
        if self._repository is None:
            return ()
        return tuple(each.memory.entry(each.name) for each in self.reports(update_group) if each.memory is not None)

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
        if terms.to or not plan.upgrades or not update_group.group.ring.after:
            return plan
        accepted = terms.feedback.accepted
        return plan._replace(decisions=tuple(self._waiting(each, update_group, accepted) for each in plan.decisions))

    def keeping(self, plan: Plan, update_group: UpdateGroup, stable: Container[str]) -> Plan:
        """``plan`` with the upgrades that wait for the groups after this one. All groups are planned.

        ``stable``: the releases that may be proposed.
        """
        after = {each.group.name: self.reports(each) for each in self._next(update_group)} if plan.upgrades else {}
        obstacles = behind(update_group.group.name, self._groups, after, self._refusals, stable)
        if not obstacles:
            return plan
        members = (member for cluster in update_group.clusters for member in cluster.members)
        feedbacks = (self._refusals.feedback(update_group, member) for member in members if member.path == plan.path)
        accepted = [entry for feedback in feedbacks for entry in feedback.accepted]
        decisions = (self._with_wait(each, update_group, obstacles, accepted) for each in plan.decisions)
        return plan._replace(decisions=tuple(decisions))

    def _unwaited(self, update_group: UpdateGroup, feedback: Feedback) -> Iterator[Version]:
        """The releases in open pull requests with which a user does not want to wait."""
        branches = self._repository.branches if self._repository is not None else {}
        names = branches_of(update_group, self._config) if branches else ()
        for pull in filter(None, (branches[name].open_pull for name in names)):
            state = state_of(pull)
            if state and self._box(update_group, state.target) in feedback.accepted:
                yield state.target

    def _waiting(
        self, decision: Upgrade | Hold, update_group: UpdateGroup, accepted: Collection[str]
    ) -> Upgrade | Hold:
        if isinstance(decision, Hold):
            return decision
        target = decision.target
        obstacles = [self._obstacle(each, target) for each in self.reports(update_group) if each.passed != target]
        return self._with_wait(decision, update_group, obstacles, accepted)

    def _with_wait(
        self,
        upgrade: Upgrade | Hold,
        update_group: UpdateGroup,
        obstacles: Sequence[Obstacle],
        accepted: Collection[str],
    ) -> Upgrade | Hold:
        """Return a decision that also waits for what is in ``obstacles``."""
        if isinstance(upgrade, Hold):
            return upgrade
        group, target = update_group.group, upgrade.target
        before = upgrade.wait.why if upgrade.wait is not None else ()
        why = (*before, *(each.text for each in obstacles))
        is_stuck = any(each.is_stuck for each in obstacles) or (upgrade.wait is not None and upgrade.wait.is_stuck)
        is_ended = self._box(update_group, target) in accepted
        has_draft = self._repository is not None and group.governance.policy.pending is Pending.DRAFT
        # The answer to a wait that is over is kept: it may begin again.
        if upgrade.bump_kind is BumpKind.MIGRATION or not (why or (is_ended and has_draft)):
            return upgrade
        if has_draft:
            return upgrade._replace(wait=GroupWait(self._awaited(update_group), why, is_ended, is_stuck))
        hint = f"upgrade {' and '.join(self._awaited(update_group))} first, or set the version with --to {target}"
        return Hold(HoldReason.WAITS_FOR_GROUP, "; ".join(why), hint, None, upgrade.bump_kind, target)

    def _obstacle(self, report: RingReport, target: Version) -> Obstacle:
        state = obstacle(report, target)
        is_behind = not report.version or report.version < target
        refusal = self._refusals.refusal(report.name, target) if is_behind and not state.is_stuck else ""
        return Obstacle(f"{state.text}, and {refusal}", is_stuck=True) if refusal else state

    def _awaited(self, update_group: UpdateGroup) -> tuple[str, ...]:
        """Return the names of the groups that one may wait for."""
        return (*update_group.group.ring.after, *(each.group.name for each in self._next(update_group)))

    def _next(self, update_group: UpdateGroup) -> Iterator[UpdateGroup]:
        """Yield the groups that have to get the release of a group before it goes to another one."""
        if update_group.group.ring.one_release_at_a_time:
            yield from (each for each in self._groups.values() if update_group.group.name in each.group.ring.after)

    def _box(self, update_group: UpdateGroup, target: Version) -> str:
        return ring_entry(update_group.slug, target, self._awaited(update_group))

    def _report(self, name: str, ring: Ring, records: Records, *, is_draft: bool) -> RingReport:
        group = self._groups.get(name)
        unknown = RingReport(name, RingState.UNKNOWN, memory=records.memory(name))
        if group is None:
            return unknown._replace(detail=f"the group {name} has no installation here", is_stuck=True)
        members = [member for cluster in group.clusters for member in installing(cluster)]
        versions = tuple(version_of(cluster) for cluster in group.clusters if not cluster.is_tools)
        repository = self._repository
        if repository is None:
            # Of a checkout only the order is known.
            return report_of(RingFacts(name, versions), (), None, self._now)
        parts = [part for each in members for part in each.pin.files(each.path)]
        files = [(repository.files.get(part.path), part.content) for part in parts]
        if not all(file is not None and file.holds(content) for file, content in files):
            return unknown._replace(detail=f"{name} differs between this checkout and the base branch")
        merged = self._merged(group)
        paths = tuple(dict.fromkeys(member.path for member in members))
        dates = [repository.files[path].changed_at for path in paths]
        digest = digest_of("\0".join(f"{path} {repository.files[path].oid}" for path in paths))
        facts = RingFacts(
            name,
            versions,
            paths,
            max((pull.closed_at for pull, state in merged if state.target in versions), default=""),
            group.group.ring.healthy,
            tuple(self._syncs(group)),
            digest,
            max(dates) if dates and all(dates) else "",
            records.memory(name, digest),
            is_new=is_draft and records.is_kept and records.memory(name) is None,
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
            for member in installing(cluster):
                for each in self._refusals.feedback(group, member).rejections:
                    if each.reason is HoldReason.REVERTED and each.target > current:
                        bump_kind = BumpKind.between(current, each.target)
                        where = f"{each.where} ({name})"
                        yield each._replace(bump_kind=bump_kind, reason=HoldReason.GROUP_REVERTED, where=where)
