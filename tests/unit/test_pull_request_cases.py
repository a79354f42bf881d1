"""Adding a folder to ``tests/pull_requests`` adds a test: ``pytest --update-golden`` writes what it gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flux_upgrade.model import markers
from flux_upgrade.pullrequests import text as pull_request
from written_proposals import Case, case, names, state

GOLDEN: dict[str, Callable[[Case], str]] = {
    "pull_request.md": lambda case: (
        f"<!-- {pull_request.title(case.proposal, case.context)} -->\n{body(case)}"
    ),
    "commit_message.txt": lambda case: pull_request.commit_message(case.proposal, case.context),
}


def body(case: Case) -> str:
    return pull_request.body(case.proposal, case.context, state(case.proposal))


@pytest.fixture(scope="module", params=names())
def written(request: pytest.FixtureRequest) -> Case:
    return case(request.param)


@pytest.mark.parametrize("file", GOLDEN)
def test_a_case_gives_its_text(written: Case, file: str, request: pytest.FixtureRequest) -> None:
    text = GOLDEN[file](written)
    golden = written.folder / file
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_the_marker_is_read_again(written: Case) -> None:
    assert markers.state_of(body(written)) == state(written.proposal)
