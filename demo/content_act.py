"""The part of the demo about what a bump breaks: it is mended first, or said on the pull request."""

from __future__ import annotations

import fleet
from github_stand_in.flux import publish_releases
from github_stand_in.model import Pull
from job import scheduled_job
from pages import changed_lines, keep_pull_requests, results
from stage import Clone, Machine, Stage, Surprise

BRANCH = "flux-upgrade/clusters.production"


class ContentDemo:
    """One cluster, with manifests and a patch that a minor breaks. Raises Surprise where it ends otherwise."""

    def __init__(self, stage: Stage) -> None:
        hub = stage.hub
        self.hub, self.tell, self._kept = hub, stage.tell, stage.kept
        hub.clock.set(fleet.DATES["v2.9.4"])
        publish_releases(hub, fleet.DATES, fleet.NOTES)
        clone = Clone(Machine(hub.clock), stage.work / "orchard")
        source = f"{hub.api_url}/repos/fluxcd/flux2"
        self.repository = hub.create_repository("acme/orchard", fleet.used(clone, source), is_private=True)
        self._job = scheduled_job(stage, self.repository)

    def perform(self) -> None:
        """Both acts."""
        self.moved_first()
        self.then_the_minor()
        keep_pull_requests(self.repository, self._kept)

    def moved_first(self) -> None:
        """Manifests that v2.9 does not serve; both versions are served until then."""
        self.tell.act("Flux 2.9 no longer serves v1beta2, and an app uses it: it is migrated first", 7)
        self._run("moved-first", "opened")
        pull = self._only("migration")
        self.tell.show(f"#{pull.number} {pull.title}", pull.body)
        self.tell.say()
        for line in changed_lines(self.repository, pull):
            self.tell.say(f"  {line}")
        before, after = self.repository.files(), self.repository.files(pull.head)
        if after != {**before, fleet.APP: before[fleet.APP].replace(b"/v1beta2", b"/v1")}:
            raise Surprise("something else than a version was changed")
        self.tell.say()
        made = self.repository.people.merge(pull.number, "squash")
        self.tell.say(f"  alice merges #{pull.number}: {made[:7]} on main")
        self.tell.outcome(
            "Migrate", f"{fleet.APP} uses an API version that 2.9 removes: migrated first, in its own pull request"
        )

    def then_the_minor(self) -> None:
        """It says what changes in the cluster, and which patch keeps out what is new."""
        self.tell.act("Then the minor itself: what changes in the cluster, and a patch that overrides it", 8)
        self._run("then-the-minor", "opened")
        pull = self._only("minor")
        self.tell.show(f"#{pull.number} {pull.title}", pull.body)
        if "Not applied: `--requeue-dependency=5s`" not in pull.body:
            raise Surprise("a patch that replaces a whole list was not noticed")
        self.tell.outcome(
            "Check", "then the minor: a Kustomize patch overrides its new default, and the pull request says so"
        )

    def _run(self, name: str, outcome: str) -> None:
        self.hub.clock.advance(days=1)
        done = self._job.run("schedule", name, {})
        self.tell.say(f"\n{results(done)}")
        if done.outputs["outcome"] != outcome:
            raise Surprise(f"the outcome is {done.outputs['outcome']}, not {outcome}:\n{done.log}")

    def _only(self, subject: str) -> Pull:
        """The one pull request that is open."""
        found = [each for each in self.repository.pulls.values() if each.state == "open"]
        if [each.head for each in found] != [f"{BRANCH}/{subject}"]:
            raise Surprise(f"these are open: {[each.head for each in found]}")
        return found[0]
