"""Each file of ``tests/cases`` is a command in a tree: it prints and writes what the case says, once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import txtar
from cases_on_disk import PATHS, read_case, staged
from opened import repeated


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in PATHS])
def test_a_command_prints_its_report_and_writes_its_files_once(
    path: Path, written_source: Path, tmp_path: Path, *, update_golden: bool
) -> None:
    case = read_case(path)
    with staged(case, tmp_path, written_source) as tree:
        inspected = tree.run(["inspect"])
        assert tree.files() == case.before, "inspect writes nothing"
        ran = tree.run(case.args)
        report, files = f"{inspected.transcript()}\n{ran.transcript()}", tree.files()
        found = case.with_results(files, report)
        if update_golden:
            txtar.write(path, found)
            case = read_case(path)

        assert report == case.report
        assert files == case.after
        assert path.read_text() == txtar.render(found), "is not laid out as --update-golden does"

        read_again = repeated(inspected.reads) | repeated(ran.reads, changed(case.before, files))
        for _ in range(case.runs - 1):
            before, ran = tree.files(), tree.run(case.args)
            assert tree.files() != before
            read_again |= repeated(ran.reads, changed(before, tree.files()))
        files, again = tree.files(), tree.run(case.args)
        assert tree.files() == files
        assert again.exit_code == ran.exit_code
        assert "· written" not in again.out
        read_again |= repeated(again.reads)
        assert not read_again, "is read more than once in a run"


def changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> set[str]:
    """Find the paths of the files that a command writes."""
    return {path for path, content in after.items() if before.get(path) != content}
