"""What fields became means what they meant: told from the data alone, without the rules of the program."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import yaml

from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.migrate.result import Migrated, Move
from migration_cases import MigrationCase, all_cases, migrated
from written_apis import schema, served

NAMES = {case.name: case for case in all_cases()}


def _with_fields(case: MigrationCase) -> bool:
    found = migrated(case, case.before.read_bytes(), case.apis(served, schema))
    return found is not None and any(move.fields for move in found.moves)


CHANGED = sorted(name for name, case in NAMES.items() if _with_fields(case))


@pytest.mark.parametrize("name", CHANGED)
def test_fields_mean_what_they_meant(name: str) -> None:
    case = NAMES[name]
    before = case.before.read_bytes()
    apis = case.apis(served, schema)
    found = migrated(case, before, apis)
    assert found is not None
    old, new = case.find(before, apis), case.find(found.new, apis)
    assert old is not None
    assert new is not None

    for was, became in zip(old.objects, new.objects, strict=True):
        move = _move_of(found, was.start)
        if move is not None and not (was.place is UsePlace.RESOURCE and _has_inner(found)):
            assert _plain(became.data()) == _plain(_expected(was.data(), move))


def test_there_are_such() -> None:
    assert len(CHANGED) >= 60


def _move_of(found: Migrated, start: int) -> Move | None:
    return next((move for move in found.moves if move.use.start == start), None)


def _has_inner(found: Migrated) -> bool:
    """Whether there are patches of Flux's resources inside of a resource, whose versions move as well."""
    return any(move.use.place is UsePlace.PATCH for move in found.moves)


def _expected(data: dict[str, Any], move: Move) -> dict[str, Any]:
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


def _plain(data: Any) -> Any:
    """With the texts of patches read."""
    if isinstance(data, dict):
        return {
            key: yaml.safe_load(value) if key == "patch" and isinstance(value, str) else _plain(value)
            for key, value in data.items()
        }
    return [_plain(each) for each in data] if isinstance(data, list) else data
