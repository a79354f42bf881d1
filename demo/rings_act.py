"""The part of the demo about groups: production waits for staging, and one issue shows where everything is."""

from __future__ import annotations

import fleet
from github_stand_in.flux import publish_releases
from github_stand_in.people import People
from job import scheduled_job
from pages import Done, keep_pull_requests, results, state_of
from stage import Clone, Machine, Stage, Surprise

BEFORE_2_9 = {tag: date for tag, date in fleet.DATES.items() if tag < "v2.9"}


class RingsDemo:
    """Two clusters in two groups. Raises Surprise where it ends otherwise."""

    def __init__(self, stage: Stage) -> None:
        hub = stage.hub
        self.hub, self.tell, self._kept = hub, stage.tell, stage.kept
        publish_releases(hub, BEFORE_2_9, fleet.NOTES)
        clone = Clone(Machine(hub.clock), stage.work / "rings")
        source = f"{hub.api_url}/repos/fluxcd/flux2"
        self.repository = hub.create_repository("acme/rings", fleet.in_groups(clone, source), is_private=True)
        self._flux = People(self.repository, "flux-staging[bot]")
        self._job = scheduled_job(stage, self.repository)

    def perform(self) -> None:
        """Both acts."""
        self.waits()
        self.passed()
        keep_pull_requests(self.repository, self._kept)

    def waits(self) -> None:
        """Production's patch is a draft; the dashboard says what it waits for."""
        self.tell.act("Production comes after staging: its patch is a draft that waits, and an issue shows both", 13)
        self._run("waiting", "opened")
        self._expect(staging="open", production="draft")
        dashboard = self._dashboard()
        if "staging" not in dashboard or "v2.8.8" not in dashboard:
            raise Surprise(f"the dashboard does not say what waits:\n{dashboard}")
        self.tell.show("the issue “Flux dashboard”", dashboard)
        self.tell.outcome("Wait", "staging's patch is ready; production's is a draft, and the dashboard says why")

    def passed(self) -> None:
        """Staging runs the release for two days, and Flux reports success."""
        self.tell.act("Staging runs v2.8.8 for two days, and Flux reports success: production's becomes ready", 14)
        made = self.repository.people.merge(self._number("staging"), "squash")
        self.tell.say(f"  alice merges #{self._number('staging')}: {made[:7]} on main")
        self._run("too-early", "updated")
        self._expect(staging="merged", production="draft")
        self._flux.post_status(fleet.HEALTHY, "success")
        self.tell.say(f"  flux-staging[bot] reports success as {fleet.HEALTHY}")
        self.hub.clock.advance(days=1)
        self._run("passed", "updated")
        self._expect(staging="merged", production="open")
        self.tell.show("the issue “Flux dashboard”", self._dashboard())
        self.tell.outcome("Next group", "two days later, Flux reports success in staging: production's becomes ready")

    def _run(self, name: str, outcome: str) -> Done:
        self.hub.clock.advance(days=1)
        done = self._job.run("schedule", name, {})
        self.tell.say(f"\n{results(done)}")
        if done.outputs["outcome"] != outcome:
            raise Surprise(f"the outcome is {done.outputs['outcome']}, not {outcome}:\n{done.log}")
        return done

    def _number(self, group: str) -> int:
        (found,) = (each for each in self.repository.pulls.values() if each.head == f"flux-upgrade/{group}/patch")
        return found.number

    def _expect(self, **groups: str) -> None:
        found = {name: state_of(self.repository.pulls[self._number(name)]) for name in groups}
        if found != groups:
            raise Surprise(f"the pull requests are {found}, not {groups}")

    def _dashboard(self) -> str:
        (issue,) = (each for each in self.repository.issues.values() if "flux-upgrade/dashboard" in each.labels)
        return issue.body
