"""A year of Flux's releases, a run on each day, and a user who does something every few days.

What is judged at the end of each day: at most one pull request for each bump, which holds what it says; no text,
commit or answer of the user is lost; and a further run has nothing to do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from github_stand_in.flux import publish_releases
from github_stand_in.model import Pull

from convergence.dashboards import dashboards, ticked
from convergence.fleet import Fleet, manifest
from convergence.runs import Ran
from convergence.year_memory import CLUSTERS, GROUP, cluster_of, path_of, size_of, subject_of
from convergence.year_user import User
from flux_upgrade.model import markers
from flux_upgrade.model.markers import MarkerState

DATES = {
    "v2.6.2": "2025-06-13T17:23:46Z",
    "v2.6.3": "2025-06-27T10:49:43Z",
    "v2.6.4": "2025-07-08T09:34:09Z",
    "v2.7.0": "2025-09-30T06:23:03Z",
    "v2.7.1": "2025-10-06T15:47:00Z",
    "v2.7.2": "2025-10-08T17:59:52Z",
    "v2.7.3": "2025-10-28T14:19:28Z",
    "v2.7.4": "2025-11-21T16:21:05Z",
    "v2.7.5": "2025-11-27T10:18:48Z",
    "v2.8.0": "2026-02-24T13:15:56Z",
    "v2.8.1": "2026-02-27T09:39:11Z",
    "v2.8.2": "2026-03-12T14:26:38Z",
    "v2.8.3": "2026-03-16T13:39:29Z",
    "v2.8.4": "2026-03-30T11:42:53Z",
    "v2.8.5": "2026-04-07T17:29:07Z",
    "v2.8.6": "2026-04-21T10:41:44Z",
    "v2.8.7": "2026-05-12T11:01:49Z",
    "v2.8.8": "2026-05-20T10:58:20Z",
    "v2.9.0": "2026-06-30T13:00:51Z",
    "v2.9.1": "2026-07-07T12:36:14Z",
    "v2.9.2": "2026-07-13T12:52:09Z",
    "v2.9.3": "2026-07-23T15:00:15Z",
    "v2.9.4": "2026-08-07T13:49:34Z",
}
"""When Flux published its releases: https://github.com/fluxcd/flux2/releases."""
_ATTENTIVE = 9
"""So many days after a release, each may differ from the one before: a cool-down ends."""
_LISTED = re.compile(r"<!-- flux-upgrade:rebase-\d+ --> \[#(\d+)\]")
_RUNS = 3  # Of a day, at most: the last has nothing to do


