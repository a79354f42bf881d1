"""The part of the demo about what a bump breaks: it is mended first, or said on the pull request."""

from __future__ import annotations

from pathlib import Path

import fleet
import yaml
from github_stand_in import StandIn
from github_stand_in.flux import publish_releases
from github_stand_in.model import Pull
from job import Job, depth_of
from pages import changed_lines, keep_pull_requests, results
from stage import Clone, Machine, Surprise, say, show, title

BRANCH = "flux-upgrade/clusters.production"


class ContentDemo:
    """One cluster, with manifests and a patch that a minor breaks. Raises Surprise where it ends otherwise."""

    def __init__(self, hub: StandIn, work: Path, folder: Path) -> None:
        """``work``: for the clone; ``folder``: for what is kept."""
        self.hub, self.folder = hub, folder
        hub.clock.set(fleet.DATES["v2.9.4"])
        publish_releases(hub, fleet.DATES, fleet.NOTES)
        machine = Machine(hub.clock)
        clone = Clone(machine, work)
        source = f"{hub.api_url}/repos/fluxcd/flux2"
        self.repository = hub.create_repository("acme/orchard", fleet.used(clone, source), is_private=True)
        workflow = yaml.safe_load(fleet.WORKFLOW.read_text())
        token = hub.token("actions", workflow["jobs"]["upgrade"]["permissions"])
        self._job = Job(hub, self.repository, token, machine, folder)
        self._job.depth = depth_of(workflow)

    def perform(self) -> None:
        """Both acts."""
        self.moved_first()
        self.then_the_minor()
        keep_pull_requests(self.repository, self.folder)

    def moved_first(self) -> None:
        """Manifests that v2.9 does not serve; both versions are served until then."""
        title("7. Flux 2.9 serves no v1beta2 any more, and an app uses it: that is moved first")
        self._run("moved-first", "opened")
        pull = self._only("migration")
        show(f"#{pull.number} {pull.title}", pull.body)
        say()
        for line in changed_lines(self.repository, pull):
            say(f"  {line}")
        before, after = self.repository.files(), self.repository.files(pull.head)
        if after != {**before, fleet.APP: before[fleet.APP].replace(b"/v1beta2", b"/v1")}:
            raise Surprise("something else than a version was changed")
        say()
        made = self.repository.people.merge(pull.number, "squash")
        say(f"  alice merges #{pull.number}: {made[:7]} on main")

    def then_the_minor(self) -> None:
        """It says what changes in the cluster, and which patch keeps out what is new."""
        title("8. Then the minor itself: what changes in the cluster, and a patch that would keep it out")
        self._run("then-the-minor", "opened")
        pull = self._only("minor")
        show(f"#{pull.number} {pull.title}", pull.body)
        if "Not applied: `--requeue-dependency=5s`" not in pull.body:
            raise Surprise("a patch that replaces a whole list was not noticed")

    def _run(self, name: str, outcome: str) -> None:
        self.hub.clock.advance(days=1)
        done = self._job.run("schedule", name, {})
        say(f"\n{results(done)}")
        if done.outputs["outcome"] != outcome:
            raise Surprise(f"the outcome is {done.outputs['outcome']}, not {outcome}:\n{done.log}")

    def _only(self, subject: str) -> Pull:
        """The one pull request that is open."""
        found = [each for each in self.repository.pulls.values() if each.state == "open"]
        if [each.head for each in found] != [f"{BRANCH}/{subject}"]:
            raise Surprise(f"these are open: {[each.head for each in found]}")
        return found[0]
