"""Adding a folder to ``tests/migration`` adds a test: ``pytest --update-golden`` writes what it should give."""

from __future__ import annotations

import pytest

from migration_cases import MigrationCase, all_cases, migrated, told
from spans import assert_kept_outside
from written_apis import schema, served

CASES = [pytest.param(case, id=case.name) for case in all_cases()]


@pytest.mark.parametrize("case", CASES)
def test_case(case: MigrationCase, request: pytest.FixtureRequest) -> None:
    before = case.before.read_bytes()
    found = migrated(case, before, case.apis(served, schema))
    after = before if found is None else found.new

    if request.config.getoption("--update-golden"):
        case.told.write_text(told(found))
        if after != before:
            case.after.write_bytes(after)
        else:
            case.after.unlink(missing_ok=True)
    assert told(found) == case.told.read_text()
    assert after == (case.after.read_bytes() if case.after.exists() else before)


@pytest.mark.parametrize("case", CASES)
def test_twice_is_once(case: MigrationCase) -> None:
    apis = case.apis(served, schema)
    found = migrated(case, case.before.read_bytes(), apis)
    if found is None:
        return
    again = migrated(case, found.new, apis)

    assert list(again.moves if again is not None else ()) == []
    # Lines move where fields become others; reasons stay.
    left = [(each.use.kind, each.reason, each.detail) for each in found.lefts]
    assert left == [(each.use.kind, each.reason, each.detail) for each in (again.lefts if again else ())]


@pytest.mark.parametrize("case", CASES)
def test_nothing_else_is_touched(case: MigrationCase) -> None:
    before = case.before.read_bytes()
    found = migrated(case, before, case.apis(served, schema))
    if found is not None:
        assert_kept_outside(before, found.new, [each for move in found.moves for each in move.edits])


def test_there_are_many() -> None:
    assert len(CASES) >= 150
    assert sum(not case.after.exists() for case in all_cases()) >= 50
