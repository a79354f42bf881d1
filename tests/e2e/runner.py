"""Runs the action as GitHub's runner runs a Docker action; in the image, or in a process.

What it does is read from ``action.yml``. The mounts, the variables and the folders
are those of the runner (https://github.com/actions/runner, ``ContainerActionHandler``,
``FileCommandManager``, ``ActionCommandManager``).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from e2e import image as images

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
SUMMARY_LIMIT = 1024 * 1024
OUTPUTS_LIMIT = 1024 * 1024
_EXPRESSION = re.compile(r"\$\{\{\s*([a-z_.-]+)\s*\}\}")
_COMMAND = re.compile(r"^\s*::([a-z-]+)(?: ([^:]*?))?::(.*)$")
_TOKEN = "the-token-of-the-job"
_COMMAND_FILES = {
    "GITHUB_OUTPUT": "set_output",
    "GITHUB_STEP_SUMMARY": "step_summary",
    "GITHUB_STATE": "save_state",
    "GITHUB_ENV": "set_env",
    "GITHUB_PATH": "add_path",
}


@dataclass(frozen=True)
class Job:
    """The job that the step is in: what a test may want to be different."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    """``with:``"""
    event: str = "schedule"
    payload: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, str] = field(default_factory=lambda: {"github.token": _TOKEN})
    """Values of the expressions that stand in ``action.yml``."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to the runner's, or instead of them."""
    image: str = ""
    """The image to run; empty: a process."""
    command: Sequence[str] = ()
    """Instead of the image's entrypoint, or of ``python -m flux_upgrade``; the action's arguments follow."""


@dataclass(frozen=True)
class Annotation:
    """As the run's page shows it."""

    level: str
    message: str
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Result:
    """What is left of a step."""

    exit_code: int
    outputs: Mapping[str, str]
    summary: str
    """Empty where it was longer than GitHub takes."""
    state: Mapping[str, str]
    env: Mapping[str, str]
    """What the step set for later ones."""
    log: str
    """As it was printed; secrets are not masked."""
    annotations: tuple[Annotation, ...]
    masked: tuple[str, ...]
    temp: Path
    """The folder ``runner.temp``."""


def run(workspace: Path, folder: Path, job: Job | None = None) -> Result:
    """One step of a job. ``folder`` is an empty one, for the runner's own files."""
    job = job or Job()
    action = yaml.safe_load(ACTION.read_text())
    folders = _folders(folder)
    if job.image:
        inside = {name: f"/github/{name}" for name in folders}
        inside["workspace"] = "/github/workspace"
    else:
        inside = {name: str(path) for name, path in folders.items()}
        inside["workspace"] = str(workspace)
    (folders["workflow"] / "event.json").write_text(json.dumps(job.payload))
    for file in _COMMAND_FILES.values():
        (folders["file_commands"] / file).touch()

    variables = {**_variables(job, inside), **_inputs(action, job), **job.env}
    arguments = [_evaluated(each, job.context) for each in action["runs"].get("args", ())]
    command = _command(job, action, arguments, variables, {**folders, "workspace": workspace})
    done = subprocess.run(  # noqa: S603 the action, or what the test gave
        command,
        env=images.environment(variables) if job.image else {"PATH": os.defpath, **variables},
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=600,
    )
    return _result(done.returncode, done.stdout.decode("utf-8", "backslashreplace"), folders)


def _folders(folder: Path) -> dict[str, Path]:
    names = ("home", "workflow", "file_commands", "runner_temp")
    folders = {name: folder / name for name in names}
    for path in folders.values():
        path.mkdir(parents=True)
    return folders


def _variables(job: Job, inside: Mapping[str, str]) -> dict[str, str]:
    repository = "octo-org/fleet"
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "octocat",
        "GITHUB_API_URL": "https://api.github.com",
        "GITHUB_BASE_REF": "",
        "GITHUB_EVENT_NAME": job.event,
        "GITHUB_EVENT_PATH": f"{inside['workflow']}/event.json",
        "GITHUB_GRAPHQL_URL": "https://api.github.com/graphql",
        "GITHUB_JOB": "upgrade",
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_REF_NAME": "main",
        "GITHUB_REPOSITORY": repository,
        "GITHUB_RUN_ID": "1658821493",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_WORKFLOW": "flux-upgrade",
        "GITHUB_WORKFLOW_REF": f"{repository}/.github/workflows/flux-upgrade.yaml@refs/heads/main",
        "GITHUB_WORKSPACE": inside["workspace"],
        "HOME": inside["home"],
        "RUNNER_OS": "Linux",
        "RUNNER_TEMP": inside["runner_temp"],
        **{name: f"{inside['file_commands']}/{file}" for name, file in _COMMAND_FILES.items()},
    }


