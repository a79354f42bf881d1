"""The first part of the demo: Flux is kept current. Each part goes on where the one before it ended."""

from __future__ import annotations

import fleet
import recipe
import written_release
from github_stand_in import Clock
from github_stand_in.flux import publish_releases
from github_stand_in.model import Pull
from job import scheduled_job
from pages import Done, calls_line, keep_pull_requests, results, state_of, writes
from stage import Clone, Machine, Stage, Surprise

CONFLICT = 3  # docs/reference/exit-codes.md
SOURCE = "../releases"
"""The releases once more, in a directory, for whoever has a clone."""


class Demo:
    """The repository, and what is done to it. Every act raises Surprise where it ends otherwise."""

    def __init__(self, stage: Stage) -> None:
        self.hub, self.tell, self._kept = stage.hub, stage.tell, stage.kept
        written_release.write_source(stage.work / "releases", tuple(fleet.DATES), fleet.DATES)
        machine = Machine(stage.hub.clock)
        self.clone = Clone(machine, stage.work / "fleet")
        self._unaware = Clone(machine, stage.work / "unaware")
        self.repository = stage.hub.create_repository("acme/fleet", is_private=True)
        self.job = scheduled_job(stage, self.repository)

    def perform(self) -> None:
        """All of it."""
        self.begin()
        self.scheduled_run()
        self.nothing_new()
        self.patch_merged()
        self.approval()
        self.revert()
        self.conflict()
        keep_pull_requests(self.repository, self._kept)

    def begin(self) -> None:
        """What is there before Flux is kept current."""
        self.tell.act("Two clusters, and the workflow of examples/scheduled.yaml")
        publish_releases(self.hub, {tag: fleet.DATES[tag] for tag in fleet.DATES if tag != "v2.9.4"}, fleet.NOTES)
        fleet.build(self.clone, SOURCE)
        person = self.hub.token("classic", login="alice", scopes=("repo", "workflow")).value
        url = f"{self.hub.url.replace('://', f'://alice:{person}@')}/{self.repository.full_name}.git"
        self.clone.run("git", "push", "--quiet", url, "main")
        self.tell.say(f"  {fleet.STAGING}: Flux v2.8.7 with install flags,")
        self.tell.say("    and by hand: replicas, a memory limit with a comment, an argument")
        self.tell.say(f"  {fleet.PRODUCTION}: Flux v2.8.7 with other flags,")
        self.tell.say("    and by a bot: the header says v2.9.3, and one image is that of v2.8.8")

    def scheduled_run(self) -> None:
        """A patch and a minor for each cluster."""
        self.tell.act("A scheduled run opens a pull request for the patch, and a draft for the pending minor", 1)
        done = self.run("schedule", "scheduled", "opened")
        self.tell.say(f"\n{done.log}\n\n  {calls_line(done.calls)}")
        self.expect(production="open draft", staging="open draft")
        draft = self.pull("staging", "minor")
        self.tell.show(f"#{draft.number} {draft.title}", draft.body)
        self.tell.show("the job summary", done.summary)
        self.tell.outcome(
            self._day(), "v2.8.8 is a patch: 2 pull requests; v2.9.3 is a minor: 2 drafts that need approval"
        )

    def nothing_new(self) -> None:
        """The calls of a run with nothing to do."""
        self.tell.act("The next day there is nothing new: two reads, no write, no notification", 2)
        before = self.repository.store.refs("refs/"), [*map(repr, self.repository.pulls.values())]
        done = self.run("schedule", "nothing-new", "none")
        self.tell.say(f"\n{results(done)}\n")
        for call in done.calls:
            self.tell.say(f"  {call.method} {call.path}{f' ({call.operation})' if call.operation else ''}")
        after = self.repository.store.refs("refs/"), [*map(repr, self.repository.pulls.values())]
        if len(done.calls) != 2 or writes(done.calls) or before != after:
            raise Surprise(f"a run with nothing to do: {calls_line(done.calls)}")
        self.tell.outcome(self._day(), f"nothing is new: {len(done.calls)} reads, no write, no notification")

    def patch_merged(self) -> None:
        """Drafts begin at what was merged, and go to what is newest."""
        self.tell.act("Staging's patch is merged, v2.9.4 comes out: the drafts are kept current", 3)
        self.merge("staging", "patch")
        self.hub.clock.set(fleet.DATES["v2.9.4"])
        publish_releases(self.hub, {"v2.9.4": fleet.DATES["v2.9.4"]}, fleet.NOTES)
        done = self.run("schedule", "patch-merged", "updated")
        self.tell.say(f"\n{results(done)}")
        self.expect(production="open draft", staging="merged draft")
        self.expect_text("staging", "minor", "v2.8.8 → v2.9.4")
        self.expect_text("production", "minor", "v2.8.7 → v2.9.4")
        self.tell.outcome(self._day(), "v2.9.4 is out: the drafts are updated in place; staging's patch is merged")

    def approval(self) -> None:
        """Drafts become ready for review, and nothing is lost in what is merged."""
        self.tell.act("You approve Flux 2.9: the drafts become ready, and staging's is merged", 4)
        done = self.run("workflow_dispatch", "approved", "updated", approve="2.9")
        self.tell.say(f"\n{results(done)}")
        self.expect(production="open open", staging="merged open")
        self.tell.say()
        self.merge("staging", "minor")
        manifest = self.repository.files()[f"{fleet.STAGING}/{fleet.MANIFEST}"].decode()
        edits = ("Flux Version: v2.9.4", "replicas: 2", "memory: 2Gi # the charts are large", "- --concurrent=20")
        kept = [line for line in manifest.splitlines() if line.strip(" #").startswith(edits)]
        if len(kept) != len(edits):
            raise Surprise(f"an edit was lost: there are {kept}")
        self.tell.show(f"what was edited by hand is still there, {fleet.STAGING}/{fleet.MANIFEST}", "\n".join(kept))
        export = recipe.written(self._unaware, "v2.9.4", SOURCE, manifest)
        self.tell.lost(recipe.lost(self._unaware, f"{fleet.STAGING}/{fleet.MANIFEST}", manifest, export))
        self.tell.outcome("Approve", "you approve 2.9 and merge staging's draft: your install flags and edits are kept")

    def revert(self) -> None:
        """What was reverted is not proposed again."""
        self.tell.act("Staging's minor is reverted: that is an answer, and it is respected", 5)
        minor = self.pull("staging", "minor")
        reverted = self.repository.people.revert(minor.merge_commit)
        self.tell.say(f"  alice reverts #{minor.number}: {reverted[:7]} on main")
        done = self.run("schedule", "reverted", "held")
        self.tell.say(f"\n{results(done)}")
        # The branches that were merged are deleted now.
        written = [call for call in done.calls if call.is_write and call.operation != "updateRefs"]
        if written or "**reverted**" not in done.summary:
            raise Surprise("the revert was not respected")
        self.tell.show("the job summary", done.summary)
        self.tell.outcome("Revert", f"you revert #{minor.number}: 2.9 is not proposed for staging again")

    def conflict(self) -> None:
        """A conflict writes nothing, and the run ends red after everything else was done."""
        self.tell.act("A third cluster was edited where v2.9 changes the same line: nothing is overwritten", 6)
        files = fleet.third_cluster(self.clone, SOURCE)
        self.repository.people.push("", dict(files), "A third cluster\n")
        self.tell.say(f"  alice pushes {fleet.EDGE}: Flux v2.8.8, and by hand helm-controller's CPU limit")
        done = self.run("schedule", "conflict", "failed", ends_with=CONFLICT)
        self.tell.say(f"\n{done.log}\n\n  exit code {CONFLICT}")
        if writes(done.calls):
            raise Surprise("something was written in spite of a conflict")
        self.expect(production="open open", staging="merged merged")
        self.tell.outcome(
            "Conflict", f"you edited a line that v2.9.4 changes: nothing is written, exit code {CONFLICT}"
        )

    # What the acts are made of

    def run(self, event: str, name: str, outcome: str, *, ends_with: int = 0, **inputs: str) -> Done:
        """A run of the workflow, on the next day."""
        self.hub.clock.advance(days=1)
        done = self.job.run(event, name, inputs, ends_with=ends_with)
        if done.outputs["outcome"] != outcome:
            raise Surprise(f"the outcome is {done.outputs['outcome']}, not {outcome}:\n{done.log}")
        return done

    def _day(self) -> str:
        return f"Day {(self.hub.clock.now - Clock(fleet.BEGINNING).now).days}"

    def merge(self, cluster: str, subject: str) -> None:
        """A person merges a pull request."""
        pull = self.pull(cluster, subject)
        made = self.repository.people.merge(pull.number, "squash")
        self.tell.say(f"  alice merges #{pull.number}: {made[:7]} on main")

    def pull(self, cluster: str, subject: str) -> Pull:
        """The one pull request of a cluster about a subject."""
        branch = f"flux-upgrade/clusters.{cluster}/{subject}"
        found = [each for each in self.repository.pulls.values() if each.head == branch]
        if len(found) != 1:
            raise Surprise(f"{branch} has {len(found)} pull requests")
        return found[0]

    def expect(self, **clusters: str) -> None:
        """Show the pull requests. Those of each cluster have these states, patch first; there is no other."""
        pulls = self.repository.pulls
        self.tell.say()
        for number, pull in sorted(pulls.items()):
            self.tell.say(f"  #{number} {state_of(pull):6}  {pull.title}")
        found = {
            name: " ".join(state_of(self.pull(name, subject)) for subject in ("patch", "minor")) for name in clusters
        }
        if found != clusters or len(pulls) != 2 * len(clusters):
            raise Surprise(f"there are {len(pulls)} pull requests: {found}, not {clusters}")

    def expect_text(self, cluster: str, subject: str, text: str) -> None:
        """The body of a pull request says so."""
        if text not in self.pull(cluster, subject).body:
            raise Surprise(f"the {subject} of {cluster} does not say: {text}")
