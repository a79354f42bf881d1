"""docs/reference/inspect.schema.json is what ``inspect --json`` prints."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cases_on_disk import PATHS, Case, case_named, read_case, run_in, write_tree
from flux_upgrade.manifests.images import ImageState
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.manifests.residue import Op
from flux_upgrade.pins.gotk_components import pin as gotk
from flux_upgrade.pins.pin import PinState, Role

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "reference" / "inspect.schema.json").read_text())
DEFINITIONS = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)


def inspected(case: Case, source: Path, folder: Path) -> Any:
    tree = write_tree(folder / "tree", case.before)
    return json.loads(run_in(tree, source, ["inspect", "--json"]).out)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in PATHS])
def test_every_case_is_valid(path: Path, written_source: Path, tmp_path: Path) -> None:
    report = inspected(read_case(path), written_source, tmp_path)
    assert list(VALIDATOR.iter_errors(report)) == []


def test_every_enumeration_is_the_programs() -> None:
    installation = DEFINITIONS["installation"]["properties"]
    assert installation["proof"]["enum"] == list(Verdict)
    assert installation["kind"]["enum"] == [gotk.NAME, gotk.INSTALL]
    pin = DEFINITIONS["pin"]["properties"]
    roles = [each for each in Role if each is not Role.RESOURCES]  # which pin nothing
    assert (pin["role"]["enum"], pin["standing"]["enum"]) == (roles, list(PinState))
    assert DEFINITIONS["controller"]["properties"]["state"]["enum"] == [*ImageState, None]
    assert DEFINITIONS["edit"]["properties"]["op"]["enum"] == list(Op)
    assert DEFINITIONS["flags"]["required"] == list(InstallOptions("").flags())


def test_every_object_of_ours_is_closed_and_asks_for_all_of_its_fields() -> None:
    for name in ("drift", "pin", "counts", "installation", "flags", "controller", "edit"):
        assert DEFINITIONS[name]["additionalProperties"] is False
        assert DEFINITIONS[name]["required"] == list(DEFINITIONS[name]["properties"]), name


def _without(field: str) -> Callable[[Any], Any]:
    return lambda installation: installation.pop(field)


def _with(**fields: Any) -> Callable[[Any], Any]:
    return lambda installation: installation.update({key.replace("_", "-"): new for key, new in fields.items()})


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(_without("proof"), id="field-missing"),
        pytest.param(_with(verdict="edited"), id="field-unknown"),
        pytest.param(_with(proof="fine"), id="verdict-unknown"),
        pytest.param(_with(proof="exact"), id="exact-with-residue"),
        pytest.param(_with(proof="unverified"), id="unverified-with-version"),
        pytest.param(_with(version="2.8.7"), id="version-without-v"),
        pytest.param(_with(version=None), id="proved-without-version"),
        pytest.param(_with(flags={"namespace": "flux-system"}), id="flags-missing"),
        pytest.param(_with(flag_lines={"namespace": 0}), id="line-zero"),
        pytest.param(lambda each: each["controllers"][0].update(state="newer"), id="state-unknown"),
        pytest.param(lambda each: each["controllers"][0].update(tag="v1"), id="controller-field-unknown"),
        pytest.param(lambda each: each["edits"][0].update(op="move"), id="op-unknown"),
        pytest.param(lambda each: each["edits"][0]["object"].pop("group"), id="object-field-missing"),
    ],
)
def test_a_mutated_report_is_refused(mutate: Callable[[Any], Any], written_source: Path, tmp_path: Path) -> None:
    report = inspected(case_named("edits-carried"), written_source, tmp_path)
    assert VALIDATOR.is_valid(report)
    mutated = copy.deepcopy(report)
    mutate(mutated["installations"][0])
    assert not VALIDATOR.is_valid(mutated)
