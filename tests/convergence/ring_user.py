"""What a user, Flux and others do in a year with three groups that come one after the other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import islice

from github_stand_in.model import Pull
from github_stand_in.people import People

from convergence.fleet import Fleet, manifest
from convergence.ring_rules import GROUPS, POSTED, STAGING, WITHOUT_STATUSES, Ledger
from convergence.year_memory import cluster_of, path_of
from convergence.year_user import User
from flux_upgrade.model import markers
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import Version

_OURS = "flux-upgrade/"
_EVENING = timedelta(hours=12)  # After the runs of the day
_BUSY = 100  # Commits of a busy day
_AGE = 40 * 24 * 3600  # Seconds: of a commit that was made long before it is pushed
_WITHOUT_FAILURES = "2.8"
_STATES = ("success", "success", "success", "success", "failure", "failure", "error", "pending")


class RingUser(User):
    """Has a group for each cluster, and two clusters in the first one."""

    clusters = GROUPS

    def __init__(self, fleet: Fleet, seed: int, released: list[str], ledger: Ledger) -> None:
        super().__init__(fleet, seed, released)
        self._ledger = ledger
        self.hurried: set[tuple[int, str]] = set()
        """Pull request and release for which “do not wait” was ticked."""
        self.drafted: set[int] = set()
        """What a person made a draft, and has not taken back."""
        self.marked: set[int] = set()
        """What a person ever marked ready."""
        self._silent: set[str] = set()
        """Contexts that Flux does not report now."""
        self._deleted: set[str] = set()
        """Contexts of clusters that are gone."""

    def act(self) -> None:
        """Besides, Flux reports on most days: without that no group ever passes a release.

        All of it is in the evening, so that no soak ends between two runs of a day.
        """
        self.fleet.hub.clock.set((self.day + _EVENING).strftime("%Y-%m-%dT%H:%M:%SZ"))
        super().act()
        for name in POSTED:
            if self.chance.randrange(3):
                done = self._report_all_is_well(name)
                self.log.append(f"{self.day.date()} {done}")
        self._ledger.notice()

    def deeds(self) -> tuple[Callable[[], str], ...]:
        return (
            *[self._report] * 8,
            *[self._merge] * 10,
            *(
                self._revert,
                self._revert,
                self._forge,
                self._forge,
                self._hurry,
                self._hurry,
                self._answer_a_revert,
                self._answer_a_revert,
            ),
            *(self._mark_ready, self._mark_ready, self._to_draft, self._label, self._close, self._reopen),
            *(self._skip, self._rebase, self._push, self._write, self._rename, self._delete_branch),
            *(self._work, self._work, self._upgrade, self._upgrade_one, self._dispatch, self._dispatch_for_one),
            *(self._update_branch, self._let_a_bot_close),
            *(self._fall_silent, self._report_again, self._report_again, self._delete_a_cluster, self._be_busy),
            *(self._push_old_work, self._upgrade_with_an_old_commit, self._upgrade_with_an_old_commit),
        )

    @property
    def pulls(self) -> list[Pull]:
        """Ours: not the reverts."""
        return [each for each in super().pulls if each.head.startswith(_OURS)]

    @property
    def reverts(self) -> list[Pull]:
        """What GitHub made for us."""
        return [each for each in super().pulls if each.head.startswith("revert-")]

    @property
    def is_mixed(self) -> bool:
        """Whether the clusters of the first group differ."""
        files = self.fleet.repository.files()
        return len({files[path_of(each)] for each in STAGING.clusters}) > 1

    def refuse(self, pull: Pull) -> None:
        if not self._is_partial(pull):
            super().refuse(pull)

    def is_split(self, state: MarkerState) -> bool:
        """Whether one of two clusters has answered about the release, or a newer patch of its minor, without the other."""
        answered = (
            markers.state_of(each.body) for each in self.pulls if each.state == "closed" and self._is_partial(each)
        )
        return any(
            each and each.target.minor == state.target.minor and each.target >= state.target for each in answered
        )

    def _is_partial(self, pull: Pull) -> bool:
        state = markers.state_of(pull.body)
        return state is not None and cluster_of(pull.head) == STAGING.name and len(state.paths) < len(STAGING.clusters)

    # Statuses

    def _report(self) -> str:
        """Flux reports of one Kustomization, mostly on the newest commit."""
        name = self.chance.choice(tuple(POSTED))
        return self._post_by_flux(name, self.chance.choice(POSTED[name]), self.chance.choice(_STATES))

    def _report_all_is_well(self, name: str) -> str:
        head = self.fleet.repository.head()
        done = (self._post_by_flux(name, each, "success", head) for each in POSTED[name])
        return ", ".join(filter(None, done))

    def _post_by_flux(self, name: str, context: str, state: str, oid: str = "") -> str:
        """Post what the release of a group posts: https://github.com/fluxcd/notification-controller/issues/1373."""
        version = self.current(name)
        is_failure = state in ("failure", "error")
        if context in self._silent | self._deleted or version == WITHOUT_STATUSES:
            return ""
        if is_failure and version.minor == _WITHOUT_FAILURES:
            return ""
        return self._post(context, state, f"flux-{name}[bot]", oid)

    def _fall_silent(self) -> str:
        """A controller crashes, a token expires, or a Kustomization is suspended."""
        context = self.chance.choice([each for contexts in POSTED.values() for each in contexts])
        self._silent.add(context)
        return context

    def _report_again(self) -> str:
        return self._silent.pop() if self._silent else ""

    def _delete_a_cluster(self) -> str:
        self._deleted.add(POSTED["canary"][-1])
        return POSTED["canary"][-1]

    # Work

    def _be_busy(self) -> str:
        self.people.push_empty(_BUSY)
        return f"{_BUSY} commits"

    def _push_old_work(self) -> str:
        return self.people.push("", {"README.md": str(self.day).encode()}, "Old work\n", age=_AGE)[:7]

    def _upgrade_with_an_old_commit(self) -> str:
        return self._by_hand(STAGING.name, STAGING.clusters, age=_AGE)

    def _forge(self) -> str:
        """Somebody, or the Flux of another cluster, posts what Flux should have."""
        name = self.chance.choice(tuple(POSTED))
        others = [f"flux-{each}[bot]" for each in POSTED if each != name]
        creator = self.chance.choice(("mallory", f"flux-{name}", "github-actions[bot]", *others))
        head = self.fleet.repository.head()
        return ", ".join(self._post(each, "success", creator, head) for each in POSTED[name])

    def _post(self, context: str, state: str, creator: str, oid: str = "") -> str:
        commits = list(islice(self._ledger.line(), 6))
        oid = oid or self.chance.choice((commits[0], commits[0], commits[0], *commits))
        People(self.fleet.repository, creator).post_status(context, state, oid)
        return f"{context} {state} by {creator} on {oid[:7]} ({commits.index(oid)} back)"

    # What is particular to groups

    def _hurry(self) -> str:
        """Tick “do not wait”."""
        waiting = [
            each for each in self.pulls if each.state == "open" and "- [ ] <!-- flux-upgrade:accept" in each.body
        ]
        if not waiting:
            return ""
        pull = self.chance.choice(waiting)
        state = markers.state_of(pull.body)
        assert state is not None
        self.people.tick(pull.number, "do not wait")
        self.hurried.add((pull.number, state.target))
        return f"#{pull.number} {state.target}"

    def _answer_a_revert(self) -> str:
        found = [each for each in self.reverts if each.state == "open"]
        if not found:
            return ""
        pull = self.chance.choice(found)
        if self.chance.randrange(2):
            self.people.close(pull.number)
            return f"#{pull.number} no"
        self.people.mark_ready(pull.number)
        self.marked.add(pull.number)
        self.people.merge(pull.number, self.chance.choice(("merge", "squash")))
        return f"#{pull.number} yes"

    def _upgrade(self) -> str:
        """All clusters of a group."""
        name = self.chance.choice(GROUPS)
        return self._by_hand(name, STAGING.clusters if name == STAGING.name else (name,))

    def _upgrade_one(self) -> str:
        """One of two, or the other one after it."""
        files = self.fleet.repository.files()
        first, second = (files[path_of(each)] for each in STAGING.clusters)
        if first == second:
            return self._by_hand(STAGING.name, (self.chance.choice(STAGING.clusters),))
        versions = {manifest(each): each for each in self.released}
        newest = max(Version(versions[first]), Version(versions[second]))
        self._write_release(STAGING.clusters, newest)
        return f"all of staging to {newest}"

    def _by_hand(self, name: str, clusters: tuple[str, ...], age: int = 0) -> str:
        later = [each for each in self.released if Version(each) > self.current(name)]
        if not later:
            return ""
        tag = self.chance.choice(later)
        self._write_release(clusters, tag, age)
        return f"{clusters} to {tag}, {age // 86400} days old"

    def _write_release(self, clusters: tuple[str, ...], tag: str, age: int = 0) -> None:
        files: dict[str, bytes | None] = {path_of(each): manifest(tag) for each in clusters}
        self.people.push("main", files, f"Upgrade Flux to {tag}\n", age=age)

    # What is remembered besides

    def _mark_ready(self) -> str:
        drafts = {each.number for each in self.pulls if each.is_draft}
        done = super()._mark_ready()
        now = drafts - {each.number for each in self.pulls if each.is_draft}
        self.marked |= now
        self.drafted -= now
        return done

    def _to_draft(self) -> str:
        before = {each.number for each in self.pulls if each.is_draft}
        done = super()._to_draft()
        self.drafted |= {each.number for each in self.pulls if each.is_draft} - before
        return done

    def _asked_of(self, cluster: str) -> str:
        return cluster
