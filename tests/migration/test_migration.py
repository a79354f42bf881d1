"""A migration gives the file and the report of its case, touches nothing else, and keeps what the fields mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

import txtar
from flux_upgrade.assessment.search import in_use, searched, suspects
from flux_upgrade.config.config import Config
from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.result import Migrated, Move
from memory import MemoryTree
from migration_cases import CASES, MigrationCase, case_of
from spans import assert_kept_outside
from written_apis import schema, served


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_gives_its_file_and_report(path: Path, *, update_golden: bool) -> None:
    case = case_of(path)
    apis = case.apis(served, schema)
    found = case.migrate(case.before, apis)
    if update_golden:
        txtar.write(path, case.with_result(found))
    assert txtar.render(case.with_result(found)) == path.read_text()

    assert found_among_others(case, apis) == found
    if found is None:
        return
    assert_kept_outside(case.before, found.new, [each for move in found.moves for each in move.edits])
    again = case.migrate(found.new, apis)
    assert again is None or not again.moves, "a second migration moves something"
    assert list(reasons(again)) == list(reasons(found)), "a second migration leaves something else"
    if any(move.fields for move in found.moves):
        fields_mean_what_they_meant(case, found, apis)


def found_among_others(case: MigrationCase, apis: Apis) -> Migrated | None:
    """The migration of the file in a repository whose other files have nothing of Flux's."""
    others = {f"a/{number}.yaml": b"kind: ConfigMap\n" for number in range(4)}
    tree = MemoryTree(others | {case.path: case.before})
    given = suspects(tree, searched(tree, "", Config()), (), apis.target).uses
    assert set(given) <= {case.path}, "a file without Flux's APIs is looked at"
    found = in_use(tree, [*others, *given], {case.path} if case.patch else (), apis.target, lambda _: apis)
    assert len(found) <= 1
    return found[0] if found else None


def reasons(found: Migrated | None) -> Iterator[tuple[str, ...]]:
    """Without lines: those change where fields do."""
    for each in found.lefts if found else ():
        yield each.use.kind, each.reason, each.detail


def fields_mean_what_they_meant(case: MigrationCase, found: Migrated, apis: Apis) -> None:
    """By Flux's own description of the fields, without the rules of the program."""
    old, new = case.find(case.before, apis), case.find(found.new, apis)
    assert old is not None
    assert new is not None
    moves = {move.use.start: move for move in found.moves}
    has_inner = any(move.use.place is UsePlace.PATCH for move in found.moves)
    for was, became in zip(old.objects, new.objects, strict=True):
        move = moves.get(was.start)
        # Versions are migrated in patches inside of a resource as well.
        if move is not None and not (was.place is UsePlace.RESOURCE and has_inner):
            assert with_parsed_patches(became.data()) == with_parsed_patches(successor(was.data(), move))


def successor(data: dict[str, Any], move: Move) -> dict[str, Any]:
    """The same object in the version that it moves to."""
    data = deepcopy(data)
    data["apiVersion"] = f"{move.use.group}/{move.to}"
    if any(each.startswith("status ") for each in move.fields):
        del data["status"]
    spec = data.get("spec") or {}
    for gone in ("validation", "gitImplementation", "accessFrom"):
        if move.use.kind != "ImageRepository":
            spec.pop(gone, None)
    for chart in (spec.get("chart", {}).get("spec") if isinstance(spec.get("chart"), dict) else None, spec):
        if isinstance(chart, dict) and "valuesFile" in chart:
            first = chart.pop("valuesFile")
            if first:
                chart["valuesFiles"] = [first, *(chart.get("valuesFiles") or [])]
    for patched in (spec, *(each.get("kustomize", {}) for each in spec.get("postRenderers") or ())):
        strategic = patched.pop("patchesStrategicMerge", None) or []
        operations = patched.pop("patchesJson6902", None) or []
        patches = [*({"patch": each} for each in strategic), *(patched.get("patches") or ()), *operations]
        if patches:
            patched["patches"] = patches
    if not spec:
        data.pop("spec", None)
    return data


def with_parsed_patches(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            key: yaml.safe_load(value) if key == "patch" and isinstance(value, str) else with_parsed_patches(value)
            for key, value in data.items()
        }
    return [with_parsed_patches(each) for each in data] if isinstance(data, list) else data


def test_there_are_cases_of_each_outcome() -> None:
    cases = [case_of(path).archive for path in CASES]
    assert len(cases) >= 150
    assert sum(not each.under("after") for each in cases) >= 50, "unchanged"
    fields_change = re.compile(r" → \S+\n  ")
    assert sum(bool(fields_change.search(each.text("report"))) for each in cases) >= 60, "other fields"
