"""The examples are consistent: one pin per action, inputs that exist, a config file that is valid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_upgrade import action, config
from flux_upgrade.action_yml import INPUTS, OUTPUTS
from workflows.linters import CONFIGS, EXAMPLES, WORKFLOWS

USES = re.compile(r"^\s*(?:- )?uses: (\S+)@(\S+)(.*)$", re.MULTILINE)
OURS = "OWNER/flux-upgrade"
each_example = pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in EXAMPLES])


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        yield from job["steps"]


def test_every_action_is_pinned_to_one_commit_with_its_version_beside_it() -> None:
    pins: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, *EXAMPLES):
        for name, ref, rest in USES.findall(path.read_text()):
            if name != OURS:
                assert re.fullmatch(r"[0-9a-f]{40}", ref), f"{path.name}: {name}@{ref}"
                assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), f"{path.name}: {name}@{ref}{rest}"
                pins.setdefault(name, set()).add(f"{ref}{rest}")
    assert len(pins) > 5
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


@each_example
def test_an_example_runs_daily_by_approval_and_one_at_a_time(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    on = workflow[True]  # YAML 1.1 takes the key `on` for a boolean
    assert on["schedule"]
    assert "approve" in on["workflow_dispatch"]["inputs"]
    assert workflow["concurrency"] == {"group": "flux-upgrade", "cancel-in-progress": False}
    assert workflow["permissions"] == {}


@each_example
def test_an_example_gives_inputs_that_there_are(path: Path) -> None:
    given = [
        {f"INPUT_{name.upper()}": value for name, value in step["with"].items()}
        if step.get("uses", "").startswith(OURS)
        else step.get("env", {})
        for step in steps(path)
        if step.get("uses", "").startswith(OURS) or "flux-upgrade action" in step.get("run", "")
    ]
    assert len(given) == 1
    assert action.unknown(given[0]) == ()
    assert given[0]["INPUT_APPROVE"] == "${{ inputs.approve }}"


@each_example
def test_an_example_reads_outputs_that_there_are(path: Path) -> None:
    read = set(re.findall(r"steps\.flux-upgrade\.outputs\.([a-z-]+)", path.read_text()))
    assert read <= {each.name for each in OUTPUTS}


@each_example
def test_the_job_may_do_what_the_token_is_said_to_need(path: Path) -> None:
    needed = {"contents", "pull-requests", "issues", "statuses"}
    told = next(each.told for each in INPUTS if each.name == "token")
    assert needed <= set(re.findall(r"`([a-z-]+)`", told))
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    of_app = [
        {key.removeprefix("permission-") for key, value in step["with"].items() if value == "write"}
        for step in steps(path)
        if "create-github-app-token" in step.get("uses", "")
    ]
    assert needed in ({name for name, level in job["permissions"].items() if level == "write"}, *of_app)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CONFIGS])
def test_a_config_file_is_valid(path: Path) -> None:
    loaded = config.load(path.read_text(), path.name)
    assert [each.name for each in loaded.groups] == ["staging", "production"]