def _inputs(action: Mapping[str, Any], job: Job) -> dict[str, str]:
    """Hyphens stay as they are, and what the action does not know is passed on, too."""
    declared: Mapping[str, Mapping[str, Any]] = action["inputs"]
    values = {name: _evaluated(str(each.get("default", "")), job.context) for name, each in declared.items()} | dict(
        job.inputs
    )
    return {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in values.items()}


def _evaluated(text: str, context: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: context[found[1]], text)


def _command(
    job: Job,
    action: Mapping[str, Any],
    arguments: Sequence[str],
    variables: Mapping[str, str],
    folders: Mapping[str, Path],
) -> list[str]:
    if not job.image:
        # -P: as in the image, nothing is imported from the working folder.
        return [*(job.command or (sys.executable, "-P", "-m", "flux_upgrade")), *arguments]
    instead = (*job.command, *([action["runs"]["entrypoint"]] if "entrypoint" in action["runs"] else []))
    container = images.Container(
        env=variables,
        volumes=[(path, f"/github/{name}") for name, path in folders.items()],
        workdir="/github/workspace",
        entrypoint=instead[0] if instead else "",
        arguments=[*instead[1:], *arguments],
    )
    return images.run_command(job.image, container)


def _result(exit_code: int, log: str, folders: Mapping[str, Path]) -> Result:
    def written(variable: str) -> str:
        return (folders["file_commands"] / _COMMAND_FILES[variable]).read_bytes().decode()

    summary = written("GITHUB_STEP_SUMMARY")
    outputs = dict(pairs(written("GITHUB_OUTPUT")))
    if sum(len(text.encode("utf-16-le")) for pair in outputs.items() for text in pair) > OUTPUTS_LIMIT:
        raise ValueError("the outputs are larger than GitHub takes")
    commands = list(read_commands(log))
    return Result(
        exit_code=exit_code,
        outputs=outputs,
        summary=summary if len(summary.encode()) <= SUMMARY_LIMIT else "",
        state=dict(pairs(written("GITHUB_STATE"))),
        env=dict(pairs(written("GITHUB_ENV"))),
        log=log,
        annotations=tuple(
            each for each in commands if each.level in ("error", "warning", "notice", "debug") and each.message
        ),
        masked=tuple(each.message for each in commands if each.level == "add-mask"),
        temp=folders["runner_temp"],
    )


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of a file command. Raises ValueError where the runner would fail the step."""
    lines = iter(text.removesuffix("\n").split("\n") if text else [])
    for line in lines:
        if not line:
            continue
        found = re.fullmatch(r"(.*?)(=|<<|$)(.*)", line, re.DOTALL)
        assert found is not None  # `$` matches, should nothing else
        name, sign, rest = found.groups()
        if not sign or not name:
            raise ValueError(f"invalid format: '{line}'")
        if sign == "=":
            yield name, rest
            continue
        value: list[str] = []
        for each in lines:
            if each == rest:
                break
            value.append(each)
        else:
            raise ValueError(f"matching delimiter not found: '{rest}'")
        yield name, "\n".join(value)


def read_commands(log: str) -> Iterator[Annotation]:
    """The workflow commands of a log, but for those where they were stopped."""
    stopped = ""
    for line in re.split(r"\r\n|\r|\n", log):
        found = _COMMAND.match(line)
        if stopped:
            stopped = "" if line.strip() == f"::{stopped}::" else stopped
        elif found and found[1] == "stop-commands":
            stopped = found[3]
        elif found:
            listed = (each.partition("=") for each in (found[2] or "").split(",") if each)
            properties = {key.strip(): _unescaped(text) for key, _, text in listed}
            yield Annotation(found[1], _unescaped(found[3]), properties)


def _unescaped(text: str) -> str:
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, character)
    return text
