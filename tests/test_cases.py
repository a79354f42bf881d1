"""Adding a folder to ``tests/cases`` adds a test: ``pytest --update-golden`` writes what it should give."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases_on_disk import Case, Ground, all_cases, contents, ground_of

CASES = [pytest.param(case, id=case.name) for case in all_cases()]


@pytest.fixture
def ground(case: Case, tmp_path: Path) -> Iterator[Ground]:
    with ground_of(case, tmp_path) as ground:
        yield ground


@pytest.fixture
def source(case: Case, written_source: Path, tmp_path: Path) -> Path:
    return case.source(written_source, tmp_path / "releases")


@pytest.mark.parametrize("case", CASES)
def test_a_case_gives_its_tree_report_and_exit_code(
    case: Case, ground: Ground, source: Path, request: pytest.FixtureRequest
) -> None:
    inspected = ground.run(source, ["inspect"])
    assert ground.contents() == contents(case.before), "inspect writes nothing"
    ran = ground.run(source, case.args)
    report = f"{inspected.transcript()}\n{ran.transcript()}"
    if request.config.getoption("--update-golden"):
        _write(case, ground.contents(), report)

    assert ran.exit_code == case.exit_code, report
    assert ground.contents() == contents(case.after if case.after.exists() else case.before)
    assert report == case.report.read_bytes().decode()


@pytest.mark.parametrize("case", CASES)
def test_another_run_changes_nothing(case: Case, ground: Ground, source: Path) -> None:
    last = ground.run(source, case.args)
    for _ in range(case.runs - 1):
        before = ground.contents()
        last = ground.run(source, case.args)
        assert ground.contents() != before
    done = ground.contents()
    again = ground.run(source, case.args)
    assert ground.contents() == done
    assert again.exit_code == last.exit_code
    assert "· written" not in again.out


def test_an_after_that_changes_nothing_is_left_out() -> None:
    same = [
        case.name
        for case in all_cases()
        if case.after.exists() and contents(case.after) == contents(case.before)
    ]
    assert not same


def _write(case: Case, tree: dict[str, bytes], report: str) -> None:
    shutil.rmtree(case.after, ignore_errors=True)
    if tree != contents(case.before):
        for path, content in tree.items():
            target = case.after / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    case.report.write_bytes(report.encode())
