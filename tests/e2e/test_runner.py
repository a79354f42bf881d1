"""The harness does what GitHub's runner does, in a process and in the image alike."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.image import Container, environment, run_command
from e2e.runner import Annotation, Job, Result, pairs, run

# It reports its environment, and writes what an action writes.
STAND_IN = """
import json, os, pathlib, sys
names = ("INPUT_", "GITHUB_", "RUNNER_", "HOME")
seen = {name: value for name, value in os.environ.items() if name.startswith(names)}
seen["argv"], seen["cwd"], seen["tty"] = sys.argv[1:], os.getcwd(), sys.stdin.isatty()
seen["event"] = json.loads(pathlib.Path(os.environ["GITHUB_EVENT_PATH"]).read_text())
seen["files"] = sorted(os.listdir("."))
def add(name, text):
    with open(os.environ[name], "a") as file:
        file.write(text)
add("GITHUB_OUTPUT", "seen<<end\\n" + json.dumps(seen) + "\\nend\\nplain=a=b\\n")
add("GITHUB_STEP_SUMMARY", "# Summary\\n")
add("GITHUB_STATE", "kept=1\\n")
add("GITHUB_ENV", "LATER=2\\n")
(pathlib.Path(os.environ["RUNNER_TEMP"]) / "report.json").write_text("{}")
print("::warning title=a%3A b,file=x.yaml::one%0Atwo")
print("::stop-commands::t\\n::error::hidden\\n::t::\\n::add-mask::secret")
print("plain", file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture(params=["process", "image"])
def where(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The image to run, and its Python."""
    if request.param == "process":
        yield "", sys.executable
    else:
        yield request.getfixturevalue("action_image").reference, "python3"


@pytest.fixture
def ran(where: tuple[str, str], tmp_path: Path) -> Result:
    image, python = where
    for name in ("workspace", "runner"):
        (tmp_path / name).mkdir()
    (tmp_path / "workspace" / "README.md").touch()
    job = Job(
        inputs={"dry-run": "true", "some thing": "x", "policy": "minor"},
        event="workflow_dispatch",
        payload={"inputs": {"approve": "2.9"}},
        env={"GITHUB_REPOSITORY": "octo-org/other"},
        image=image,
        command=(python, "-c", STAND_IN),
    )
    return run(tmp_path / "workspace", tmp_path / "runner", job)


def test_a_step(ran: Result, where: tuple[str, str], tmp_path: Path) -> None:
    seen = json.loads(ran.outputs["seen"])
    in_image = bool(where[0])
    workspace = "/github/workspace" if in_image else str(tmp_path / "workspace")
    assert seen["argv"] == ["action"]
    assert seen["tty"] is False
    assert seen["cwd"] == seen["GITHUB_WORKSPACE"] == workspace
    assert seen["files"] == ["README.md"]
    assert seen["event"] == {"inputs": {"approve": "2.9"}}
    assert seen["GITHUB_EVENT_NAME"] == "workflow_dispatch"
    assert seen["GITHUB_REPOSITORY"] == "octo-org/other"
    assert seen["HOME"] == ("/github/home" if in_image else str(tmp_path / "runner" / "home"))


def test_inputs_keep_their_hyphens_and_defaults_are_evaluated(ran: Result) -> None:
    seen = json.loads(ran.outputs["seen"])
    assert seen["INPUT_DRY-RUN"] == "true"
    assert seen["INPUT_POLICY"] == "minor"
    assert seen["INPUT_SOME_THING"] == "x"
    assert seen["INPUT_PATH"] == "."
    assert seen["INPUT_APPROVE"] == ""
    assert seen["INPUT_TOKEN"] == "the-token-of-the-job"


def test_what_a_step_leaves(ran: Result) -> None:
    assert ran.exit_code == 3
    assert ran.outputs["plain"] == "a=b"
    assert ran.summary == "# Summary\n"
    assert (ran.state, ran.env) == ({"kept": "1"}, {"LATER": "2"})
    assert ran.annotations == (Annotation("warning", "one\ntwo", {"title": "a: b", "file": "x.yaml"}),)
    assert ran.masked == ("secret",)
    assert "plain" in ran.log
    assert (ran.temp / "report.json").read_text() == "{}"


def test_an_expression_without_a_value_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match=r"github\.token"):
        run(tmp_path, tmp_path / "x", Job(context={}, command=("true",)))


def _writing(variable: str, text: str, tmp_path: Path) -> Result:
    (tmp_path / "workspace").mkdir()
    program = f"import os; open(os.environ['{variable}'], 'w').write({text})"
    return run(tmp_path / "workspace", tmp_path / "runner", Job(command=(sys.executable, "-c", program)))


def test_a_summary_that_is_too_long_is_lost(tmp_path: Path) -> None:
    assert _writing("GITHUB_STEP_SUMMARY", "'x' * (1024 * 1024 + 1)", tmp_path).summary == ""


def test_outputs_that_are_too_large_fail_the_job(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="larger than GitHub takes"):
        _writing("GITHUB_OUTPUT", "'a=' + 'x' * 600_000", tmp_path)


@pytest.mark.parametrize("text", ["no sign\n", "a<<end\nvalue\n", "=x\n"])
def test_what_the_runner_cannot_read_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid format|delimiter not found"):
        dict(pairs(text))


def test_secrets_are_no_arguments_of_the_container() -> None:
    variables = {
        "INPUT_TOKEN": "one",
        "FLUX_UPGRADE_SYNC_TOKEN": "two",
        "GITHUB_TOKEN": "three",
        "HOME": "/github/home",
    }
    command = run_command("image", Container(variables, [], "/"))
    assert not [argument for argument in command if argument.rpartition("=")[2] in {"one", "two", "three"}]
    assert {*variables} <= environment(variables).keys()
    assert environment(variables)["HOME"] == os.environ["HOME"]  # noqa: TID251 podman's


def test_pairs() -> None:
    assert dict(pairs("")) == {}
    assert dict(pairs("a=1\n\nb<<x\n\nx=2\nx\nc=\n")) == {"a": "1", "b": "\nx=2", "c": ""}
