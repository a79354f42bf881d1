"""`check --format` prints what code scanning, annotations and programs read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

import txtar
from api_use_runs import plant, resource, run
from real_parts import missing
from stand_in.fetch_schemas import SARIF

ACTIONS = {"GITHUB_ACTIONS": "true"}
CASE = Path(__file__).resolve().parent.parent / "cases" / "check-behaviour.txtar"


def changing() -> dict[str, str]:
    """A repository in which resources behave differently after the upgrade."""
    return {path: content.decode() for path, content in txtar.read(CASE).under("before").items()}


@pytest.fixture
def source(written_source: Path) -> Path:
    return written_source


def test_each_use_that_breaks_is_a_result(tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, {"apps/a b.yaml": resource(), "b.md": resource()}), source, "check", "--format=sarif")
    assert ran.code == 7
    (found,) = json.loads(ran.out)["runs"]
    (result,) = found["results"]  # what only text mentions is none
    assert (result["ruleId"], result["level"]) == ("api-removed", "error")
    assert "flux-upgrade migrate" in result["message"]["text"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "apps/a%20b.yaml", "uriBaseId": "%SRCROOT%"}
    assert place["physicalLocation"]["region"] == {"startLine": 1}
    assert found["invocations"][0]["executionSuccessful"]


def test_changes_of_behavior_are_warnings_with_their_source(tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, changing()), source, "check", "--format=sarif", "--to=v2.8.8")
    (found,) = json.loads(ran.out)["runs"]
    rules = {each["id"]: each for each in found["tool"]["driver"]["rules"]}
    levels = {each["ruleId"]: each["level"] for each in found["results"]}
    assert set(levels.values()) == {"warning"}
    assert {rules[name]["helpUri"].partition("/")[0] for name in levels} == {"https:"}


def test_what_could_not_be_read_is_a_notification(tmp_path: Path, source: Path) -> None:
    os.mkfifo(plant(tmp_path, {"a.yaml": resource()}) / "gotk-components.yaml")
    ran = run(tmp_path, source, "check", "--format=sarif")
    (found,) = json.loads(ran.out)["runs"]
    (invocation,) = found["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("gotk-components.yaml: ")
    assert len(found["results"]) == 1, "all the rest was checked"


@pytest.mark.real_part("the schema of SARIF")
@pytest.mark.parametrize("files", [{}, {"a.yaml": resource()}, changing()])
def test_the_published_schema_takes_it(files: dict[str, str], tmp_path: Path, source: Path) -> None:
    if not SARIF.exists():
        missing("no schema of SARIF: run make schemas")
    ran = run(plant(tmp_path, {"x.yaml": "a: b\n", **files}), source, "check", "--format=sarif")
    jsonschema.Draft4Validator(json.loads(SARIF.read_text(encoding="utf-8"))).validate(json.loads(ran.out))


def test_formats_are_chosen_whatever_runs_the_step(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a.yaml": resource()})
    plain = run(tmp_path, source, "check")
    assert run(tmp_path, source, "check", "--format=text", env=ACTIONS).out == plain.out
    assert "::error" not in run(tmp_path, source, "check", "--format=json", env=ACTIONS).err
    assert ",file=a.yaml,line=1::" in run(tmp_path, source, "check", "--format=github").err
    assert run(tmp_path, source, "check", "--format=json").value == run(tmp_path, source, "check", "--json").value


def test_two_formats_are_refused(tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, {}), source, "check", "--format=text", "--json")
    assert (ran.code, "--json and --format cannot be combined" in ran.err) == (2, True)
