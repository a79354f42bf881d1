"""The Action on a runner with faults: what was done is in the log, the outputs, the summary and the report all the same."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from e2e.fleet import Fleet, git
from e2e.runner import pairs
from error_names import require_error
from flows import fleet, path_in
from flux_upgrade import main
from flux_upgrade.action.action_yml import REPORT_FILE
from flux_upgrade.model.errors import OutputFailed, Unreadable, WriteFailed
from flux_upgrade.model.timing import Timing

STAGING = {"flux-upgrade/clusters.staging/patch": False, "flux-upgrade/clusters.staging/minor": True}


@pytest.fixture
def fleet_on(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path, fleet({"clusters/staging": "v2.8.7"})) as opened:
        yield opened


def committed(on: Fleet, files: Mapping[str, bytes]) -> None:
    """Git takes names that are not UTF-8, and the stand-in has none of a user's commands for them."""
    clone = on.folder / "clone"
    git("clone", "--quiet", f"file://{on.repository.git}", str(clone))
    for path, content in files.items():
        folder = os.path.join(clone, os.path.dirname(path))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(clone, path), "wb") as file:
            file.write(content)
    git("-C", str(clone), "add", "--all")
    git("-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=more")
    git("-C", str(clone), "push", "--quiet")


def test_a_directory_whose_name_is_not_utf8(fleet_on: Fleet) -> None:
    committed(fleet_on, fleet({"clusters/caf\udce9": "v2.8.7"}))
    done = fleet_on.run()
    require_error(Unreadable, done.exit_code, done.log)
    assert fleet_on.opened() == STAGING
    assert "Traceback" not in done.log
    (error,) = (each for each in done.annotations if each.level == "error")
    assert error.message.startswith(r"clusters/caf\xe9/flux-system/gotk-components.yaml has a name that is not UTF-8")
    report = json.loads(done.outputs["report"])
    assert [each["slug"] for each in report["failures"]] == ["unreadable"]
    assert "2 clusters: 1 ready, 1 held" in done.summary


@pytest.mark.parametrize(
    "name", ["new\nline", "esc\x1b[31m", "bidi\u202egnp", "x" * 255, 'quo"te', "back\\slash", "\r\n::error::x"]
)
def test_a_name_is_shown_and_commands_nothing(fleet_on: Fleet, name: str) -> None:
    committed(
        fleet_on,
        {**fleet({f"clusters/{name}": "v2.8.8", f"broken/{name}": "v2.8.8"}), path_in(f"broken/{name}"): b"a: b\n"},
    )
    done = fleet_on.run()
    require_error(Unreadable, done.exit_code, done.log)
    assert {**fleet_on.opened(), **STAGING}.items() >= STAGING.items()
    assert len(fleet_on.opened()) == 3, "a minor of the other, too"
    (error,) = (each for each in done.annotations if each.level == "error")
    assert error.message.startswith("broken/")
    texts = [done.log, done.summary, *(f"{each.title}{each.body}" for each in fleet_on.repository.pulls.values())]
    assert not any(char in text for text in texts for char in ("\x1b", "\u202e", "\r"))
    assert json.loads((done.temp / REPORT_FILE).read_text())["outcome"] == "failed"


@pytest.mark.parametrize("broken", ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"])
@pytest.mark.parametrize("device", ["/dev/full", "/sys/kernel/none", "/"])
def test_a_file_of_the_runner_that_cannot_be_written(fleet_on: Fleet, broken: str, device: str) -> None:
    done = fleet_on.run(env={broken: device})
    require_error(WriteFailed, done.exit_code, done.log)
    assert fleet_on.opened() == STAGING
    assert f"flux-upgrade: {device} could not be written" in done.log
    assert "Traceback" not in done.log
    assert done.outputs.get("outcome") == (None if broken == "GITHUB_OUTPUT" else "opened")
    assert bool(done.summary) is (broken == "GITHUB_OUTPUT")


def test_a_log_that_is_full(fleet_on: Fleet) -> None:
    fleet_on.check_out()
    output = fleet_on.folder / "output"
    env = environment(fleet_on, output)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "flux_upgrade", "action"],
            cwd=fleet_on.workspace, env=env, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60,
        )  # fmt: skip
    require_error(OutputFailed, done.returncode, done.stderr.decode())
    assert dict(pairs(output.read_text()))["outcome"] == "opened"
    assert fleet_on.opened() == STAGING


def environment(on: Fleet, output: Path) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": str(on.folder),
        "GITHUB_WORKSPACE": str(on.workspace),
        "GITHUB_REPOSITORY": "octo-org/fleet",
        "GITHUB_SERVER_URL": on.hub.url,
        "GITHUB_API_URL": on.hub.api_url,
        "GITHUB_GRAPHQL_URL": on.hub.graphql_url,
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(output.with_name("summary")),
        "INPUT_TOKEN": on.token.value,
        "INPUT_RELEASE-SOURCE": f"{on.hub.api_url}/repos/fluxcd/flux2",
    }


def test_a_bug_after_the_first_pull_request(fleet_on: Fleet) -> None:
    """A clock that breaks before the answer about the second is read."""
    fleet_on.check_out()
    output = fleet_on.folder / "output"

    def now() -> float:
        if fleet_on.opened() == STAGING:
            raise ZeroDivisionError
        return time.time()

    out, err = io.BytesIO(), io.StringIO()
    with contextlib.chdir(fleet_on.workspace):
        code = main.run(["action"], environment(fleet_on, output), out, err, Timing(now, time.sleep, lambda: 0.5))
    assert code == 1
    outputs = dict(pairs(output.read_text()))
    assert (outputs["outcome"], len(json.loads(outputs["pull-requests"]))) == ("failed", 1)
    assert {each["slug"] for each in json.loads(outputs["report"])["failures"]} == {"unexpected"}
    assert b"title=flux-upgrade%3A unexpected::clusters/staging: ZeroDivisionError at " in out.getvalue()
    assert "opened" in output.with_name("summary").read_text()
