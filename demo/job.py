"""A job of a workflow: the checkout, then the Action, each as GitHub's runner does it, in processes.

What the Action asks of GitHub goes to the stand-in, over HTTP.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fleet
import yaml
from github_stand_in import Repository, Token
from pages import Done
from stage import ROOT, Machine, Stage, Surprise

_ACTION = ROOT / "action.yml"
_OUTPUT = re.compile(r"^([\w-]+)<<(\S+)\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"::([\w-]+)[^:]*::(.*)")


class Job:
    """The one job of a workflow in ``repository``, as often as wanted."""

    def __init__(self, stage: Stage, repository: Repository, token: Token, workflow: Mapping[str, Any]) -> None:
        """What each run leaves behind is kept on the stage, numbered through."""
        (job,) = workflow["jobs"].values()
        self.name = str(job["name"])
        checkouts = [each for each in job["steps"] if each.get("uses", "").startswith("actions/checkout@")]
        self._depths = [int(each["with"].get("fetch-depth", 1)) for each in checkouts]
        self._hub, self._folder, self._tell = stage.hub, stage.kept, stage.tell
        self._repository, self._token = repository, token
        self._machine = Machine(stage.hub.clock)
        self._runs = 0

    def run(self, event: str, name: str, inputs: Mapping[str, str], *, ends_with: int = 0) -> Done:
        """Run it, and keep what it leaves in a folder of this name. Raises Surprise."""
        self._runs = 1 + sum(each.name[0].isdigit() for each in self._folder.iterdir())
        date = str(self._hub.clock.now.date())
        given = [f"{key}: {value.strip()}" for key, value in inputs.items()]
        separator = ", " if len(given) < 2 else "\n    "
        self._tell.say(separator.join((f"  {date} · on: {event}", *given)))
        kept = self._folder / f"{self._runs:02}-{name}"
        workspace, runner = kept / "workspace", kept / "runner"
        (runner / "temp").mkdir(parents=True)
        workspace.mkdir()
        for depth in self._depths:
            self._check_out(workspace, depth)
        self._hub.forget()
        env = {**self._variables(event, workspace, runner), **self._inputs(inputs)}
        printed = self._machine.run(("flux-upgrade", "action"), workspace, env, ends_with)
        if self._token.value in printed.replace(f"::add-mask::{self._token.value}", ""):
            raise Surprise("the token is in the log")
        outputs = {found[1]: found[3] for found in _OUTPUT.finditer((runner / "output").read_text())}
        summary = (runner / "summary").read_text()
        done = Done(self.name, date, event, _readable(printed), outputs, summary, tuple(self._hub.calls))
        report = json.loads((runner / "temp" / outputs["report-file"]).read_text())
        for file, text in (
            ("log.txt", done.log),
            ("summary.md", done.summary),
            ("report.json", json.dumps(report, indent=2, ensure_ascii=False)),
        ):
            (kept / file).write_text(f"{text.rstrip()}\n", encoding="utf-8")
        shutil.rmtree(workspace)
        shutil.rmtree(runner)
        self._tell.ran(self._repository, done)
        return done

    def _check_out(self, folder: Path, depth: int) -> None:
        """As actions/checkout does, so many commits or (0) all of them: no credential stays behind."""
        basic = base64.b64encode(f"x-access-token:{self._token.value}".encode()).decode()
        header = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}",
        }
        fetched = f"--no-tags --depth={depth} origin +refs/heads/main:refs/remotes/origin/main"
        if not depth:
            fetched = "--tags origin +refs/heads/*:refs/remotes/origin/*"
        for command in (
            "git init --quiet --initial-branch=main",
            f"git remote add origin {self._hub.url}/{self._repository.full_name}",
            f"git fetch --quiet {fetched}",
            "git checkout --quiet -B main refs/remotes/origin/main",
        ):
            self._machine.run(command.split(), folder, header)

    def _variables(self, event: str, workspace: Path, runner: Path) -> Mapping[str, str]:
        """https://docs.github.com/en/actions/reference/workflows-and-actions/variables."""
        repository = self._repository.full_name
        (runner / "event.json").write_text("{}")
        return {
            "CI": "true",
            "GITHUB_ACTION_REF": "v0",
            "GITHUB_ACTION_REPOSITORY": "acme/flux-upgrade",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self._hub.api_url,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(runner / "event.json"),
            "GITHUB_GRAPHQL_URL": self._hub.graphql_url,
            "GITHUB_OUTPUT": str(runner / "output"),
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_REPOSITORY": repository,
            "GITHUB_RUN_ID": str(self._runs),
            "GITHUB_SERVER_URL": self._hub.url,
            "GITHUB_STEP_SUMMARY": str(runner / "summary"),
            "GITHUB_WORKFLOW_REF": f"{repository}/.github/workflows/flux-upgrade.yaml@refs/heads/main",
            "GITHUB_WORKSPACE": str(workspace),
            "HOME": str(runner),
            "RUNNER_TEMP": str(runner / "temp"),
        }

    def _inputs(self, given: Mapping[str, str]) -> Mapping[str, str]:
        """Those of the workflow over the defaults of ``action.yml``."""
        declared = yaml.safe_load(_ACTION.read_text())["inputs"]
        values = {name: each["default"] for name, each in declared.items()}
        # Elsewhere it is github.com: the stand-in has Flux's repository, too.
        source = f"{self._hub.api_url}/repos/fluxcd/flux2"
        values |= {"token": self._token.value, "release-source": source, **given}
        return {f"INPUT_{name.upper()}": value for name, value in values.items()}


def scheduled_job(stage: Stage, repository: Repository) -> Job:
    """The job of examples/scheduled.yaml, with a token that has its permissions."""
    workflow = yaml.safe_load(fleet.WORKFLOW.read_text())
    token = stage.hub.token("actions", workflow["jobs"]["upgrade"]["permissions"])
    return Job(stage, repository, token, workflow)


def _readable(log: str) -> str:
    """A log as the run's page shows it: commands are not seen, annotations are."""
    lines = []
    for line in log.splitlines():
        found = _COMMAND.fullmatch(line)
        if found is None:
            lines.append(line)
        elif found[1] in ("error", "warning"):
            text = found[2].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
            lines.append(f"{found[1].capitalize()}: {text}")
    return "\n".join(lines).strip("\n")