class Year:
    """``released``: what Flux has published, filled in day by day; ``user`` knows the same list."""

    begin, days = datetime(2025, 6, 20, 6, tzinfo=UTC), 425
    rarely = 4
    """The user does something on one of so many days."""

    def __init__(self, fleet: Fleet, user: User, released: list[str]) -> None:
        self._fleet, self.user, self._released = fleet, user, released
        self._rested = ""
        """The repository as the last run left it."""
        self._newest = 0
        """The number of the newest pull request that was judged."""
        self._due: set[int] = set()

    def live(self) -> None:
        """Raises AssertionError, with the day and all that was done until then."""
        for number in range(self.days):
            self.user.day = self.begin + timedelta(days=number)
            self._fleet.hub.clock.set(self.user.day.strftime("%Y-%m-%dT%H:%M:%SZ"))
            self._fleet.hub.limits.begin()
            self._attend(number)
            # A run over what the last one left, on a day like any other, has the same outcome.
            if number in self._due or self.user.dispatched or self._rested != self._fleet.state() or not number % 30:
                self._spend()
            if not self.user.chance.randrange(self.rarely):
                self.user.act()

    def _attend(self, number: int) -> None:
        """Add the days to ``_due`` that may differ from the one before by themselves."""
        if self._publish():
            self._due |= set(range(number, number + _ATTENTIVE + 1))

    def _publish(self) -> bool:
        now = self.user.day
        due = [tag for tag in DATES if tag not in self._released and datetime.fromisoformat(DATES[tag]) <= now]
        if due:
            publish_releases(self._fleet.hub, {tag: DATES[tag] for tag in due})
            self._released += due
        return bool(due)

    def _spend(self) -> None:
        """The runs of a day, until one has nothing to do."""
        inputs = {"approve": ",".join(self.user.dispatched)} if self.user.dispatched else {}
        self.user.dispatched.clear()
        is_asked = bool(inputs)
        if dashboards(self._fleet):
            is_asked |= self.user.boxes_approve()
        ran = self._run(**inputs)
        runs = 1
        while ran.writes:
            assert runs < _RUNS, self._told(f"runs do not come to rest: {ran.writes}")
            ran, runs = self._run(), runs + 1
        if is_asked:
            self.user.approve_opened(self._newest)
            # What is held, such as a branch that a user pushed to, has no place that keeps an approval: the run says so.
            there = {subject_of(pull) for pull in self.user.pulls if pull.state == "open"}
            self.user.ready &= there
        problems = list(self._problems())
        assert not problems, self._told("; ".join(problems))
        self._rested = self._fleet.state()

    def _run(self, **inputs: str) -> Ran:
        source = f"{self._fleet.hub.api_url}/repos/fluxcd/flux2"
        ran = self._fleet.run({"release-source": source, **inputs}, home=self._fleet.folder / "home")
        assert ran.code == 0, self._told(f"exit code {ran.code}: {ran.log}")
        self._fleet.hub.forget()
        return ran

    def _told(self, text: str) -> str:
        return "\n".join([f"{self.user.day.date()}: {text}", *self.user.log])

    # What must be so

    def _problems(self) -> Iterator[str]:
        open_pulls = [pull for pull in self.user.pulls if pull.state == "open"]
        ours = [pull for pull in open_pulls if pull.head not in self.user.commits]
        for subject, count in Counter((cluster_of(pull.head), size_of(pull.head)) for pull in ours).items():
            if count > 1:
                yield f"{count} pull requests are open for {subject}"
        for pull in ours:  # What the user has pushed to is theirs
            yield from self._wrong(pull)
        yield from self._lost()
        yield from self._misshown(open_pulls)
        for pull in self.user.pulls:
            if pull.number > self._newest and subject_of(pull) in self.user.refused:
                yield f"#{pull.number} proposes {subject_of(pull)} again"
            self._newest = max(self._newest, pull.number)

    def _wrong(self, pull: Pull) -> Iterator[str]:
        state = markers.state_of(pull.body)
        assert state is not None, self._told(f"#{pull.number} has no block")
        cluster = cluster_of(pull.head)
        current = self.user.current(cluster)
        if cluster == "staging" and self.user.is_ignored:
            yield f"#{pull.number} is of a cluster that is ignored"
        if not self._holds(pull, state):
            yield f"#{pull.number} does not hold {state.target}"
        if state.target not in self._released or state.target <= current:
            yield f"#{pull.number} proposes {state.target} over {current}"
        is_minor = state.target.minor != current.minor
        if is_minor is not (size_of(pull.head) == "minor"):
            yield f"#{pull.number} proposes {state.target} over {current} on {pull.head}"
        yield from self._too_soon_or_late(pull, state)

    def _holds(self, pull: Pull, state: MarkerState) -> bool:
        """Whether its branch has the release that it proposes."""
        return self._fleet.repository.files(pull.head)[path_of(cluster_of(pull.head))] == manifest(state.target)

    def _too_soon_or_late(self, pull: Pull, state: MarkerState) -> Iterator[str]:
        is_minor, is_approved = size_of(pull.head) == "minor", subject_of(pull) in self.user.ready
        if is_minor and not pull.is_draft and not is_approved:
            yield f"#{pull.number} is ready without an approval"
        if is_minor and pull.is_draft and is_approved and not state.held:
            yield f"#{pull.number} is approved, and a draft"

    def _misshown(self, open_pulls: Sequence[Pull]) -> Iterator[str]:
        """What the dashboard does not say. That it is what a further run would write is seen by its writing nothing."""
        found = dashboards(self._fleet)
        if len(found) != 1:
            yield f"{len(found)} dashboards are open"
            return
        body = found[0].body
        if not body.startswith(self.user.note):
            yield f"the dashboard lost {self.user.note!r}"
        listed = {int(number) for number in _LISTED.findall(body)}
        shown = {pull.number for pull in open_pulls if not self._is_of_nobody(pull)}
        if listed != shown:
            yield f"the dashboard lists {listed}, and {shown} are open"
        for cluster in CLUSTERS:
            row = f"| `clusters/{cluster}` | {self.user.current(cluster)} |"
            if (row in body) is (cluster == "staging" and self.user.is_ignored):
                yield f"the dashboard shows another release of {cluster} than {self.user.current(cluster)}"
        for box in ticked(self._fleet):
            if box.startswith("rebase-"):
                yield f"{box} was not obeyed"

    def _is_of_nobody(self, pull: Pull) -> bool:
        """Whether its branch is not one of the clusters and groups that there are now."""
        slug = pull.head.split("/")[1]
        is_former = slug == "clusters.production" if self.user.is_grouped else slug == GROUP
        return is_former or (slug == "clusters.staging" and self.user.is_ignored)

    def _lost(self) -> Iterator[str]:
        repository = self._fleet.repository
        for number, text in self.user.texts.items():
            if text not in repository.pulls[number].body:
                yield f"#{number} lost {text!r}"
        for number, title in self.user.titles.items():
            if repository.pulls[number].title != title:
                yield f"#{number} lost its title {title!r}: {repository.pulls[number].title!r}"
        merged = {each.head_sha for each in self.user.pulls if each.merged_at}
        for branch, commit in self.user.commits.items():
            head = repository.head(branch)
            if commit not in merged and (not head or not repository.store.is_ancestor(commit, head)):
                yield f"{branch} lost {commit[:7]}"
