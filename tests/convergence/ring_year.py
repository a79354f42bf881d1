"""A year as in ``year``, with three groups that are upgraded one after the other.

What is judged besides: nothing becomes ready before the group before it has passed the release, and everything does
once it has; who fails is told once; and what was reverted goes no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from github_stand_in.model import Pull

from convergence.fleet import Fleet, manifest
from convergence.ring_rules import BEFORE, CLUSTERS, STAGING, Before, Ledger, Passing
from convergence.ring_user import RingUser
from convergence.runs import Ran
from convergence.year import Year
from convergence.year_memory import cluster_of, path_of, size_of, subject_of
from flux_upgrade.model import markers
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import Version

_FAILED = "<!-- flux-upgrade:failed "
_MAY_CHANGE = (0, 1, 2, 3, 4)
"""So many days after a file of Flux changed, each may differ from the one before: a soak ends."""


class RingYear(Year):
    begin, days = datetime(2025, 10, 1, 6, tzinfo=UTC), 240
    rarely = 1
    user: RingUser

    def __init__(self, fleet: Fleet, seed: int) -> None:
        released: list[str] = []
        self._ledger = Ledger(fleet)
        super().__init__(fleet, RingUser(fleet, seed, released, self._ledger), released)
        self._installed: dict[str, bytes] = {}
        self._commented: set[int] = set()
        """The merged pull requests that a comment of ours was found in."""

    def _attend(self, number: int) -> None:
        if self._publish():
            self._due |= {number, number + 7, number + 8}
        files = self._fleet.repository.files()
        installed = {each: files[path_of(each)] for each in CLUSTERS}
        if installed != self._installed:
            self._installed = installed
            self._due |= {number + days for days in _MAY_CHANGE}

    def _run(self, **inputs: str) -> Ran:
        self._ledger.notice()
        self._last = super()._run(**inputs)
        # A run records what it saw where it writes: in the pull requests that are its own.
        managed = {each.number: cluster_of(each.head) for each in self.user.pulls if self._is_kept_current(each)}
        self._ledger.run(managed)
        return self._last

    def _is_kept_current(self, pull: Pull) -> bool:
        state = markers.state_of(pull.body)
        return pull.state == "open" and pull.head not in self.user.commits and state is not None and not state.held

    # What must be so

    def _problems(self) -> Iterator[str]:
        newest = self._newest
        yield from super()._problems()
        for name, before in BEFORE.items():
            yield from self._went_further(name, before, newest)
        for pull in self.user.pulls:
            if pull.merged_at:
                yield from self._wrongly_told(pull)
        yield from self._untold()
        yield from self._wrong_reverts()

    def _wrong(self, pull: Pull) -> Iterator[str]:
        # What is a minor for one of two clusters may be a patch for the other.
        if cluster_of(pull.head) != STAGING.name or not self.user.is_mixed:
            yield from super()._wrong(pull)

    def _holds(self, pull: Pull, state: MarkerState) -> bool:
        if cluster_of(pull.head) != STAGING.name:
            return super()._holds(pull, state)
        files = self._fleet.repository.files(pull.head)
        held = [files[path_of(each)] == manifest(state.target) for each in STAGING.clusters]
        return any(held) if self.user.is_split(state) else all(held)

    def _too_soon_or_late(self, pull: Pull, state: MarkerState) -> Iterator[str]:
        name, number = cluster_of(pull.head), pull.number
        is_approved = name != "production" or size_of(pull.head) == "patch" or subject_of(pull) in self.user.ready
        passing = self._passing(name, state.target, number)
        missing = passing.why
        is_hurried = (number, state.target) in self.user.hurried
        # A release that became another size of upgrade has another pull request, and the answer is still known.
        may_hurry = (name, state.target) in {(cluster_of(self._head(each)), to) for each, to in self.user.hurried}
        if not pull.is_draft and not is_approved:
            yield f"#{number} is ready without an approval"
        if not pull.is_draft and missing and not may_hurry and not (state.held and number in self.user.marked):
            yield f"#{number} is ready, but {missing}"
        is_ours = pull.is_draft and not state.held and number not in self.user.drafted
        if is_ours and is_approved and (is_hurried or not (missing or passing.may_wait)):
            yield f"#{number} is a draft, and nothing is in its way"
        if is_ours and passing.needs_user and not is_hurried and "**This needs you:**" not in pull.body:
            yield f"#{number} waits, and its draft does not ask for a user: {missing}"

    def _head(self, number: int) -> str:
        return self._fleet.repository.pulls[number].head

    def _missing(self, name: str, release: str) -> str:
        """Why a group must wait with a release; empty: it need not."""
        return self._passing(name, release).why

    def _passing(self, name: str, release: str, number: int = 0) -> Passing:
        return self._ledger.passing(BEFORE[name], release, number) if name in BEFORE else Passing()

    def _went_further(self, name: str, before: Before, newest: int) -> Iterator[str]:
        """What the group before has merged and reverted is not proposed, unless a person approved it."""
        reverted = set(self._reverted(before))
        for pull in self.user.pulls:
            state = markers.state_of(pull.body)
            is_new = pull.number > newest and cluster_of(pull.head) == name and subject_of(pull) not in self.user.ready
            if is_new and state is not None and state.target in reverted:
                yield f"#{pull.number} proposes {state.target}, which {before.name} has reverted"
        last, current = max(self._released, key=Version), self.user.current(name)
        is_answered = any(each[0] == name for each in (*self.user.ready, *self.user.refused))
        own = any(markers.state_of(each.body) for each in self._merged(name) if self._target(each) > current)
        kept = self.user.current(before.name)
        is_passed = current < kept and not self._missing(name, kept)
        # An older release that does not wait goes first.
        is_passed |= any(
            self._is_open(pull, name) and (pull.number, self._target(pull)) in self.user.hurried
            for pull in self.user.pulls
        )
        if last in reverted and current < Version(last) and not is_answered and not own and not is_passed:
            reasons = [hold["reason"] for hold in self._decisions(name) if hold["target"] == last]
            is_declined = any(self._is_declined(pull, name, last) for pull in self.user.pulls)
            if reasons != ["group-reverted"] and not (is_declined and reasons == ["closed-by-human"]):
                yield f"{before.name} has reverted {last}, and {name} is told {reasons}"

    def _decisions(self, name: str) -> Iterator[dict[str, str]]:
        for each in self._last.report["installations"]:
            if each["path"] == path_of(name):
                yield from each["decisions"]

    def _reverted(self, before: Before) -> Iterator[str]:
        """The releases that it has merged, of which nothing is left, and which a user has not asked for again."""
        if before is STAGING and self.user.is_mixed:
            return
        current = self.user.current(before.name)
        # A minor is asked for with all its patches.
        asked = {subject_of(each)[2] for each in self.user.pulls if self._is_open(each, before.name)}
        found = (self._target(pull) for pull in self._merged(before.name))
        yield from (target for target in found if target > current and asked.isdisjoint({target, target.minor}))

    def _merged(self, name: str) -> list[Pull]:
        return [each for each in self.user.pulls if each.merged_at and cluster_of(each.head) == name]

    def _is_declined(self, pull: Pull, name: str, release: str) -> bool:
        """Whether it was closed: an approval after that counts once, so that the answer may count again."""
        is_closed = pull.state == "closed" and not pull.merged_at and cluster_of(pull.head) == name
        return is_closed and self._target(pull) == release

    def _is_open(self, pull: Pull, name: str) -> bool:
        return pull.state == "open" and cluster_of(pull.head) == name

    def _target(self, pull: Pull) -> Version:
        state = markers.state_of(pull.body)
        assert state is not None, f"#{pull.number} has no block"
        return state.target

    def _wrongly_told(self, pull: Pull) -> Iterator[str]:
        """A comment says that Flux reports a failure: once, and at a time when it did."""
        comments = [each for each in pull.comments if _FAILED in each.body]
        if len(comments) > 1:
            yield f"#{pull.number} is told {len(comments)} times"
        if comments and pull.number not in self._commented:
            self._commented.add(pull.number)
            before = next((each for each in BEFORE.values() if each.name == cluster_of(pull.head)), None)
            if before is None or not self._ledger.passing(before, self._target(pull)).is_failing:
                yield f"#{pull.number} is told of a failure, and there is none"

    def _untold(self) -> Iterator[str]:
        """Whoever waits behind a failure finds a comment in the pull request that was merged."""
        for name, before in BEFORE.items():
            current = self.user.current(before.name)
            merged = [each for each in self._merged(before.name) if self._target(each) == current]
            if not merged or self.user.current(name) >= current:
                continue
            if self._ledger.passing(before, current).is_failing:
                pull = merged[-1]
                if pull.number not in self._commented:
                    yield f"#{pull.number} is not told of the failure"
                state = markers.state_of(pull.body)
                is_kept = self._ledger.changed_at(before) <= datetime.fromisoformat(pull.merged_at)
                is_safe = state is not None and state.way_back == "safe"
                is_wanted = before is STAGING and is_safe and is_kept and not self._ledger.has_succeeded(before)
                if is_wanted and not self._reverts_of(pull):
                    yield f"#{pull.number} has no revert"

    def _reverts_of(self, pull: Pull) -> list[Pull]:
        return [each for each in self.user.reverts if each.head == f"revert-{pull.number}-{pull.head}"]

    def _wrong_reverts(self) -> Iterator[str]:
        known = 0
        for pull in self.user.pulls:
            found = self._reverts_of(pull)
            known += len(found)
            if len(found) > 1:
                yield f"#{pull.number} is reverted {len(found)} times"
            if found and (cluster_of(pull.head) != STAGING.name or pull.number not in self._commented):
                yield f"#{pull.number} is reverted, and nobody asked for that"
            if any(not each.is_draft and each.number not in self.user.marked for each in found):
                yield f"the revert of #{pull.number} is ready"
        if known != len(self.user.reverts):
            yield "there are reverts of nothing"
