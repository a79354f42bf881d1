"""The first part of the demo: Flux is kept current. Each part goes on where the one before it ended."""

from __future__ import annotations

from pathlib import Path

import fleet
import written_release
import yaml
from github_stand_in import StandIn
from github_stand_in.flux import publish_releases
from github_stand_in.model import Pull
from job import Done, Job, depth_of
from pages import calls_line, keep_pull_requests, results, state_of
from stage import Clone, Machine, Surprise, say, show, title

CONFLICT = 9  # docs/reference/exit-codes.md
SOURCE = "../releases"
"""The releases once more, in a folder, for whoever has the clone."""


class Demo:
    """The repository, and what is done to it. Every act raises Surprise where it ends otherwise."""

    def __init__(self, hub: StandIn, work: Path, folder: Path) -> None:
        """``work``: for the clone; ``folder``: for what is kept."""
        self.hub, self.folder = hub, folder
        written_release.write_source(work / "releases", tuple(fleet.DATES), fleet.DATES)
        machine = Machine(hub.clock)
        self.clone = Clone(machine, work / "fleet")
        self.clone.folder.mkdir()
        self.pinned = Clone(machine, work / "pinned")
        self.pinned.folder.mkdir()
        self.repository = hub.create_repository("acme/fleet", is_private=True)
        workflow = yaml.safe_load(fleet.WORKFLOW.read_text())
        token = hub.token("actions", workflow["jobs"]["upgrade"]["permissions"])
        self.job = Job(hub, self.repository, token, machine, folder)
        self.job.depth = depth_of(workflow)

    def perform(self) -> None:
        """All of it."""
        self.begin()
        self.scheduled_run()
        self.nothing_new()
        self.patch_merged()
        self.approval()
        self.revert()
        self.conflict()
        self.laptop()
        self.pins()
        keep_pull_requests(self.repository, self.folder)

    def begin(self) -> None:
        """What is there before Flux is kept current."""
        title("Two clusters, and the workflow of examples/scheduled.yaml")
        publish_releases(self.hub, {tag: fleet.DATES[tag] for tag in fleet.DATES if tag != "v2.9.4"}, fleet.NOTES)
        fleet.build(self.clone, SOURCE)
        person = self.hub.token("classic", login="alice", scopes=("repo", "workflow")).value
        url = f"{self.hub.url.replace('://', f'://alice:{person}@')}/{self.repository.full_name}.git"
        self.clone.run("git", "push", "--quiet", url, "main")
        say(f"  {fleet.STAGING}: Flux v2.8.7 with install flags,")
        say("    and by hand: replicas, a memory limit with a comment, an argument")
        say(f"  {fleet.PRODUCTION}: Flux v2.8.7 with other flags,")
        say("    and by a bot: the header says v2.9.3, and one image is that of v2.8.8")

    def scheduled_run(self) -> None:
        """A patch and a minor for each cluster."""
        title("1. A scheduled run opens a pull request for the patch, and a draft for the pending minor")
        done = self.run("schedule", "scheduled", "opened")
        say(f"\n{done.log}\n\n  {calls_line(done.calls)}")
        self.expect(production="open draft", staging="open draft")
        draft = self.pull("staging", "minor")
        show(f"#{draft.number} {draft.title}", draft.body)
        show("the job summary", done.summary)

    def nothing_new(self) -> None:
        """The calls of a run with nothing to do."""
        title("2. The next day there is nothing new: two reads, no write, and nobody is notified")
        before = self.repository.store.refs("refs/"), [*map(repr, self.repository.pulls.values())]
        done = self.run("schedule", "nothing-new", "none")
        say(f"\n{results(done)}\n")
        for call in done.calls:
            say(f"  {call.method} {call.path}{f' ({call.operation})' if call.operation else ''}")
        after = self.repository.store.refs("refs/"), [*map(repr, self.repository.pulls.values())]
        if len(done.calls) != 2 or any(call.is_write for call in done.calls) or before != after:
            raise Surprise(f"a run with nothing to do: {calls_line(done.calls)}")

    def patch_merged(self) -> None:
        """Drafts begin at what was merged, and go to what is newest."""
        title("3. Staging's patch is merged, v2.9.4 comes out: the drafts are kept current")
        self.merge("staging", "patch")
        self.hub.clock.set(fleet.DATES["v2.9.4"])
        publish_releases(self.hub, {"v2.9.4": fleet.DATES["v2.9.4"]}, fleet.NOTES)
        done = self.run("schedule", "patch-merged", "updated")
        say(f"\n{results(done)}")
        self.expect(production="open draft", staging="merged draft")
        self.expect_text("staging", "minor", "v2.8.8 → v2.9.4")
        self.expect_text("production", "minor", "v2.8.7 → v2.9.4")

    def approval(self) -> None:
        """Drafts become ready for review, and nothing is lost in what is merged."""
        title("4. Somebody approves Flux 2.9: the drafts become ready, and staging's is merged")
        done = self.run("workflow_dispatch", "approved", "updated", approve="2.9")
        say(f"\n{results(done)}")
        self.expect(production="open open", staging="merged open")
        say()
        self.merge("staging", "minor")
        manifest = self.repository.files()[f"{fleet.STAGING}/{fleet.MANIFEST}"].decode()
        edits = ("Flux Version: v2.9.4", "replicas: 2", "memory: 2Gi # the charts are large", "- --concurrent=20")
        kept = [line for line in manifest.splitlines() if line.strip(" #").startswith(edits)]
        if len(kept) != len(edits):
            raise Surprise(f"an edit was lost: there are {kept}")
        show(f"what was edited by hand is still there, {fleet.STAGING}/{fleet.MANIFEST}", "\n".join(kept))

    def revert(self) -> None:
        """What was reverted is not proposed again."""
        title("5. Staging's minor is reverted: that is an answer, and it is respected")
        minor = self.pull("staging", "minor")
        reverted = self.repository.people.revert(minor.merge_commit)
        say(f"  alice reverts #{minor.number}: {reverted[:7]} on main")
        done = self.run("schedule", "reverted", "held")
        say(f"\n{results(done)}")
        if any(call.is_write for call in done.calls) or "**reverted**" not in done.summary:
            raise Surprise("the revert was not respected")
        show("the job summary", done.summary)

    def conflict(self) -> None:
        """A conflict writes nothing, and the run ends red after everything else was done."""
        title("6. A third cluster was edited where v2.9 changes the same line: nothing is overwritten")
        files = fleet.third_cluster(self.clone, SOURCE)
        self.repository.people.push("", dict(files), "A third cluster\n")
        say(f"  alice pushes {fleet.EDGE}: Flux v2.8.8, and by hand helm-controller's CPU limit")
        done = self.run("schedule", "conflict", "failed", ends_with=CONFLICT)
        say(f"\n{done.log}\n\n  exit code {CONFLICT}")
        if any(call.is_write for call in done.calls):
            raise Surprise("something was written in spite of a conflict")
        self.expect(production="open open", staging="merged merged")

    def laptop(self) -> None:
        """The same program in a clone, which is where the repository began."""
        title("On a laptop, in a clone of the first commit: the same program")
        source = f"--release-source={SOURCE}"
        self.clone.show("flux-upgrade", "inspect", source, fleet.PRODUCTION)
        self.clone.show("flux-upgrade", "plan", source, fleet.STAGING)
        self.clone.show("flux-upgrade", "upgrade", source, fleet.STAGING)
        self.clone.show("git", "diff", "--stat=100")

    def pins(self) -> None:
        """Every way that Flux got into a repository, which of them belong together, and what disagrees."""
        title("Another repository: a manifest, a remote base, Terraform, a FluxInstance, and the CLI's pins")
        source = f"--release-source={SOURCE}"
        fleet.build_pinned(self.pinned, SOURCE)
        shown = self.pinned.show("flux-upgrade", "inspect", source)
        if shown.splitlines()[-1] != "2 installations, 6 version references of 6 kinds, 1 drifting":
            raise Surprise("a pin was not found, or one too many")
        self.pinned.show("flux-upgrade", "plan", source)
        self.pinned.run("flux-upgrade", "upgrade", source, "--approve=2.9")
        say("\n$ flux-upgrade upgrade --approve=2.9")
        changed = self.pinned.show("git", "diff", "--stat=100")
        if "6 files changed" not in changed:
            raise Surprise("a set was torn apart")

    # What the acts are made of

    def run(self, event: str, name: str, outcome: str, *, ends_with: int = 0, **inputs: str) -> Done:
        """A run of the workflow, on the next day."""
        self.hub.clock.advance(days=1)
        done = self.job.run(event, name, inputs, ends_with=ends_with)
        if done.outputs["outcome"] != outcome:
            raise Surprise(f"the outcome is {done.outputs['outcome']}, not {outcome}:\n{done.log}")
        return done

    def merge(self, cluster: str, subject: str) -> None:
        """A person merges a pull request."""
        pull = self.pull(cluster, subject)
        made = self.repository.people.merge(pull.number, "squash")
        say(f"  alice merges #{pull.number}: {made[:7]} on main")

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
        say()
        for number, pull in sorted(pulls.items()):
            say(f"  #{number} {state_of(pull):6}  {pull.title}")
        found = {
            name: " ".join(state_of(self.pull(name, subject)) for subject in ("patch", "minor")) for name in clusters
        }
        if found != clusters or len(pulls) != 2 * len(clusters):
            raise Surprise(f"there are {len(pulls)} pull requests: {found}, not {clusters}")

    def expect_text(self, cluster: str, subject: str, text: str) -> None:
        """The body of a pull request says so."""
        if text not in self.pull(cluster, subject).body:
            raise Surprise(f"the {subject} of {cluster} does not say: {text}")
