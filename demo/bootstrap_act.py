"""The last part of the demo: Flux comes into repositories, and is kept current from there on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fleet
import yaml
from github_stand_in import Repository
from github_stand_in.flux import publish_releases
from github_stand_in.model import Pull
from job import Job
from pages import Done, calls_line, keep_pull_requests, results, state_of
from stage import ROOT, Stage, Surprise

NEW_REPOSITORY = ROOT / "examples" / "bootstrap-new-repository.yml"
FROM_TEMPLATE = ROOT / "examples" / "bootstrap-from-template.yml"
SECRET = "FLUX_SYSTEM_SECRET"  # noqa: S105 the name of one, in the example
UPGRADES = ".github/workflows/flux-upgrade.yaml"
FOLDER = "clusters/production/flux-system"
FILES = {f"{FOLDER}/{name}" for name in (fleet.MANIFEST, "gotk-sync.yaml", "kustomization.yaml")}
TEAM_PAGE = b"# Shop\n\nWhat runs in the shop's cluster.\n"


class BootstrapDemo:
    """Two repositories that get Flux. Every act raises Surprise where it ends otherwise."""

    def __init__(self, stage: Stage) -> None:
        """On a stage where v2.9.4 is not out."""
        self._stage, self.hub, self.tell = stage, stage.hub, stage.tell
        before = {tag: date for tag, date in fleet.DATES.items() if tag != "v2.9.4"}
        publish_releases(stage.hub, before, fleet.NOTES)

    def perform(self) -> None:
        """All of it."""
        self.new_repository()
        self.first_upgrade()
        self.from_template()
        self.again()
        for name in ("acme/atlas", "acme/shop"):
            keep_pull_requests(self.hub.repositories[name], self._stage.kept)

    def new_repository(self) -> None:
        """Created, with access, and Flux in its first commit."""
        self.tell.act("Bootstrap: you run a workflow, and there is a repository with Flux in it", 9)
        manager = self.hub.create_repository("acme/platform", {"README.md": b"# Platform\n"}, is_private=True)
        workflow = _read(NEW_REPOSITORY)
        app, ours = _steps(workflow, "create-github-app-token", "flux-upgrade")
        job = Job(self._stage, manager, self._app_token(app), workflow)
        values = {"inputs.name": "atlas", "inputs.path": "clusters/production"}
        job.name = _replaced(job.name, values)
        inputs = _filled(ours, values)
        done = self._run(job, "workflow_dispatch", "bootstrap", "updated", inputs)
        self.tell.say(f"\n{done.log}\n\n  {calls_line(done.calls)}")
        atlas = self.hub.repositories["acme/atlas"]
        _expect("the files of the first commit", set(atlas.files()), FILES | {UPGRADES})
        _expect("the pull requests of an empty repository", len(atlas.pulls), 0)
        self._expect_access(atlas, done)
        self.tell.show("the job summary", done.summary)
        self.tell.show(f"{FOLDER}/gotk-sync.yaml", atlas.files()[f"{FOLDER}/gotk-sync.yaml"].decode())
        self.tell.outcome("Bootstrap", "a new repository with Flux v2.9.3, a deploy key and the upgrade workflow")

    def first_upgrade(self) -> None:
        """By the workflow that came with it, and nothing else."""
        self.tell.act("v2.9.4 comes out: the new repository's own workflow proposes it, with no configuration", 10)
        atlas = self.hub.repositories["acme/atlas"]
        workflow = yaml.safe_load(atlas.files()[UPGRADES])
        token = self.hub.token("actions", workflow["jobs"]["upgrade"]["permissions"])
        job = Job(self._stage, atlas, token, workflow)
        done = self._run(job, "schedule", "nothing-yet", "none", {})
        self.tell.say(f"\n{results(done)}\n")
        self.hub.clock.set(fleet.DATES["v2.9.4"])
        publish_releases(self.hub, {"v2.9.4": fleet.DATES["v2.9.4"]}, fleet.NOTES)
        done = self._run(job, "schedule", "first-upgrade", "opened", {})
        self.tell.say(f"\n{results(done)}")
        pull = self._only_pull(atlas)
        _expect("its title", pull.title, "Upgrade Flux to v2.9.4 in clusters/production")
        _expect("its files", set(_changed(atlas, pull)), {f"{FOLDER}/{fleet.MANIFEST}"})
        self.tell.outcome("Upgrade", "v2.9.4 is out: the new repository's own workflow opens its pull request")

    def from_template(self) -> None:
        """A repository with something in it gets a pull request, and nothing else."""
        self.tell.act("Bootstrap of a repository with content: its first push opens one pull request", 11)
        files = {"README.md": TEAM_PAGE, ".github/workflows/bootstrap.yml": FROM_TEMPLATE.read_bytes()}
        shop = self.hub.create_repository("acme/shop", files, is_private=True)
        head = shop.head()
        done = self._from_template(shop, "push", "bootstrap-by-pull-request", "opened")
        self.tell.say(f"\n{done.log}\n\n  {calls_line(done.calls)}")
        _expect("main", shop.head(), head)
        pull = self._only_pull(shop)
        _expect("its files", set(_changed(shop, pull)), FILES)
        self.tell.show(f"#{pull.number} {pull.title}", pull.body)
        self.tell.outcome(
            "Bootstrap", "a repository with content: one pull request with Flux v2.9.4, main is unchanged"
        )

    def again(self) -> None:
        """It converges: what is there is not made twice, before and after the merge."""
        self.tell.act("Run again, before and after the merge: nothing is left to do", 12)
        shop = self.hub.repositories["acme/shop"]
        for name in ("again", "merged"):
            done = self._from_template(shop, "workflow_dispatch", name, "none")
            self.tell.say(f"\n{results(done)}\n\n  {calls_line(done.calls)}\n")
            writes = [call.path for call in done.calls if call.is_write]
            _expect("the writes of a run with nothing to do", writes, [])
            if name == "again":
                made = shop.people.merge(self._only_pull(shop).number, "squash")
                self.tell.say(f"  alice merges #{self._only_pull(shop).number}: {made[:7]} on main")
        _expect("the pull request", state_of(self._only_pull(shop)), "merged")
        self.tell.outcome("Again", "run again before and after the merge: no write")

    # What the acts are made of

    def _run(self, job: Job, event: str, name: str, outcome: str, inputs: Mapping[str, str]) -> Done:
        self.hub.clock.advance(days=1)
        done = job.run(event, name, inputs)
        _expect("the outcome", done.outputs["outcome"], outcome)
        return done

    def _from_template(self, shop: Repository, event: str, name: str, outcome: str) -> Done:
        workflow = _read(FROM_TEMPLATE)
        token = self.hub.token("actions", workflow["jobs"]["bootstrap"]["permissions"])
        (ours,) = _steps(workflow, "flux-upgrade")
        job = Job(self._stage, shop, token, workflow)
        return self._run(job, event, name, outcome, _filled(ours, {}))

    def _app_token(self, step: Mapping[str, str]) -> Any:
        """One with the permissions that the step asks the App for."""
        asked = {name: level for name, level in step.items() if name.startswith("permission-")}
        permissions = {name.removeprefix("permission-"): level for name, level in asked.items()}
        return self.hub.token("app", permissions)

    def _expect_access(self, repository: Repository, done: Done) -> None:
        """A deploy key that reads, its private part sealed and nowhere else, and a team."""
        (key,) = repository.deploy_keys
        secret = repository.actions.secrets[SECRET]
        self.tell.say(f"\n  deploy key: {key.title}, {'reads' if key.read_only else 'writes'}, {key.key.split()[0]}")
        self.tell.say(f"  Actions secret: {SECRET}, {secret.count(chr(10))} lines that no page shows")
        self.tell.say(f"  teams: {repository.team_permissions}")
        _expect("the team", repository.team_permissions, {"platform": "maintain"})
        document = yaml.safe_load(secret)
        private = document["stringData"]["identity"]
        _expect("the secret's public key", document["stringData"]["identity.pub"].split()[1], key.key.split()[1])
        places = [done.log, done.summary, *(each.decode() for each in repository.files().values())]
        line = private.splitlines()[1]
        _expect("the places with the private key", [each for each in places if line in each], [])

    @staticmethod
    def _only_pull(repository: Repository) -> Pull:
        if len(repository.pulls) != 1:
            raise Surprise(f"{repository.full_name} has {len(repository.pulls)} pull requests")
        (pull,) = repository.pulls.values()
        return pull


def _expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise Surprise(f"{what}: {found}, not {expected}")


def _changed(repository: Repository, pull: Pull) -> list[str]:
    """The files of a pull request of one commit."""
    paths = repository.store.git("diff", "--name-only", f"{pull.head_sha}^", pull.head_sha)
    return paths.decode().split()


def _read(workflow: Path) -> Any:
    return yaml.safe_load(workflow.read_text(encoding="utf-8"))


def _steps(workflow: Any, *actions: str) -> list[Mapping[str, Any]]:
    """What the steps with these actions, of the one job, are given."""
    (job,) = workflow["jobs"].values()
    return [next(step["with"] for step in job["steps"] if f"/{action}@" in step.get("uses", "")) for action in actions]


def _filled(given: Mapping[str, Any], values: Mapping[str, str]) -> Mapping[str, str]:
    """The inputs of a step as the runner passes them on, less the token, which a job of the demo has."""
    values = {"github.repository_owner": "acme", "inputs.team": "platform", **values}
    filled = {}
    for name, value in given.items():
        filled[name] = _replaced("true" if value is True else str(value), values)
    filled.pop("token", None)
    return filled


def _replaced(text: str, values: Mapping[str, str]) -> str:
    for expression, replacement in values.items():
        text = text.replace(f"${{{{ {expression} }}}}", replacement)
    return text
