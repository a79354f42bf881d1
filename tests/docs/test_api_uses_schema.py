"""docs/reference/api-uses.schema.json is what ``check --json`` and ``migrate --json`` print."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from api_use_runs import left, plant, resource, run
from cases_on_disk import PATHS, read_case, staged
from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.migrate.result import Reason

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SCHEMA = json.loads((REFERENCE / "api-uses.schema.json").read_text())
DEFINITIONS = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)
CASES = [path for path in PATHS if path.stem.startswith("api-versions-")]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("command", ["check", "migrate"])
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CASES])
def test_every_case_is_valid(path: Path, command: str, written_source: Path, tmp_path: Path) -> None:
    with staged(read_case(path), tmp_path, written_source) as tree:
        report = json.loads(tree.run([command, "--json"]).out)
    assert list(VALIDATOR.iter_errors(report)) == []
    assert report["uses"]


@pytest.fixture
def report(written_source: Path, tmp_path: Path) -> Any:
    """With a use that was moved, one that is left, and a mention in a text."""
    plant(tmp_path, {"a.yaml": resource(), "b.yaml": left(), "c.md": resource()})
    return run(tmp_path, written_source, "migrate", "--json", "--from=v2.8.8").value


def test_a_report_of_each_action_is_valid(report: Any) -> None:
    assert list(VALIDATOR.iter_errors(report)) == []
    fields = ("path", "action", "to", "written", "reason", "breaks")
    assert [tuple(use[name] for name in fields) for use in report["uses"]] == [
        ("a.yaml", "move", "v1", True, None, False),
        ("b.yaml", "leave", None, False, "unknown-kind", True),
        ("c.md", "leave", None, False, "text", False),
    ]
    assert report["counts"] == {
        "moves": 1,
        "by-hand": 1,
        "texts": 1,
        "unreadable": 0,
        "unread": 0,
        "metrics": 0,
        "by-text": 0,
        "unchecked": 0,
        "breaking": 1,
    }
    assert (report["target"], report["running"], report["unknown"]) == ("v2.9.4", ["v2.8.8"], [])


def test_every_enumeration_is_the_programs() -> None:
    use = DEFINITIONS["use"]["properties"]
    assert use["place"]["enum"] == list(UsePlace)
    assert use["reason"]["enum"] == [*Reason, None]


def test_every_object_is_closed_and_asks_for_all_of_its_fields() -> None:
    for each in (SCHEMA, *(DEFINITIONS[name] for name in ("use", "unverified", "failure", "counts"))):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])


def _of(at: int, **fields: Any) -> Callable[[Any], Any]:
    return lambda report: report["uses"][at].update(fields)


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(lambda each: each.pop("counts"), id="field-missing"),
        pytest.param(lambda each: each.update(version="v2.9.4"), id="field-unknown"),
        pytest.param(lambda each: each.update(target="2.9.4"), id="version-without-v"),
        pytest.param(lambda each: each.update(running=["latest"]), id="no-release"),
        pytest.param(lambda each: each["uses"][0].pop("place"), id="field-of-a-use-missing"),
        pytest.param(_of(0, line=0), id="line-zero"),
        pytest.param(_of(0, action="skip"), id="action-unknown"),
        pytest.param(_of(0, to=None), id="move-to-nowhere"),
        pytest.param(_of(0, reason="text"), id="move-with-reason"),
        pytest.param(_of(1, to="v1"), id="left-and-moved"),
        pytest.param(_of(1, written=True), id="left-and-written"),
        pytest.param(_of(1, reason="busy"), id="reason-unknown"),
        pytest.param(_of(1, reason=None), id="left-without-reason"),
        pytest.param(_of(1, kind=""), id="kind-empty"),
        pytest.param(_of(1, place="comment"), id="place-unknown"),
        pytest.param(lambda each: each["counts"].update(moves=-1), id="count-negative"),
        pytest.param(lambda each: each["failures"].append({"path": "a"}), id="failure-without-reason"),
    ],
)
def test_a_mutated_report_is_refused(mutate: Callable[[Any], Any], report: Any) -> None:
    mutated = copy.deepcopy(report)
    mutate(mutated)
    assert VALIDATOR.is_valid(report)
    assert not VALIDATOR.is_valid(mutated)
