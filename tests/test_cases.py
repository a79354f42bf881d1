"""Adding a folder to ``tests/cases`` adds a test: ``pytest --update-golden`` writes what it should give."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cases_on_disk import Case, all_cases, contents, run_in

CASES = [pytest.param(case, id=case.name) for case in all_cases()]


@pytest.fixture
def tree(case: Case, tmp_path: Path) -> Path:
    return Path(shutil.copytree(case.before, tmp_path / "tree"))


@pytest.fixture
def source(case: Case, written_source: Path, tmp_path: Path) -> Path:
    return case.source(written_source, tmp_path / "releases")


@pytest.mark.parametrize("case", CASES)
def test_a_case_gives_its_tree_report_and_exit_code(
    case: Case, tree: Path, source: Path, request: pytest.FixtureRequest
) -> None:
    inspected = run_in(tree, source, ["inspect"])
    assert contents(tree) == contents(case.before), "inspect writes nothing"
    ran = run_in(tree, source, case.args)
    report = f"{inspected.transcript()}\n{ran.transcript()}"
    if request.config.getoption("--update-golden"):
        _write(case, contents(tree), report)

    assert ran.exit_code == case.exit_code, report
    assert contents(tree) == contents(case.after if case.after.exists() else case.before)
    assert report == case.report.read_bytes().decode()


@pytest.mark.parametrize("case", CASES)
def test_a_second_run_changes_nothing(case: Case, tree: Path, source: Path) -> None:
    first = run_in(tree, source, case.args)
    once = contents(tree)
    second = run_in(tree, source, case.args)
    assert contents(tree) == once
    assert second.exit_code == first.exit_code
    assert "· written" not in second.out


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
