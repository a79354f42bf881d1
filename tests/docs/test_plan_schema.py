"""docs/reference/plan.schema.json is what ``plan --json`` prints."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import written_release
from jsonschema import Draft202012Validator

from cases_on_disk import PATHS, case_named, read_case, run_in, staged, write_tree
from discovered import manifests_in
from flux_upgrade.artifacts.report_text import artifact_plan_json
from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.overlay.result import OverlayVerdict
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.registry import PIN_KINDS
from flux_upgrade.planning.plan import Plan
from flux_upgrade.policy.decision import BumpKind, ChangeKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.overview_text import Commands
from flux_upgrade.report.plans import plan_value
from memory import MemoryTree, regenerator, rendered
from promotion.promoting import VERIFYING, registry, run

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SCHEMA = json.loads((REFERENCE / "plan.schema.json").read_text())
DEFINITIONS = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)
IMPACT = ("impact", "place", "use", "stored", "refused", "break", "overlay", "finding", "kubernetes", "changes")
AT_TIMES = ("unfollowed", "known", "base", "identical-to", "crds-to-bring", "broken-files", "not-applied")
"""Fields of an impact that are there if they say something."""

OURS = ("drift", "installation", "decision", "reported", "artifact", "pushed", "migration", "crd-change", *IMPACT)


def planned(source: Path, folder: Path, *flags: str) -> Any:
    """What ``plan --json`` prints in a tree outside of any checkout."""
    tree = write_tree(folder / "tree", case_named("exact-default").before)
    ran = run_in(tree, source, ["plan", "--json", *flags])
    assert ran.exit_code == 0, ran.err
    return json.loads(ran.out)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in PATHS])
def test_every_case_is_valid(path: Path, written_source: Path, tmp_path: Path) -> None:
    with staged(read_case(path), tmp_path, written_source) as tree:
        ran = tree.run(["plan", "--json"])
    if ran.exit_code:
        assert not ran.out, "what cannot be planned has no plan"
    else:
        assert list(VALIDATOR.iter_errors(json.loads(ran.out))) == []


def test_a_release_with_the_files_of_the_one_in_use(tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "source", ("v2.8.7",))
    written_release.write_release(source, "v2.8.8", written_release.files("v2.8.7"))
    (source / "releases.json").write_text('[{"tag_name": "v2.8.8"}, {"tag_name": "v2.8.7"}]')
    tree = write_tree(tmp_path / "tree", {"gotk-components.yaml": rendered(InstallOptions("v2.8.7")).encode()})
    report = json.loads(run_in(tree, source, ["plan", "--json"]).out)
    assert list(VALIDATOR.iter_errors(report)) == []
    (decision,) = report["installations"][0]["decisions"]
    assert decision["impact"]["identical-to"] == "v2.8.7"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param((), [("minor", "upgrade", False, None)], id="a-minor-waits"),
        pytest.param(("--policy=minor",), [("minor", "upgrade", True, None)], id="a-minor-flows"),
        pytest.param(("--approve=2.9",), [("minor", "upgrade", True, None)], id="approved"),
        pytest.param(("--range=<2.9",), [("minor", "hold", None, "out-of-range")], id="out-of-range"),
    ],
)
def test_a_plan_says_what_the_policy_says(
    flags: tuple[str, ...], expected: list[tuple[Any, ...]], written_source: Path, tmp_path: Path
) -> None:
    report = planned(written_source, tmp_path, *flags)
    assert list(VALIDATOR.iter_errors(report)) == []
    (installation,) = report["installations"]
    fields = ("bump", "action", "approved", "reason")
    assert [tuple(each[name] for name in fields) for each in installation["decisions"]] == expected


@pytest.mark.parametrize("reason", HoldReason)
def test_every_hold_is_valid(reason: HoldReason) -> None:
    tree = MemoryTree({"gotk-components.yaml": rendered(InstallOptions("v2.8.8")).encode()})
    (found,) = manifests_in(tree, regenerator())
    day = "2026-09-01T00:00:00Z"
    holds = (
        Hold(reason, "why", "what to do", bump_kind=BumpKind.MAJOR, target=Version("v3.0.0"), since=day, until=day),
        Hold(reason),
    )
    value = plan_value(Plan(found, found.path, holds), "clusters/a")
    report = {"drift": [], "installations": [value], "migrations": [], "reported": [], "steps": []}
    assert list(VALIDATOR.iter_errors(report)) == []


@pytest.mark.parametrize("approve", [pytest.param((), id="a-minor-waits"), pytest.param(("2.9",), id="approved")])
def test_the_plan_of_an_artifact_is_valid(approve: tuple[str, ...]) -> None:
    using = registry("v2.8.7")
    # Once before anything was pushed, once after all of it was.
    for is_new in (True, False):
        report = json.loads(artifact_plan_json(run(using, approve=approve, clusters=VERIFYING).plan, Commands().typed))
        assert list(VALIDATOR.iter_errors(report)) == []
        assert {each["new"] for each in report["artifact"]["pushed"]} == {is_new}


def test_only_an_artifact_is_reported_as_one(written_source: Path, tmp_path: Path) -> None:
    assert "artifact" not in planned(written_source, tmp_path)
    assert "artifact" not in SCHEMA["required"]


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(lambda each: each.pop("pushed"), id="field-missing"),
        pytest.param(lambda each: each.update(promoted=None), id="field-of-a-run"),
        pytest.param(lambda each: each.update(address="ghcr.io/org/flux:production"), id="address-without-scheme"),
        pytest.param(lambda each: each.update(digest="sha256:0"), id="digest-too-short"),
        pytest.param(lambda each: each["pushed"][0].update(version="2.8.8"), id="version-without-v"),
        pytest.param(lambda each: each["pushed"][0].update(new=None), id="new-or-not-unsaid"),
    ],
)
def test_a_mutated_plan_of_an_artifact_is_refused(mutate: Callable[[Any], Any]) -> None:
    report = json.loads(artifact_plan_json(run(registry("v2.8.7")).plan, Commands().typed))
    assert VALIDATOR.is_valid(report)
    mutate(report["artifact"])
    assert not VALIDATOR.is_valid(report)


def test_every_enumeration_is_the_programs() -> None:
    for name in (pin.NAME, pin.INSTALL, *(kind.name for kind in PIN_KINDS)):
        assert re.fullmatch(DEFINITIONS["kind"]["pattern"], name)
    assert DEFINITIONS["bump"]["enum"] == list(BumpKind)
    assert DEFINITIONS["reason"]["enum"] == list(HoldReason)
    assert DEFINITIONS["change-kind"]["enum"] == list(ChangeKind)
    assert DEFINITIONS["place-kind"]["enum"] == list(UsePlace)
    assert DEFINITIONS["finding"]["properties"]["verdict"]["enum"] == list(OverlayVerdict)


def test_every_object_of_ours_is_closed_and_asks_for_all_of_its_fields() -> None:
    for name in OURS:
        assert DEFINITIONS[name]["additionalProperties"] is False
        at_times = AT_TIMES if name == "impact" else ()
        always = [each for each in DEFINITIONS[name]["properties"] if each not in at_times]
        assert DEFINITIONS[name]["required"] == always, name


def _with(**fields: Any) -> Callable[[Any], Any]:
    return lambda installation: installation["decisions"][0].update(fields)


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(lambda each: each.pop("current"), id="field-missing"),
        pytest.param(lambda each: each.update(version="v2.8.8"), id="field-unknown"),
        pytest.param(lambda each: each.update(current="2.8.8"), id="version-without-v"),
        pytest.param(lambda each: each.update(decisions=[]), id="nothing-decided"),
        pytest.param(_with(action="skip"), id="action-unknown"),
        pytest.param(_with(bump="prerelease"), id="bump-unknown"),
        pytest.param(_with(target=None), id="upgrade-without-target"),
        pytest.param(_with(approved=None), id="upgrade-without-approval"),
        pytest.param(_with(reason="up-to-date"), id="upgrade-with-reason"),
        pytest.param(_with(action="hold"), id="hold-without-reason"),
        pytest.param(_with(action="hold", approved=None, reason="busy"), id="reason-unknown"),
        pytest.param(_with(since="yesterday"), id="upgrade-with-day"),
    ],
)
def test_a_mutated_plan_is_refused(mutate: Callable[[Any], Any], written_source: Path, tmp_path: Path) -> None:
    report = planned(written_source, tmp_path)
    assert VALIDATOR.is_valid(report)
    mutated = copy.deepcopy(report)
    mutate(mutated["installations"][0])
    assert not VALIDATOR.is_valid(mutated)
