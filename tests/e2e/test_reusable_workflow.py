"""What the workflow that others call gives to the Action, in a job as GitHub lays it out: two checkouts side by side."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from github_stand_in import StandIn

from cases_on_disk import case_named
from e2e.example_jobs import evaluated
from flux_upgrade import main
from flux_upgrade.action.action_yml import REPORT_FILE

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "upgrade.yaml").read_text())
PERMISSIONS = {"contents": "write", "pull-requests": "write", "issues": "write", "statuses": "write"}


def given(token: str, **inputs: str) -> dict[str, str]:
    """The inputs of our step, as variables."""
    declared = WORKFLOW[True]["workflow_call"]["inputs"]
    values = {name: str(each["default"]).lower() for name, each in declared.items()} | inputs
    contexts = {"inputs": values, "github": {"token": token}, "steps": {"app": {"outputs": {"token": ""}}}}
    (step,) = (each for each in WORKFLOW["jobs"]["upgrade"]["steps"] if each.get("uses") == "./flux-upgrade")
    return {f"INPUT_{name.upper()}": str(evaluated(value, contexts)) for name, value in step["with"].items()}


@pytest.mark.parametrize("path", [".", "clusters/production"])
def test_the_caller_is_upgraded_and_nothing_of_the_action_is_read(
    path: str, tmp_path: Path, written_source: Path
) -> None:
    case = case_named("exact-default")
    content = next(each for name, each in case.before.items() if name.endswith("gotk-components.yaml"))
    # In the repository of the action there are manifests, too.
    files = {"clusters/production/flux-system/gotk-components.yaml": content}
    workspace, temp = tmp_path / "workspace", tmp_path / "temp"
    (workspace / "flux-upgrade").mkdir(parents=True)
    (workspace / "flux-upgrade" / "gotk-components.yaml").write_bytes(content)
    temp.mkdir()
    with StandIn(tmp_path / "hub") as hub:
        hosted = hub.create_repository("acme/fleet", files)
        clone = ["git", "clone", "-q", f"file://{hosted.git}", str(workspace / "repository")]
        subprocess.run(clone, check=True)  # noqa: S603 git
        token = hub.token("actions", PERMISSIONS).value
        env = {
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_REPOSITORY": "acme/fleet",
            "GITHUB_SERVER_URL": hub.url,
            "GITHUB_API_URL": hub.api_url,
            "GITHUB_GRAPHQL_URL": hub.graphql_url,
            "RUNNER_TEMP": str(temp),
            **given(token, path=path, **{"release-source": str(written_source)}),
        }
        out, err = io.BytesIO(), io.StringIO()
        with contextlib.chdir(workspace):  # as the runner starts it
            code = main.run(["action"], env, out, err)
    assert code == 0, (out.getvalue(), err.getvalue())
    report: Any = json.loads((temp / REPORT_FILE).read_text())
    assert [each["path"] for each in report["installations"]] == [*files]
    assert [each["action"] for each in report["pull-requests"]] == ["opened"]
