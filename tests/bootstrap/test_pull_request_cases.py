"""Adding a folder to ``pull_requests`` adds a test: ``pytest --update-golden`` writes what it gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bootstrap.proposed_bootstraps import Case, case, names
from flux_upgrade.bootstrap import pull_request_title
from flux_upgrade.bootstrap.pull_request_body import body
from flux_upgrade.model import markers

GOLDEN: dict[str, Callable[[Case], str]] = {
    "pull_request.md": lambda each: (
        f"<!-- {pull_request_title.title(each.proposal, each.around)} -->\n{_body(each)}"
    ),
    "commit_message.txt": lambda each: pull_request_title.commit_message(each.proposal, each.around),
}


def _body(each: Case) -> str:
    return body(each.proposal, each.around, pull_request_title.state(each.proposal, each.around))


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


def test_it_fits_the_forge_and_its_marker_is_read_again(written: Case) -> None:
    assert len(_body(written)) <= written.around.limit
    assert markers.state_of(_body(written)) == pull_request_title.state(written.proposal, written.around)
