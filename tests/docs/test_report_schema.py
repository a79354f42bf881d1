"""docs/reference/report.schema.json is the report of the Action."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from github_stand_in import Repository, StandIn
from jsonschema import Draft202012Validator

from cases_on_disk import case_named
from flux_upgrade import main
from flux_upgrade.action.action_yml import REPORT_FILE, Outcome
from flux_upgrade.action.artifact_report import artifact_run_value
from flux_upgrade.model.errors import EditConflict, FluxUpgradeError, ForbiddenByForge, Overtaken, Unverified
from flux_upgrade.planning.proposal import Action
from promotion.promoting import NOBODY, VERIFYING, registry, run

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SCHEMA = json.loads((REFERENCE / "report.schema.json").read_text())
PLAN = json.loads((REFERENCE / "plan.schema.json").read_text())
DEFINITIONS = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)
OURS = (
    "installation",
    "migration",
    "decision",
    "pull-request",
    "failure",
    "step",
    "warning",
    "dashboard",
    "artifact",
    "pushed",
)
DIGEST = f"sha256:{'0' * 64}"
NOTHING: Mapping[str, str] = {}
PERMISSIONS = {"contents": "write", "pull-requests": "write", "issues": "write", "statuses": "write"}


@dataclass
class Fleet:
    """A repository on the stand-in, and the Action in it."""

    hub: StandIn
    hosted: Repository
    source: Path
    folder: Path

    def run(self, inputs: Mapping[str, str] = NOTHING, permissions: Mapping[str, str] = PERMISSIONS) -> tuple[int, Any]:
        """One step of a job. Returns the exit code and the report."""
        temp = self.folder / f"temp-{len(list(self.folder.iterdir()))}"
        workspace = temp / "workspace"
        subprocess.run(  # noqa: S603 git, as real as elsewhere
            ["git", "clone", "-q", f"file://{self.hosted.git}", workspace],  # noqa: S607
            check=True,
        )
        env = {
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_REPOSITORY": "acme/fleet",
            "GITHUB_SERVER_URL": self.hub.url,
            "GITHUB_API_URL": self.hub.api_url,
            "GITHUB_GRAPHQL_URL": self.hub.graphql_url,
            "RUNNER_TEMP": str(temp),
            "INPUT_TOKEN": self.hub.token("actions", permissions).value,
            "INPUT_RELEASE-SOURCE": str(self.source),
            **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
        }
        with contextlib.chdir(workspace):
            code = main.run(["action"], env, io.BytesIO(), io.StringIO())
        return code, json.loads((temp / REPORT_FILE).read_text())


@pytest.fixture
def fleet(request: pytest.FixtureRequest, written_source: Path, tmp_path: Path) -> Iterator[Fleet]:
    """``request.param``: the case whose tree it holds."""
    name = getattr(request, "param", "exact-default")
    (tmp_path / "runs").mkdir()
    with StandIn(tmp_path / "hub") as hub:
        hosted = hub.create_repository("acme/fleet", case_named(name).before)
        yield Fleet(hub, hosted, written_source, tmp_path / "runs")


def valid(report: Any) -> Any:
    assert list(VALIDATOR.iter_errors(report)) == []
    return report


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_what_the_plan_has_it_has_too() -> None:
    others = ("installation", "reported", "artifact", "migration")
    shared = {name: each for name, each in PLAN["$defs"].items() if name not in others}
    assert shared.items() <= DEFINITIONS.items()
    for name in ("installation", "migration"):
        ours, theirs = DEFINITIONS[name], PLAN["$defs"][name]
        assert ours["required"] == [*theirs["required"], "update-group"]
        assert theirs["properties"].items() <= ours["properties"].items()


def test_every_enumeration_is_the_programs() -> None:
    assert set(SCHEMA["properties"]["outcome"]["enum"]) == set(Outcome)
    actions = DEFINITIONS["pull-request"]["properties"]["action"]["enum"]
    assert actions == [each for each in Action if each is not Action.NONE]


def test_every_object_of_ours_is_closed_and_asks_for_all_of_its_fields() -> None:
    for each in (SCHEMA, *(DEFINITIONS[name] for name in OURS)):
        assert each["additionalProperties"] is False
        at_times = ("warnings", "dashboard", "artifact") if each is SCHEMA else ()
        always = [name for name in each["properties"] if name not in at_times]
        assert each["required"] == always


def test_the_life_of_a_pull_request(fleet: Fleet) -> None:
    seen, opened = [], []
    for inputs in ({"dry-run": "true"}, {}, {}, {"approve": "2.9"}, {"range": "<2.9"}):
        code, report = fleet.run(inputs)
        (pull,) = valid(report)["pull-requests"]
        seen.append((code, report["outcome"], pull["action"], pull["number"]))
        opened.append(pull["created-at"])
        assert report["repository-url"] == f"{fleet.hub.url}/acme/fleet"
    assert seen == [
        (0, "held", "opened", None),
        (0, "opened", "opened", 1),
        (0, "none", "unchanged", 1),
        (0, "updated", "updated", 1),
        (0, "none", "unchanged", 1),
    ]
    assert opened[:2] == [None, None]
    assert all(opened[2:])


def test_a_dashboard_is_in_it(fleet: Fleet) -> None:
    fleet.hosted.commit({".github/flux-upgrade.yaml": b"dashboard: true\n"}, "Configure\n")
    _, report = fleet.run()
    assert valid(report)["dashboard"]["action"] == "opened"


@pytest.mark.parametrize("fleet", ["group-without-a-match"], indirect=True)
def test_a_group_without_a_match_is_a_warning(fleet: Fleet) -> None:
    code, report = fleet.run({"dry-run": "true"})
    assert (code, valid(report)["failures"]) == (0, [])
    (warning,) = report["warnings"]
    assert warning["message"].startswith('group "production" matches nothing: paths clusters/prod/**')


@pytest.mark.parametrize(
    ("fleet", "inputs", "permissions", "failure"),
    [
        pytest.param("up-to-date", {}, PERMISSIONS, None, id="up-to-date"),
        pytest.param("flux-v0", {}, PERMISSIONS, Unverified, id="unverified"),
        pytest.param("conflict-in-one-of-two", {"policy": "minor"}, PERMISSIONS, EditConflict, id="conflict"),
        pytest.param("exact-default", {}, {"contents": "read"}, ForbiddenByForge, id="forbidden"),
    ],
    indirect=["fleet"],
)
def test_other_ends_are_valid(
    fleet: Fleet, inputs: Mapping[str, str], permissions: Mapping[str, str], failure: type[FluxUpgradeError] | None
) -> None:
    code, report = fleet.run(inputs, permissions)
    valid(report)
    assert code == (0 if failure is None else failure.exit_code)
    assert [each["slug"] for each in report["failures"]] == ([] if failure is None else [failure.slug])
    assert (report["outcome"] == "failed") is (failure is not None)


@pytest.mark.parametrize(
    ("version", "is_verified", "written", "outcome", "promotes"),
    [
        pytest.param("v2.8.7", False, True, "updated", True, id="promoted"),
        pytest.param("v2.8.7", False, False, "held", True, id="dry-run"),
        pytest.param("v2.8.7", True, True, "held", False, id="needs-a-signature"),
        pytest.param("v2.8.8", False, True, "held", False, id="a-minor-waits"),
        pytest.param("v2.9.4", False, True, "none", False, id="up-to-date"),
    ],
)
def test_a_run_about_an_artifact_is_valid(
    version: str, outcome: str, *, is_verified: bool, written: bool, promotes: bool
) -> None:
    done = run(registry(version), clusters=VERIFYING if is_verified else NOBODY)
    report = valid(artifact_run_value(done, written=written))
    assert report["outcome"] == outcome
    assert (report["artifact"]["promoted"] is not None) is promotes
    assert (report["artifact"]["kept"] is not None) is (version != "v2.9.4")


def test_a_failed_run_about_an_artifact_is_valid() -> None:
    using = registry("v2.8.7")

    def move(call: str) -> None:
        if call == "digest production":
            using.named["production"] = DIGEST

    using.before = move
    report = valid(artifact_run_value(run(using), written=True))
    assert (report["outcome"], report["artifact"]["promoted"]) == ("failed", None)
    assert [each["slug"] for each in report["failures"]] == [Overtaken.slug]


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(lambda each: each.pop("kept"), id="field-missing"),
        pytest.param(lambda each: each.update(tag="production"), id="field-unknown"),
        pytest.param(lambda each: each.update(kept=""), id="kept-empty"),
        pytest.param(lambda each: each.update(promoted="production"), id="promoted-to-a-tag"),
        pytest.param(lambda each: each["pushed"][0].pop("digest"), id="digest-unsaid"),
    ],
)
def test_a_mutated_report_of_an_artifact_is_refused(mutate: Callable[[Any], Any]) -> None:
    report = valid(artifact_run_value(run(registry("v2.8.7")), written=True))
    mutate(report["artifact"])
    assert not VALIDATOR.is_valid(report)


def test_a_run_about_a_tree_tells_of_no_artifact(report: Any) -> None:
    assert "artifact" not in report


def _pull(**fields: Any) -> Callable[[Any], Any]:
    return lambda report: report["pull-requests"][0].update(fields)


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(lambda each: each.pop("calls"), id="field-missing"),
        pytest.param(lambda each: each.update(diff=""), id="field-unknown"),
        pytest.param(lambda each: each.update(outcome="done"), id="outcome-unknown"),
        pytest.param(lambda each: each["installations"][0].pop("update-group"), id="update-group-missing"),
        pytest.param(lambda each: each["failures"].append({"slug": "x"}), id="failure-without-message"),
        pytest.param(_pull(action="none"), id="action-unknown"),
        pytest.param(_pull(number=0), id="number-zero"),
        pytest.param(_pull(reason="busy"), id="reason-unknown"),
        pytest.param(_pull(target="2.9"), id="target-without-v"),
    ],
)
def test_a_mutated_report_is_refused(mutate: Callable[[Any], Any], report: Any) -> None:
    mutated = copy.deepcopy(report)
    mutate(mutated)
    assert not VALIDATOR.is_valid(mutated)


@pytest.fixture(scope="module")
def report(written_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Of a run that opened a pull request."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "runs").mkdir()
    with StandIn(folder / "hub") as hub:
        hosted = hub.create_repository("acme/fleet", case_named("exact-default").before)
        _, report = Fleet(hub, hosted, written_source, folder / "runs").run()
    return valid(report)
