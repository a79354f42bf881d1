"""Adding a folder to ``tests/kinds/<kind>`` adds a test: ``pytest --update-golden`` writes what it should give."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from kind_cases import KindCase, all_cases, carry_out

from flux_upgrade.kinds import PIN_KINDS
from flux_upgrade.textedit import decoded

CASES = all_cases()
PARAMETERS = [pytest.param(case, id=case.name) for case in CASES]


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_case_gives_its_tree_and_its_pins(case: KindCase, request: pytest.FixtureRequest) -> None:
    before = case.files("before")
    carried = carry_out(case, before)
    if request.config.getoption("--update-golden"):
        _write(case, before, carried.files, carried.told)

    assert carried.told == (case.folder / "pins.txt").read_text()
    assert carried.files == (case.files("after") if case.is_change else before)


@pytest.mark.parametrize("case", PARAMETERS)
def test_applied_twice_equals_applied_once(case: KindCase) -> None:
    once = carry_out(case, case.files("before")).files

    assert carry_out(case, once).files == once


@pytest.mark.parametrize("case", PARAMETERS)
def test_every_byte_outside_the_spans_stays(case: KindCase) -> None:
    before = case.files("before")
    carried = carry_out(case, before)

    for path, content in before.items():
        spans = sorted(
            {each for pin, change in carried.changes if pin.path == path for each in change.replacements}
        )
        old, new = decoded(content), decoded(carried.files[path])
        kept_old, kept_new, at_old, at_new = [], [], 0, 0
        for each in spans:
            kept_old.append(old[at_old : each.start])
            gap = each.start - at_old
            kept_new.append(new[at_new : at_new + gap])
            assert new[at_new + gap :].startswith(each.new)
            at_old, at_new = each.end, at_new + gap + len(each.new)
        assert [*kept_old, old[at_old:]] == [*kept_new, new[at_new:]]


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_case_lies_in_the_folder_of_its_kind(case: KindCase) -> None:
    assert case.kind in {kind.NAME for kind in PIN_KINDS}


@pytest.mark.parametrize("name", [kind.NAME for kind in PIN_KINDS])
def test_each_kind_has_its_changes_and_no_ops(name: str) -> None:
    own = [case for case in CASES if case.kind == name]

    assert sum(case.is_change for case in own) >= 12
    assert sum(not case.is_change for case in own) >= 8


def _write(case: KindCase, before: Mapping[str, bytes], after: Mapping[str, bytes], told: str) -> None:
    (case.folder / "pins.txt").write_text(told)
    root = case.folder / "after"
    shutil.rmtree(root, ignore_errors=True)
    if after != before:
        for path, content in after.items():
            target = Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
